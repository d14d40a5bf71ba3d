import type { Aggregate } from "../core/model/aggregate/aggregate.js";
import type { ServedEndpoint } from "../core/model/served-endpoint.js";

/** What an endpoint's rows are grouped by, without measures. */
export interface RowsAggregate {
  readonly aggregate: Omit<Aggregate, "measures">;
  /** The name of its one fact. */
  readonly fact: string;
}

/** The rows of an endpoint as what may be grouped: by these columns and by those of its filters. `nameOf`: a column's own name in the relation. */
export function aggregateOfRows(
  { spec, filters }: Pick<ServedEndpoint, "spec" | "filters">,
  columns: readonly string[],
  nameOf: (column: string) => string,
): RowsAggregate {
  const names = [...new Set([...columns, ...filters.map((filter) => filter.column)])];
  const owner = spec.rows && nameOf(spec.rows.column);
  const isNamed = owner === undefined || names.some((name) => nameOf(name) === owner);
  const all = isNamed ? names : [...names, owner];
  const zones = new Map(spec.columns.map(({ name, timezone }) => [name, timezone && { timezone }]));
  const aggregate = {
    of: "measures",
    relations: [
      {
        name: ROWS,
        relation: spec.relation,
        values: all.map((name) => ({ name, column: nameOf(name), ...zones.get(name) })),
        ...(spec.rows && owner !== undefined && { rows: { ...spec.rows, column: owner } }),
      },
    ],
    facts: [{ relation: ROWS, joins: [] }],
    dimensions: names.map((name) => ({ name, places: [{ fact: ROWS, value: name }] })),
    spines: [],
    columns: [],
    filters: [],
  } as const;
  return { aggregate, fact: ROWS };
}

const ROWS = "rows";
