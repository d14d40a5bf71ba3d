import type { Selection } from "../core/model/query.js";
import { join, sql } from "../core/warehouse/sql.js";
import { groupColumn, type GroupsBuild, type LeafUse } from "./groups-build.js";
import { aggregatedLeaves } from "./leaves.js";
import {
  type ColumnExpression,
  type ColumnValue,
  type CombineGroups,
  compute,
  groupName,
  kept,
  type Named,
  type PlanStep,
  VALUE,
} from "./plan.js";

/** Sources that are combined to one row per group, and what is computed from it. */
export class Sources {
  readonly #build: GroupsBuild;
  /** Leaves over the same rows; or rows with one value for each combination of the groups. Bounded by the measures of one statement. */
  readonly #sources: (LeafUse[] | PlanStep)[] = [];
  /** Bounded by the sources, as are the others. */
  readonly #plain = new Map<string, { readonly uses: LeafUse[]; readonly position: number }>();
  /** Sources with a column that says whether they have a row. Bounded. */
  readonly #marked = new Set<number>();
  /** Bounded. */
  #used = new Set<number>();

  constructor(build: GroupsBuild) {
    this.#build = build;
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
    const marks = [...positions].map(markName);
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
    const uses: LeafUse[] = [];
    const known = this.#plain.get(key) ?? { uses, position: this.#sources.push(uses) - 1 };
    this.#plain.set(key, known);
    this.#used.add(known.position);
    return valueName(known.position, known.uses.push(use) - 1);
  }

  /** The column of rows that have one value for each combination of the groups. */
  add(rows: PlanStep): string {
    const position = this.#sources.push(rows) - 1;
    this.#used.add(position);
    return valueName(position, 0);
  }

  /** All sources, combined. */
  combined(): CombineGroups {
    return {
      kind: "combine",
      sources: this.#sources.map((source, i) => this.#named(source, i)),
      groups: this.#build.grouping.groups.map((group) => groupColumn(this.#build, group)),
    };
  }

  /** A source with columns that no other has. */
  #named(source: readonly LeafUse[] | PlanStep, position: number): CombineGroups["sources"][number] {
    const isStep = "kind" in source;
    const names = isStep ? [valueName(position, 0)] : source.map((_, k) => valueName(position, k));
    const rows = isStep
      ? source
      : aggregatedLeaves(
          this.#build,
          source.map((use, k) => ({ ...use, total: valueName(position, k) })),
        );
    const columns: Named<ColumnValue> = [
      ...names.map((name) => [name, isStep ? VALUE : name] as const),
      ...(this.#marked.has(position) ? [[markName(position), () => sql`1`] as const] : []),
    ];
    const groups = kept(this.#build.grouping.groups.map(groupName));
    return {
      rows: compute(rows, ...groups, ...columns),
      columns: columns.map(([name]) => name),
    };
  }
}

const valueName = (position: number, k: number): string => `value ${String(position)} ${String(k)}`;
const markName = (position: number): string => `row of ${String(position)}`;
