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
  /** Whether the manifest has the compiled SQL: after `dbt parse` it has not, and a macro may hide anything. */
  readonly isCompiled: boolean;
}

/** dbt's graph by `unique_id`. */
export type Graph = ReadonlyMap<string, GraphNode>;

/** Reads the graph of a manifest's `nodes`; what is turned off is not in it. */
export function graphOf(nodes: JsonObject, adapter: string): Graph {
  const graph = new Map<string, GraphNode>();
  for (const [id, value] of Object.entries(nodes)) {
    const json = objectOr(value);
    const node = graphNodeOf(json, adapter);
    if (node !== null && objectOr(json["config"])["enabled"] !== false) graph.set(id, node);
  }
  return graph;
}

/** Reads a node; null for what holds no rows, such as a test. */
export function graphNodeOf(json: JsonObject, adapter = ""): GraphNode | null {
  const kind = KINDS.find((known) => known === json["resource_type"]);
  if (kind === undefined) return null;
  // It was called SQL up to manifest v6; since v7 a model may be Python.
  const { compiled_code, compiled_sql, raw_code, raw_sql } = json;
  const materialized = textOr(objectOr(json["config"])["materialized"], "") || "view";
  return {
    kind,
    materialized:
      materialized === MATERIALIZED_VIEW && adapter === "postgres" ? REFRESHED_BY_DBT : materialized,
    parents: [...new Set(textsOf(objectOr(json["depends_on"])["nodes"]))].sort(),
    code: textsOf([compiled_code ?? compiled_sql, raw_code ?? raw_sql]),
    isCompiled: textOr(compiled_code ?? compiled_sql, "") !== "",
  };
}

/** In PostgreSQL dbt refreshes a materialized view when it runs it; elsewhere one may refresh by itself. */
const MATERIALIZED_VIEW = "materialized_view";
const REFRESHED_BY_DBT = "materialized_view refreshed by dbt";

/** Materializations that keep rows which dbt alone writes. */
const BUILT: ReadonlySet<string> = new Set([
  "table",
  "incremental",
  "distributed_table",
  "distributed_incremental",
  REFRESHED_BY_DBT,
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
