import type { LetterCase } from "@routewright/runtime/model";
import { isView } from "../manifest/graph.js";
import { isObject, textOr, textsOf } from "../manifest/json.js";
import { splitList, type Term, termOf } from "./expression.js";
import type { Engine, Node, Project } from "./project.js";

/** What is asked of a column: its value, a range of it, a text in it, or the rows in its order. */
export type Need = "equal" | "range" | "pattern" | "order";

/** A way to rows without reading the whole table. */
export interface AccessPath {
  /** What comes first in it: only that serves a request by itself. */
  readonly term: Term;
  readonly needs: readonly Need[];
  /** Whether a function of a column, such as a date's month, serves the column itself. */
  readonly throughFunctions: boolean;
}

/** The ways that a table declares; null where there may be others, made in a hook. */
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

/** Functions that scatter neighbouring values, and the two that `case` asks for by name. */
const SCATTERING = /hash|^(?:lower|upper|reverse|md5|sha\d*)$/i;

/** Whether a way serves a column, which `case` may wrap in `lower` or `upper`. */
export function serves(
  { term, needs, throughFunctions }: AccessPath,
  column: string,
  need: Need,
  letterCase: LetterCase | null,
): boolean {
  if (!needs.includes(need)) return false;
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

const ALL = ["equal", "range", "pattern", "order"] as const satisfies readonly Need[];
const TREE = ["equal", "range", "order"] as const satisfies readonly Need[];

/** What each index method can find; one that is not listed is not guessed at. */
const METHODS: Readonly<Record<string, readonly Need[]>> = {
  btree: TREE,
  hash: ["equal"],
  brin: ["equal", "range"],
  gin: ["equal", "pattern"],
  gist: ["equal", "range", "pattern"],
};

/** `config.indexes`, and the indexes behind `primary_key` and `unique` constraints. */
function postgresPaths({ config, columns, constraints }: Node): readonly AccessPath[] {
  const declared = Array.isArray(config["indexes"]) ? config["indexes"].filter(isObject) : [];
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

function indexPath([first]: readonly string[], needs: readonly Need[]): AccessPath[] {
  return first === undefined ? [] : [{ term: termOf(first.trim()), needs, throughFunctions: false }];
}

const SORTED = ["equal", "range", "order"] as const satisfies readonly Need[];
const PRUNED = ["equal", "range"] as const satisfies readonly Need[];
const SKIPPED = ["equal", "range", "pattern"] as const satisfies readonly Need[];

/** Settings of how a table is stored. */
const SETTINGS = ["order_by", "primary_key", "partition_by", "indexes", "projections", "engine"] as const;

/** Whether a node says anything of how it is stored. */
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

function leading(key: unknown, needs: readonly Need[]): AccessPath[] {
  return splitList(key)
    .slice(0, 1)
    .map((text) => pathOf(text, needs));
}

function pathOf(text: string, needs: readonly Need[]): AccessPath {
  return { term: termOf(text), needs, throughFunctions: true };
}

function objectsOf(value: unknown) {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Kinds of models that keep their rows, and so can have an index; a custom one is not guessed at. */
const STORED: ReadonlySet<string> = new Set([
  "table",
  "incremental",
  "materialized_view",
  "distributed_table",
  "distributed_incremental",
]);

/**
 * The tables that a column's values are read from, through views by the column's name; null where the manifest does
 * not tell: a parent is a source, a seed or missing, or lists no columns, or none lists this one, or they go round in a circle.
 */
export function tablesOf(start: Node, column: string, { nodes }: Project): readonly Node[] | null {
  const reached = new Set<Node>([start]);
  const tables: Node[] = [];
  // A set can be extended while it is walked.
  for (const node of reached) {
    if (node.kind === "snapshot" || (node.kind === "model" && STORED.has(node.materialized))) {
      tables.push(node);
      continue;
    }
    const parents = isView(node) ? node.parents.map((id) => nodes.get(id)) : [];
    const known = parents.filter((parent) => parent !== undefined && parent.columns.size > 0) as Node[];
    const carriers = known.filter(({ columns }) => columns.has(column));
    if (known.length < parents.length || carriers.length === 0) return null;
    for (const parent of carriers) reached.add(parent);
  }
  return tables.length === 0 ? null : tables;
}
