import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** An index that a model's dbt configuration asks for. */
export interface Index {
  readonly columns: readonly string[];
  readonly unique?: boolean;
}

/** One relation of the starter project, ready to be made; `id` is dbt's `unique_id`. */
export type Relation = { readonly id: string; readonly name: string } & (
  | { readonly kind: "seed"; readonly types: Record<string, string>; readonly csv: Csv }
  | { readonly kind: "view"; readonly sql: string }
  | {
      readonly kind: "table";
      readonly sql: string;
      readonly indexes: readonly Index[];
      readonly notNull: readonly string[];
    }
);

/** Changes when the demo builds other relations from the same manifest. */
const BUILDER = "2";

/** A dbt test: SQL that selects the rows which break its rule. */
export interface Test {
  /** dbt's `unique_id`. */
  readonly id: string;
  readonly sql: string;
  readonly severity: "error" | "warn";
}

/** The starter project as the demo needs it. */
export interface Starter {
  readonly schema: string;
  /** Every relation after those it reads from. */
  readonly relations: readonly Relation[];
  readonly tests: readonly Test[];
  /** Changes when the manifest, a seed file or the builder does. */
  readonly fingerprint: string;
}

/** A node of the slim manifest that `scripts/starter/manifest.ts` writes. */
interface Node {
  readonly resource_type: string;
  readonly alias: string;
  readonly schema: string;
  readonly unique_id: string;
  readonly original_file_path: string;
  readonly config: {
    readonly materialized: string;
    readonly column_types?: Record<string, string>;
    readonly indexes?: readonly Index[];
    readonly severity?: string;
    readonly contract?: { readonly enforced?: boolean };
  };
  readonly columns?: Record<
    string,
    { readonly name: string; readonly constraints?: readonly { readonly type: string }[] }
  >;
  readonly depends_on: { readonly nodes: readonly string[] };
  readonly compiled_code?: string;
}

/** Reads the manifest and the seed files of a starter project. */
export async function readStarter(dir: string): Promise<Starter> {
  const manifest = await readFile(join(dir, "manifest.json"), "utf8");
  const all = nodesOf(manifest);
  const nodes = inDependencyOrder(all.filter((node) => node.resource_type !== "test")).filter(
    (node) => node.config.materialized !== "ephemeral",
  );
  const hash = createHash("sha256").update(BUILDER).update(manifest);
  const relations: Relation[] = [];
  for (const node of nodes) {
    const seed =
      node.resource_type === "seed" ? await readFile(join(dir, node.original_file_path), "utf8") : null;
    if (seed !== null) hash.update(`\0${node.alias}\0${seed}`);
    relations.push(seed === null ? modelOf(node) : seedOf(node, seed));
  }
  const tests = all.filter((node) => node.resource_type === "test").map(testOf);
  return { schema: schemaOf(nodes), relations, tests, fingerprint: hash.digest("hex") };
}

function nodesOf(manifest: string): Node[] {
  const { nodes } = JSON.parse(manifest) as { nodes?: Record<string, Node> };
  if (!nodes)
    throw new Error("The starter's manifest.json has no nodes: run `npx tsx scripts/starter/manifest.ts`.");
  return Object.values(nodes);
}

/** All relations live in one schema, which is replaced as a whole. */
function schemaOf(nodes: readonly Node[]): string {
  const [schema, ...others] = new Set(nodes.map((node) => node.schema));
  if (schema === undefined || others.length > 0) {
    throw new Error(`The starter must use exactly one schema, but has: ${[schema, ...others].join(", ")}.`);
  }
  return schema;
}

/** Sorts nodes so that each comes after what it depends on. */
function inDependencyOrder(nodes: readonly Node[]): Node[] {
  const byId = new Map(nodes.map((node) => [node.unique_id, node]));
  const ordered = new Set<Node>();
  const visit = (node: Node, trail: readonly Node[]): void => {
    if (ordered.has(node)) return;
    if (trail.includes(node)) throw new Error(`${node.unique_id} depends on itself.`);
    for (const id of node.depends_on.nodes) {
      const needed = byId.get(id);
      if (!needed) throw new Error(`${node.unique_id} depends on ${id}, which the manifest does not have.`);
      visit(needed, [...trail, node]);
    }
    ordered.add(node);
  };
  for (const node of nodes) visit(node, []);
  return [...ordered];
}

function seedOf(node: Node, text: string): Relation {
  const types = node.config.column_types ?? {};
  try {
    const csv = parseCsv(text);
    const untyped = csv.header.filter((column) => types[column] === undefined);
    if (untyped.length > 0) throw new Error(`column_types in dbt_project.yml lacks: ${untyped.join(", ")}.`);
    return { id: node.unique_id, kind: "seed", name: node.alias, types, csv };
  } catch (cause) {
    throw new Error(`Seed ${node.original_file_path}: ${(cause as Error).message}`, { cause });
  }
}

function testOf(node: Node): Test {
  const isWarning = node.config.severity?.toLowerCase() === "warn";
  return { id: node.unique_id, sql: sqlOf(node), severity: isWarning ? "warn" : "error" };
}

function sqlOf({ unique_id, compiled_code }: Node): string {
  if (compiled_code) return compiled_code;
  throw new Error(`${unique_id} has no compiled_code: run \`npx tsx scripts/starter/manifest.ts\`.`);
}

/** Columns that dbt builds with a constraint: those of an enforced contract. */
function notNullOf({ config, columns = {} }: Node): readonly string[] {
  if (config.contract?.enforced !== true) return [];
  return Object.values(columns).flatMap(({ name, constraints = [] }) =>
    constraints.some(({ type }) => type === "not_null") ? [name] : [],
  );
}

function modelOf(node: Node): Relation {
  const made = { id: node.unique_id, name: node.alias, sql: sqlOf(node) };
  switch (node.config.materialized) {
    case "view":
      return { ...made, kind: "view" };
    case "table":
    case "incremental":
      return { ...made, kind: "table", indexes: node.config.indexes ?? [], notNull: notNullOf(node) };
    default:
      throw new Error(
        `${node.unique_id}: the demo cannot build a relation materialized as ${node.config.materialized}.`,
      );
  }
}

/** A seed's header and records. An empty field is null, as dbt reads it. */
interface Csv {
  readonly header: readonly string[];
  readonly records: readonly (readonly (string | null)[])[];
}

/** One record a line: no field of the starter's seeds holds a line break. */
function parseCsv(text: string): Csv {
  const [header = [], ...records] = text
    .trim()
    .split(/\r?\n/)
    .map((line) => [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(fieldOf));
  const ragged = records.findIndex((record) => record.length !== header.length);
  if (ragged >= 0) throw new Error(`Record ${String(ragged + 1)} has not as many fields as the header.`);
  return { header: header.map(String), records };
}

function fieldOf([, quoted, plain = ""]: RegExpMatchArray): string | null {
  return (quoted?.replaceAll('""', '"') ?? plain) || null;
}
