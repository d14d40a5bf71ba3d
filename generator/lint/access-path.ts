import type { LetterCase } from "@routewright/runtime/model";
import { isView } from "../manifest/graph.js";
import { objectsOf, textOr, textsOf } from "../manifest/json.js";
import { splitList, type Term, termOf } from "./expression.js";
import type { Engine, Node, Project } from "./project.js";

/** How a query looks rows up by a column: by value, by range, by a text within it, or in its order. */
export type Lookup = "equal" | "range" | "pattern" | "order";

/** An index or sorting key: finds rows without reading the whole table. */
export interface AccessPath {
  /** Its leading expression. The others serve a lookup only together with this one. */
  readonly term: Term;
  readonly lookups: readonly Lookup[];
  /** Whether an expression on a column, such as a date's month, serves lookups of the column itself. */
  readonly throughFunctions: boolean;
}

/** The access paths that a table declares; null where a hook may create others. */
export function accessPathsOf(table: Node, engine: Engine): readonly AccessPath[] | null {
  if (mentionsIndex(table.config["post-hook"]) || mentionsIndex(table.config["pre-hook"])) return null;
  switch (engine) {
    case "postgres":
      return postgresPaths(table);
    case "clickhouse":
      return clickhousePaths(table);
  }
}

function mentionsIndex(hook: unknown): boolean {
  return hook !== undefined && /\b(?:index|projection)\b/i.test(JSON.stringify(hook));
}

/** Functions that do not keep neighbouring values together, and the two that `case` uses. */
const SCATTERING = /hash|^(?:lower|upper|reverse|md5|sha\d*)$/i;

/** Whether an access path serves a lookup of a column, which `case` may wrap in `lower` or `upper`. */
export function serves(
  { term, lookups, throughFunctions }: AccessPath,
  column: string,
  lookup: Lookup,
  letterCase: LetterCase | null,
): boolean {
  if (!lookups.includes(lookup)) return false;
  switch (term.kind) {
    case "column":
      return letterCase === null && term.column === column;
    case "call":
      if (!term.columns.includes(column)) return false;
      return letterCase === null ? throughFunctions && !SCATTERING.test(term.name) : term.name === letterCase;
    case "other":
      return term.columns.includes(column);
  }
}

const ALL = ["equal", "range", "pattern", "order"] as const satisfies readonly Lookup[];
const TREE = ["equal", "range", "order"] as const satisfies readonly Lookup[];

/** Lookups that each index method serves; an unknown method may serve all. */
const METHODS: Readonly<Record<string, readonly Lookup[]>> = {
  btree: TREE,
  hash: ["equal"],
  brin: ["equal", "range"],
  gin: ["equal", "pattern"],
  gist: ["equal", "range", "pattern"],
};

/** `config.indexes`, and the indexes behind `primary_key` and `unique` constraints. */
function postgresPaths({ config, columns, constraints }: Node): readonly AccessPath[] {
  const declared = objectsOf(config["indexes"]);
  const ofColumns = [...columns.values()].flatMap(({ name, constraints }) =>
    constraints.some(hasIndex) ? [[name]] : [],
  );
  const ofTable = constraints.filter(hasIndex).map(({ columns }) => textsOf(columns));
  return [
    ...declared.flatMap((index) => {
      const method = textOr(index["type"], "btree").toLowerCase();
      return indexPath(textsOf(index["columns"]), METHODS[method] ?? ALL);
    }),
    ...[...ofColumns, ...ofTable].flatMap((key) => indexPath(key, TREE)),
  ];
}

function hasIndex({ type }: { readonly type?: unknown }): boolean {
  return type === "primary_key" || type === "unique";
}

function indexPath([first]: readonly string[], lookups: readonly Lookup[]): AccessPath[] {
  return first === undefined ? [] : [{ term: termOf(first.trim()), lookups, throughFunctions: false }];
}

const SORTED = ["equal", "range", "order"] as const satisfies readonly Lookup[];
const PRUNED = ["equal", "range"] as const satisfies readonly Lookup[];
const SKIPPED = ["equal", "range", "pattern"] as const satisfies readonly Lookup[];

/** Settings that decide how a table is stored. */
const SETTINGS = ["order_by", "primary_key", "partition_by", "indexes", "projections", "engine"] as const;

/** Whether a node declares how it is stored. */
export function declaresStorage({ config }: Node): boolean {
  return SETTINGS.some((setting) => config[setting] !== undefined && config[setting] !== null);
}

/** The sorting and primary key, partitions, data skipping indexes and projections. */
function clickhousePaths({ config }: Node): readonly AccessPath[] {
  return [
    ...leading(config["order_by"], SORTED),
    ...leading(config["primary_key"], SORTED),
    ...splitList(config["partition_by"]).map((text) => pathOf(text, PRUNED)),
    ...objectsOf(config["indexes"]).map(({ definition }) => {
      const [expression = ""] = textOr(definition, "").split(/\stype\s/i);
      return pathOf(expression.trim(), SKIPPED);
    }),
    ...objectsOf(config["projections"]).flatMap(({ query }) => {
      const order = /\border\s+by\s+(.*)$/is.exec(textOr(query, ""))?.[1];
      return leading(order, SORTED);
    }),
  ];
}

function leading(key: unknown, lookups: readonly Lookup[]): AccessPath[] {
  return splitList(key)
    .slice(0, 1)
    .map((text) => pathOf(text, lookups));
}

function pathOf(text: string, lookups: readonly Lookup[]): AccessPath {
  return { term: termOf(text), lookups, throughFunctions: true };
}

/** Materializations that store rows, and so can have an index. Custom ones are unknown. */
const STORED: ReadonlySet<string> = new Set([
  "table",
  "incremental",
  "materialized_view",
  "distributed_table",
  "distributed_incremental",
]);

/**
 * The tables that a column's values come from, followed through views by the column's name. Null where the manifest does
 * not show them: a parent is a source, a seed or missing, lists no columns, none lists this column, or views form a circle.
 */
export function tablesOf(start: Node, column: string, { nodes }: Project): readonly Node[] | null {
  const reached = new Set<Node>([start]);
  const tables: Node[] = [];
  // Iterating a set visits the items added meanwhile.
  for (const node of reached) {
    if (node.kind === "snapshot" || (node.kind === "model" && STORED.has(node.materialized))) {
      tables.push(node);
      continue;
    }
    const parents = isView(node) ? node.parents.map((id) => nodes.get(id)) : [];
    const known = parents.filter((parent) => parent !== undefined && parent.columns.size > 0) as Node[];
    const withColumn = known.filter(({ columns }) => columns.has(column));
    if (known.length < parents.length || withColumn.length === 0) return null;
    for (const parent of withColumn) reached.add(parent);
  }
  return tables.length === 0 ? null : tables;
}
