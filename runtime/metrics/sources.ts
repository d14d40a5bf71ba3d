import type { AskedGroup } from "../core/model/aggregate.js";
import type { Selection } from "../core/model/query.js";
import { join, sql } from "../core/warehouse/sql.js";
import type { GroupedSource, Part } from "../core/warehouse/aggregate-dialect.js";
import { groupColumn, type LeafUse, plainLeaves } from "./leaves.js";
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
  hasRow(positions: ReadonlySet<number>): Part {
    for (const position of positions) this.#marked.add(position);
    const marks = [...positions].map((position) =>
      this.#build.dialect.identifier(columnName(position, "row")),
    );
    return join(
      marks.map((mark) => sql<Selection>`c.${mark} IS NOT NULL`),
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
    return columnName(known.position, `a${String(known.uses.push(use) - 1)}`);
  }

  add(source: GroupedSource): string {
    const position = this.#made.push(source) - 1;
    this.#used.add(position);
    return columnName(position, source.columns[0] ?? "");
  }

  /** All sources, joined, as `c`. */
  combined(): Part {
    const plain = new Map([...this.#plain.values()].map((each) => [each.position, each.uses]));
    const sources = this.#made.map((made, i) => {
      const uses = plain.get(i);
      return uses === undefined ? made : plainLeaves(this.#build, uses, this.#groups);
    });
    const renamed = sources.map((source, i) => this.#renamed(source, i));
    const groups = this.#groups.map((group) => groupType(this.#build, group));
    return this.#build.dialect.combined(renamed, groups);
  }

  #renamed(source: GroupedSource | null, position: number): GroupedSource {
    if (source === null) throw new Error("A source of an aggregate was not made.");
    const { identifier } = this.#build.dialect;
    const marks = this.#marked.has(position) ? [columnName(position, "row")] : [];
    const columns = source.columns.map((name) => columnName(position, name));
    const list = [
      ...this.#groups.map((_, i) => sql`z.${groupColumn(this.#build, i)} AS ${groupColumn(this.#build, i)}`),
      ...source.columns.map((name, i) => sql`z.${identifier(name)} AS ${identifier(columns[i] ?? "")}`),
      ...marks.map((name) => sql`1 AS ${identifier(name)}`),
    ];
    const select = sql<Selection>`SELECT ${join(list, ", ")} FROM (${source.select}) AS z`;
    return { select, columns: [...columns, ...marks] };
  }
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
