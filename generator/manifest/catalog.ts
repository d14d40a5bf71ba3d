import { isObject, objectOr, textOr, type JsonObject } from "./json.js";
import { parseJson, type Manifest } from "./manifest.js";
import type { Model, ModelColumn } from "./model.js";
import { fail, readSource, type Failure } from "./source.js";

/** Columns of the real relations by `unique_id`, as `dbt docs generate` found them in the warehouse. */
export type WarehouseColumns = ReadonlyMap<string, readonly ModelColumn[]>;

export type CatalogReading = { readonly ok: true; readonly columns: WarehouseColumns } | Failure;

/** Reads dbt's `catalog.json` from a file or an http(s) address. */
export async function readCatalog(location: string): Promise<CatalogReading> {
  const source = await readSource(location);
  return source.ok ? parseCatalog(source.text, location) : source;
}

export function parseCatalog(text: string, location: string): CatalogReading {
  const json = parseJson(text, location);
  if (!json.ok) return json;
  const { metadata, nodes } = objectOr(json.value);
  const schema = textOr(objectOr(metadata)["dbt_schema_version"], "");
  if (!/\/catalog\//.test(schema) || !isObject(nodes)) {
    return fail(
      `${location} is not a dbt catalog. Give the catalog.json that \`dbt docs generate\` writes to target/.`,
    );
  }
  const columns = Object.entries(nodes).map(([id, node]) => [id, columnsOf(objectOr(node))] as const);
  return { ok: true, columns: new Map(columns) };
}

function columnsOf(node: JsonObject): readonly ModelColumn[] {
  return Object.entries(objectOr(node["columns"]))
    .map(([key, value]) => ({ key, column: objectOr(value) }))
    .sort((a, b) => Number(a.column["index"] ?? 0) - Number(b.column["index"] ?? 0))
    .map(({ key, column }) => ({
      name: textOr(column["name"], key),
      type: textOr(column["type"], "").trim() || null,
      notNull: false,
      description: textOr(column["comment"], ""),
    }));
}

/** Adds the columns and types that no `schema.yml` lists; what the project declares wins. */
export function withWarehouseColumns(manifest: Manifest, found: WarehouseColumns): Manifest {
  return {
    ...manifest,
    models: manifest.models.map((model) => mergeColumns(model, found.get(model.uniqueId) ?? [])),
  };
}

function mergeColumns(model: Model, found: readonly ModelColumn[]): Model {
  const real = new Map(found.map((column) => [column.name, column]));
  const declared = model.columns.map((column) => ({
    ...column,
    type: column.type ?? real.get(column.name)?.type ?? null,
  }));
  const names = new Set(declared.map((column) => column.name));
  return { ...model, columns: [...declared, ...found.filter((column) => !names.has(column.name))] };
}
