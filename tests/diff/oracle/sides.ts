import type { Catalogue, CatalogueEntry } from "../../../generator/catalogue/catalogue.js";
import { clickhouse } from "../../support/clickhouse.js";
import { query } from "../../support/database.js";
import { engine } from "../../support/engines.js";
import { catalogueFrom } from "../catalogues.js";
import type { Raw } from "../feature-model.js";
import type { Case } from "./cases.js";
import { relationSql, type StoredRow } from "./relations.js";

/** One revision of all cases as one manifest, so that one server serves them all: case 7 lies below `/v1/r7/`. */
export interface Side {
  readonly manifest: unknown;
  readonly catalogue: Catalogue;
  /** Rows of each relation, by its name. */
  readonly stored: ReadonlyMap<string, readonly StoredRow[]>;
}

/**
 * Both revisions with their relations. The rows of the base keep the promises of both revisions, those of the head its own
 * only: so rows differ where a promise is dropped, and not where one is added.
 */
export async function makeSides(
  cases: readonly Case[],
  schema: string,
): Promise<readonly [base: Side, head: Side]> {
  const [base, head] = (["base", "head"] as const).map((revision) => combined(cases, revision, schema)) as [
    object,
    object,
  ];
  const [inBase, inHead] = [catalogueFrom(base), catalogueFrom(head)];
  const later = new Map(inHead.entries.map((entry) => [entry.path, entry]));
  return [
    { manifest: base, catalogue: inBase, stored: await makeRelations(inBase, schema, later) },
    { manifest: head, catalogue: inHead, stored: await makeRelations(inHead, schema, new Map()) },
  ];
}

/** One revision of all cases as one manifest. */
function combined(cases: readonly Case[], revision: "base" | "head", schema: string): object {
  const parts = cases.map((one, i) => renamed(one[revision], i, revision, schema));
  return {
    metadata: parts[0].metadata,
    nodes: Object.assign({}, ...parts.map(({ nodes }) => nodes)) as object,
    sources: Object.assign({}, ...parts.map(({ sources }) => sources ?? {})) as object,
  };
}

async function makeRelations(
  { entries }: Catalogue,
  schema: string,
  others: ReadonlyMap<string, CatalogueEntry>,
): Promise<Side["stored"]> {
  const made = entries.map((entry) => {
    const [, name] = entry.relation;
    const other = others.get(entry.path) ?? entry;
    return [name, relationSql(entry, other, schema, logicalName(name))] as const;
  });
  const distinct = [...new Map(made)];
  for (let i = 0; i < distinct.length; i += 40)
    await create(distinct.slice(i, i + 40).map(([, { sql }]) => sql));
  return new Map(distinct.map(([name, { rows }]) => [name, rows]));
}

async function create(tables: readonly string[]): Promise<void> {
  if (engine === "clickhouse") for (const sql of tables) await clickhouse(sql);
  else await query(tables.join(";\n"));
}

/** A case's nodes under ids, a category (former paths too) and relations of its own. */
function renamed(manifest: Raw, i: number, revision: string, schema: string): Raw {
  const text = JSON.stringify(manifest)
    .replaceAll(/"(model|test|seed|source|snapshot)\.shop\./g, `"$1.r${String(i)}.`)
    .replaceAll('"/v1/shop/', `"/v1/r${String(i)}/`);
  const copy = JSON.parse(text);
  for (const node of [...Object.values<Raw>(copy.nodes), ...Object.values<Raw>(copy.sources ?? {})]) {
    if (node.tags) node.tags = node.tags.map((tag: string) => (tag === "shop" ? `r${String(i)}` : tag));
    const name = node.identifier ?? node.alias ?? node.name;
    if (name === undefined || node.resource_type === "test") continue;
    const relation = `r${String(i)}_${revision}_${String(node.schema)}_${String(name)}`;
    Object.assign(node, { schema, alias: relation, ...(node.identifier && { identifier: relation }) });
  }
  return copy;
}

/** `r7_base_analytics_sales` → `analytics_sales`: the same rows whatever the revision. */
function logicalName(relation: string): string {
  return relation.split("_").slice(2).join("_");
}

/** The entries of each case, by its number. */
export function entriesByCase({ entries }: Catalogue): ReadonlyMap<number, readonly CatalogueEntry[]> {
  const found = new Map<number, CatalogueEntry[]>();
  for (const entry of entries) {
    const i = Number(entry.category.slice(1));
    found.set(i, [...(found.get(i) ?? []), entry]);
  }
  return found;
}
