import { objectOr, textOr, textsOf, type JsonObject } from "./json.js";

/** What of dbt's graph holds rows, or says how others are made of them. */
const KINDS = ["model", "seed", "snapshot", "source"] as const;
export type NodeKind = (typeof KINDS)[number];

/** A node of dbt's graph, as far as it tells where rows come from. */
export interface GraphNode {
  readonly kind: NodeKind;
  /** `view` where nothing is said, as in dbt. */
  readonly materialized: string;
  /** By `unique_id`, in the same order on every machine; some may not be in the manifest. */
  readonly parents: readonly string[];
  /** The SQL as written and as compiled, whichever the manifest has. */
  readonly code: readonly string[];
}

/** dbt's graph by `unique_id`. */
export type Graph = ReadonlyMap<string, GraphNode>;

/** Reads the graph of a manifest's `nodes`; what is turned off is not in it. */
export function graphOf(nodes: JsonObject): Graph {
  const graph = new Map<string, GraphNode>();
  for (const [id, value] of Object.entries(nodes)) {
    const json = objectOr(value);
    const node = graphNodeOf(json);
    if (node !== null && objectOr(json["config"])["enabled"] !== false) graph.set(id, node);
  }
  return graph;
}

/** Reads a node; null for what holds no rows, such as a test. */
export function graphNodeOf(json: JsonObject): GraphNode | null {
  const kind = KINDS.find((known) => known === json["resource_type"]);
  if (kind === undefined) return null;
  // It was called SQL up to manifest v6; since v7 a model may be Python.
  const { compiled_code, compiled_sql, raw_code, raw_sql } = json;
  return {
    kind,
    materialized: textOr(objectOr(json["config"])["materialized"], "") || "view",
    parents: [...new Set(textsOf(objectOr(json["depends_on"])["nodes"]))].sort(),
    code: textsOf([compiled_code ?? compiled_sql, raw_code ?? raw_sql]),
  };
}

/** Materialisations that keep rows which dbt alone writes. Any other may refresh by itself, as `materialized_view` does. */
const BUILT: ReadonlySet<string> = new Set([
  "table",
  "incremental",
  "distributed_table",
  "distributed_incremental",
]);

/** Whether a node keeps rows that change when dbt builds it, and only then. */
export function isBuilt({ kind, materialized }: GraphNode): boolean {
  return kind === "seed" || kind === "snapshot" || (kind === "model" && BUILT.has(materialized));
}

/** Whether a node keeps no rows of its own. */
export function isView({ kind, materialized }: GraphNode): boolean {
  return kind === "model" && (materialized === "view" || materialized === "ephemeral");
}

/** Whether a node's SQL becomes a part of what reads it: it has no relation, and dbt never builds it. */
export function isEphemeral({ kind, materialized }: GraphNode): boolean {
  return kind === "model" && materialized === "ephemeral";
}
