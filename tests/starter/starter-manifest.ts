import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder of the starter project. */
export const STARTER_DIR = fileURLToPath(new URL("../../templates/starter", import.meta.url));

export interface Column {
  readonly name: string;
  readonly description: string;
  readonly data_type?: string;
  readonly constraints?: readonly { readonly type: string }[];
}

export interface Parameter {
  readonly name: string;
  readonly column: string;
  readonly operator: string;
  readonly type: string;
  readonly case?: string;
  readonly max_items?: number;
}

export interface Api {
  readonly exclude_from_api?: boolean;
  readonly methods?: readonly string[];
  readonly allow_unfiltered?: boolean;
  readonly require_any_of?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly pagination?: { readonly enabled: boolean; readonly response?: string };
  readonly sortable_fields?: readonly string[];
  readonly sort?: readonly { readonly column: string; readonly direction: string }[];
}

export interface Node {
  readonly unique_id: string;
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly resource_type: string;
  readonly tags: readonly string[];
  readonly columns: Record<string, Column>;
  readonly config: { readonly materialized: string; readonly meta: { readonly api?: Api } };
  readonly compiled_code?: string;
}

/** The committed manifest, as text and read. */
export const manifestText = readFileSync(`${STARTER_DIR}/manifest.json`, "utf8");
const all = Object.values((JSON.parse(manifestText) as { nodes: Record<string, Node> }).nodes);
/** Models and seeds. */
export const nodes: readonly Node[] = all.filter((node) => node.resource_type !== "test");

/** A model that becomes an endpoint, with what its tags say. */
export interface Published extends Node {
  readonly urlPath: string;
  readonly tier: string;
  readonly api: Api | undefined;
}

export const published: readonly Published[] = nodes
  .filter((node) => node.tags.includes("production") && tagged(node, "api:") !== undefined)
  .filter((node) => node.config.meta.api?.exclude_from_api !== true)
  .map((node) => ({ ...node, urlPath: pathOf(node), tier: tierOf(node), api: node.config.meta.api }));

function pathOf(node: Node): string {
  const category = node.tags.find(
    (tag) => tag !== "production" && !tag.includes(":") && !/^tier[0-3]$/.test(tag),
  );
  const granularity = tagged(node, "granularity:");
  const window = tagged(node, "window:");
  const segments = [
    "v1",
    category ?? "general",
    tagged(node, "api:"),
    granularity,
    window === granularity ? undefined : window,
  ];
  return `/${segments.filter((segment) => segment !== undefined).join("/")}`;
}

function tierOf(node: Node): string {
  return node.tags.find((tag) => /^tier[0-3]$/.test(tag)) ?? "tier0";
}

function tagged(node: Node, prefix: string): string | undefined {
  return node.tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length);
}
