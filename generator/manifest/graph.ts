import { type JsonObject, objectOr, textOr, textsOf } from "./json.js";

/** The kinds of node that hold rows or select them. */
const KINDS = ["model", "seed", "snapshot", "source"] as const;
export type NodeKind = (typeof KINDS)[number];

/** A node of dbt's graph: the parts that say where its rows come from. */
export interface GraphNode {
  readonly kind: NodeKind;
  /** `view` by default, as in dbt. */
  readonly materialized: string;
  /** `unique_id`s, sorted; some may not be in the manifest. */
  readonly parents: readonly string[];
  /** Schema and name. */
  readonly relation: readonly [schema: string, name: string];
  /** Its SQL: the raw one where the manifest has it, since `dbt parse` compiles none and must give the same API. */
  readonly code: readonly string[];
  /** Whether it stores rows that change only when dbt builds it. */
  readonly isBuilt: boolean;
  /** As dbt writes it: lint rules read more of it. */
  readonly json: JsonObject;
}

/** dbt's graph by `unique_id`. */
export type Graph = ReadonlyMap<string, GraphNode>;

/** Reads the graph of a manifest's nodes and sources, without disabled ones. */
export function graphOf(nodes: JsonObject, adapter: string): Graph {
  const graph = new Map<string, GraphNode>();
  for (const [id, value] of Object.entries(nodes)) {
    const json = objectOr(value);
    const node = graphNodeOf(json, adapter);
    if (node !== null && objectOr(json["config"])["enabled"] !== false) graph.set(id, node);
  }
  return graph;
}

/** Reads a node; null for one without rows, such as a test. */
function graphNodeOf(json: JsonObject, adapter: string): GraphNode | null {
  const kind = KINDS.find((known) => known === json["resource_type"]);
  if (kind === undefined) return null;
  // `*_sql` up to manifest v6, `*_code` since v7.
  const { compiled_code, compiled_sql, raw_code, raw_sql } = json;
  const materialized = textOr(objectOr(json["config"])["materialized"], "") || "view";
  return {
    kind,
    materialized,
    parents: [...new Set(textsOf(objectOr(json["depends_on"])["nodes"]))].sort(),
    relation: [
      textOr(json["schema"], ""),
      textOr(json["alias"], "") || textOr(json["identifier"], "") || textOr(json["name"], ""),
    ],
    code: textsOf([raw_code ?? raw_sql ?? compiled_code ?? compiled_sql]),
    isBuilt: kind === "seed" || kind === "snapshot" || (kind === "model" && isBuiltAs(materialized, adapter)),
    json,
  };
}

/** Materializations with stored rows that only dbt writes, and on which it builds the constraints of an enforced contract. */
export const BUILT: ReadonlySet<unknown> = new Set([
  "table",
  "incremental",
  "distributed_table",
  "distributed_incremental",
]);

/** In PostgreSQL only `dbt run` refreshes a materialized view; other engines may refresh it at any time. */
function isBuiltAs(materialized: string, adapter: string): boolean {
  return BUILT.has(materialized) || (materialized === "materialized_view" && adapter === "postgres");
}

/** Whether a node stores no rows of its own. */
export function isView({ kind, materialized }: GraphNode): boolean {
  return kind === "model" && (materialized === "view" || materialized === "ephemeral");
}

/** Whether dbt inlines a node's SQL into its readers: it has no relation and is never built. */
export function isEphemeral({ kind, materialized }: GraphNode): boolean {
  return kind === "model" && materialized === "ephemeral";
}

/** Functions whose result does not show the value. */
const HASHES = "\\w*(?:md5|sha\\d+|hash|digest|hmac|fingerprint)\\w*";

/** Whether a node's SQL passes a column on as a hash of itself only: `md5(email) as email`. */
export function showsOnlyHash({ code }: GraphNode, column: string): boolean {
  const name = column.replaceAll(/[^\p{L}\p{N}_]/gu, ".");
  const hashed = new RegExp(
    `\\b${HASHES}\\s*\\([^()]*\\b${name}\\b[^()]*\\)(?:::\\w+)?\\s+as\\s+"?${name}"?(?![\\w"])`,
    "iu",
  );
  const bare = new RegExp(`(?<![\\w"])"?${name}"?(?![\\w"])`, "iu");
  return (
    code.length > 0 &&
    code.every(
      (sql) =>
        hashed.test(sql) && !bare.test(sql.replaceAll(new RegExp(hashed, "giu"), "")) && !/\*/.test(sql),
    )
  );
}
