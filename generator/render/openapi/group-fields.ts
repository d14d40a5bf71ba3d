import {
  type Aggregate,
  type ColumnFilter,
  changeName,
  COMPARISONS,
  groupNames,
  hasRange,
  MAX_TOP,
  type Method,
  previousName,
} from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedColumn } from "../../catalogue/catalogue.js";
import { dataTypeOf } from "../../catalogue/types/read-type.js";
import { columnFields, equality, type RequestField } from "./filter-fields.js";

/** What chooses groups and measures, the range of `metric_time`, the filters on groups and results, and the options. */
export function aggregateFields(
  endpoint: CatalogueEntry,
  aggregate: Aggregate,
  method: Method,
): readonly RequestField[] {
  const { of, measures, saved, filters } = aggregate;
  const range = hasRange(aggregate) ? RANGE : [];
  if (saved !== undefined) return range;
  const groups = [...new Set(measures.flatMap((measure) => groupNames(measure.groups)))];
  return [
    ...(groups.length === 0
      ? []
      : [chosen("group_by", groups, "Groups of the rows. Default: none, one row.")]),
    chosen(
      of,
      measures.map(({ name }) => name),
      `What is asked of each group. Default: all ${of}.`,
    ),
    ...range,
    ...filters.flatMap((filter) => [equality(endpoint, filter), ...columnFields(endpoint, filter, method)]),
    ...measures.flatMap(({ name }) => columnFields(endpoint, resultFilter(aggregate, name), method)),
    ...(groups.length === 0 ? [] : OPTIONS),
    ...(hasPeriods(endpoint, aggregate) ? [COMPARE] : []),
  ];
}

/** The latest day of groups is a date; other results are numbers. */
function resultFilter({ columns }: Aggregate, measure: string): ColumnFilter {
  const { kind } = dataTypeOf(columns.find(({ name }) => name === measure)?.type ?? null);
  const type = kind === "date" ? kind : kind === "timestamp" ? "date-time" : "number";
  return { column: measure, type };
}

/** Whether a request can have both bounds of a period. */
export function hasPeriods({ parameters }: CatalogueEntry, aggregate: Aggregate): boolean {
  if (aggregate.of === "metrics") return hasRange(aggregate);
  const columns = parameters.filter(({ operator }) => operator === ">=").map(({ column }) => column);
  return parameters.some(({ operator, column }) => operator === "<=" && columns.includes(column));
}

/** Columns that options add to rows of groups. */
export function optionColumns(endpoint: CatalogueEntry): readonly DescribedColumn[] {
  const { aggregate } = endpoint;
  if (aggregate === undefined || aggregate.saved !== undefined) return [];
  const { measures, columns } = aggregate;
  const compared = measures.flatMap(({ name }): DescribedColumn[] => {
    const { type = null, wide } = columns.find((column) => column.name === name) ?? {};
    const of = { type, ...(wide && { wide }) };
    return [
      {
        ...of,
        name: previousName(name),
        description: `With \`compare\`: \`${name}\` of the earlier period.`,
      },
      {
        ...of,
        name: changeName(name),
        description: `With \`compare\`: \`${name}\` less that of the earlier period.`,
      },
    ];
  });
  const hasGroups = measures.some(({ groups }) => groups.length > 0);
  return [
    ...(hasPeriods(endpoint, aggregate) ? compared : []),
    ...(hasGroups
      ? [
          {
            name: "level",
            type: "integer",
            description: "With `totals`: the number of groups that the row has.",
          },
          {
            name: "other",
            type: "boolean",
            description: "With `other`: whether the row stands for all other groups.",
          },
        ]
      : []),
  ];
}

function chosen(name: string, names: readonly string[], description: string): RequestField {
  const text = `${description} Repeat the name for several, or separate them with commas.`;
  return {
    name,
    description: text,
    schema: { type: "array", items: { type: "string", enum: names } },
    style: "form",
    example: names.slice(0, 1),
  };
}

const flag = { type: "boolean", default: false };

const OPTIONS: readonly RequestField[] = [
  {
    name: "top",
    description:
      "Only so many groups: the first by `sort_by`, which it requires, with the greatest values unless `sort_direction` is ASC.",
    schema: { type: "integer", minimum: 1, maximum: MAX_TOP },
    example: 5,
  },
  {
    name: "other",
    description:
      "`true`: a last row for all groups that `top` leaves out, made from their rows; its column `other` is true.",
    schema: flag,
    example: true,
  },
  {
    name: "totals",
    description:
      "`true`: rows for totals, as `ROLLUP` in the order of `group_by` makes them; the column `level` is the number of groups of a row.",
    schema: flag,
    example: true,
  },
];

const COMPARE: RequestField = {
  name: "compare",
  description:
    "Adds to each measure its value in an earlier period, and the change. Needs the first and the last day. The previous period of whole months is as many months, else as many days.",
  schema: { type: "string", enum: COMPARISONS },
  example: COMPARISONS[0],
};

const RANGE: readonly RequestField[] = [
  {
    name: "start_date",
    description: "First day of `metric_time`, inclusive.",
    schema: { type: "string", format: "date" },
    example: "2026-01-01",
  },
  {
    name: "end_date",
    description: "Last day of `metric_time`, inclusive.",
    schema: { type: "string", format: "date" },
    example: "2026-01-31",
  },
];
