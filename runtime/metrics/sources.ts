import type { AskedGroup } from "../core/model/aggregate.js";
import type { Selection } from "../core/model/query.js";
import { join, sql } from "../core/warehouse/sql.js";
import type { GroupedSource } from "../core/warehouse/aggregate-dialect.js";
import { aggregatedLeaves, groupName, leafName, type LeafUse } from "./leaves.js";
import type { CombineGroups, ColumnExpression, Named, PlanStep, ColumnValue } from "./plan.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import type { GroupsBuild } from "./row-set.js";

/** Sources that are combined to one row per group, and what is computed from it. */
export class Sources {
  readonly #build: GroupsBuild;
  readonly #groups: readonly AskedGroup[];
  /** Bounded by the measures of one statement, as are the others. */
  readonly #plain = new Map<string, { readonly uses: LeafUse[]; readonly position: number }>();
  readonly #made: (GroupedSource | null)[] = [];
  /** Sources with a column that says whether they have a row. Bounded. */
  readonly #marked = new Set<number>();
  /** Bounded by the sources. */
  #used = new Set<number>();

  constructor(build: GroupsBuild, groups: readonly AskedGroup[]) {
    this.#build = build;
    this.#groups = groups;
  }

  /** The positions of the sources that are used within a call. */
  used<T>(make: () => T): { readonly made: T; readonly positions: ReadonlySet<number> } {
    const outer = this.#used;
    const positions = (this.#used = new Set<number>());
    const made = make();
    for (const position of positions) outer.add(position);
    this.#used = outer;
    return { made, positions };
  }

  /** Whether one of these sources has a row for the groups. */
  hasRow(positions: ReadonlySet<number>): ColumnExpression {
    for (const position of positions) this.#marked.add(position);
    const marks = [...positions].map((position) => columnName(position, "row"));
    return ({ value }) =>
      join(
        marks.map((mark) => sql<Selection>`${value(mark)} IS NOT NULL`),
        " OR ",
      );
  }

  /** The column of a leaf. Leaves over the same rows are aggregated in one pass. */
  plain(use: LeafUse): string {
    const { fact, time = "" } = use.leaf;
    const key = JSON.stringify([fact, time, use.filters]);
    const known = this.#plain.get(key) ?? { uses: [], position: this.#made.push(null) - 1 };
    this.#plain.set(key, known);
    this.#used.add(known.position);
    return columnName(known.position, leafName(known.uses.push(use) - 1));
  }

  add(source: GroupedSource): string {
    const position = this.#made.push(source) - 1;
    this.#used.add(position);
    return columnName(position, source.columns[0] ?? "");
  }

  /** All sources, combined. */
  combined(): PlanStep {
    const plain = new Map([...this.#plain.values()].map((each) => [each.position, each.uses]));
    const sources = this.#made.map((made, i) => {
      const uses = plain.get(i) ?? [];
      const columns = made?.columns ?? uses.map((_, k) => leafName(k));
      const rows =
        made === null ? aggregatedLeaves(this.#build, uses, this.#groups) : statementOf(made, this.#groups);
      return this.#renamed(rows, columns, i);
    });
    return {
      kind: "combine",
      sources,
      groups: this.#groups.map((group) => groupType(this.#build, group)),
    };
  }

  #renamed(rows: PlanStep, columns: readonly string[], position: number): CombineGroups["sources"][number] {
    const values: Named<ColumnValue> = [
      ...columns.map((name) => [columnName(position, name), name] as const),
      ...(this.#marked.has(position) ? [[columnName(position, "row"), () => sql`1`] as const] : []),
    ];
    const groups = this.#groups.map((_, i): [string, ColumnValue] => [groupName(i), groupName(i)]);
    return {
      rows: { kind: "compute", rows, columns: [...groups, ...values] },
      columns: values.map(([name]) => name),
    };
  }
}

function statementOf({ select, columns }: GroupedSource, groups: readonly AskedGroup[]): PlanStep {
  return { kind: "statement", select, columns: [...groups.map((_, i) => groupName(i)), ...columns] };
}

/** The column of a group. Where facts have it in several types, one without operators of its own. */
function groupType({ dialect, types, grouping }: GroupsBuild, { name, grain }: AskedGroup): ResultColumn {
  if (grain !== undefined) return dialect.periodColumn(grain);
  const { dimensions, facts } = grouping.aggregate;
  const places = dimensions.find((each) => each.name === name)?.places ?? [];
  const columns = places.flatMap(({ fact, join: position, value }) => {
    const joins = facts.find(({ relation }) => relation === fact)?.joins ?? [];
    const relation = position === undefined ? fact : (joins[position]?.to ?? "");
    return types.get(relation)?.filter((column) => column.name === value) ?? [];
  });
  const [first] = columns;
  const isShared = columns.every(
    ({ type, typeSchema }) => type === first?.type && typeSchema === first.typeSchema,
  );
  return isShared && first !== undefined ? first : { name, type: "text" };
}

const columnName = (position: number, name: string): string => `s${String(position)}${name}`;
