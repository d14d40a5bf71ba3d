import { failed, type Outcome, succeeded } from "@routewright/runtime/model";
import {
  type ArtifactLocations,
  type ArtifactTexts,
  CATALOG_WRITER,
  readArtifacts,
} from "../artifacts/artifacts.js";
import { isObject, type JsonObject, objectOr, textOr } from "./json.js";
import { parseJson } from "./json-text.js";
import { type Manifest, parseManifest } from "./manifest.js";
import { type Model } from "./model.js";
import { firstOfEachName, type ModelColumn, NO_GUARANTEES } from "./model-columns.js";
import { columnsInFile } from "./columns-file.js";
import { type PublishRules, withPublished } from "./publish-rules.js";

/** Columns of the real relations by `unique_id`, as dbt found them in the warehouse. */
type WarehouseColumns = Manifest["warehouseColumns"];

/** Reads a manifest, completed with the warehouse's columns of a `catalog.json` or a `columns.json`. */
export async function readModels(
  options: ArtifactLocations & { readonly publish?: PublishRules },
): Promise<Outcome<Manifest>> {
  const texts = await readArtifacts(options);
  return texts.ok ? parseModels(texts.value, options.publish) : texts;
}

/** As `readModels`, for texts that were read. */
export function parseModels(
  { manifest, catalog, warnings }: ArtifactTexts,
  publish?: PublishRules,
): Outcome<Manifest> {
  const reading = parseManifest(manifest.text, manifest.location);
  if (!reading.ok) return reading;
  const found = catalog === null ? null : parseCatalog(catalog.text, catalog.location);
  if (found?.ok === false) return found;
  const completed = found === null ? reading.value : withWarehouseColumns(reading.value, found.value);
  const published = withPublished(completed, publish);
  return succeeded({ ...published, warnings: [...published.warnings, ...warnings] });
}

export function parseCatalog(text: string, location: string): Outcome<WarehouseColumns> {
  const json = parseJson(text, location);
  if (!json.ok) return json;
  const { metadata, nodes } = objectOr(json.value);
  const pulled = columnsInFile(objectOr(json.value));
  if (pulled !== null) return succeeded(pulled);
  const schema = textOr(objectOr(metadata)["dbt_schema_version"], "");
  if (!/\/catalog\//.test(schema) || !isObject(nodes)) {
    return failed(
      `${location} is not a dbt catalog. Give the catalog.json that ${CATALOG_WRITER} writes to target/.`,
    );
  }
  const columns = Object.entries(nodes).map(([id, node]) => [id, columnsOf(objectOr(node))] as const);
  return succeeded(new Map(columns));
}

/** The columns in the relation's order. */
function columnsOf(node: JsonObject): readonly ModelColumn[] {
  const columns = Object.entries(objectOr(node["columns"]))
    .map(([key, value]) => ({ key, column: objectOr(value) }))
    .sort((a, b) => indexOf(a.column) - indexOf(b.column))
    .map(({ key, column }) => ({
      name: textOr(column["name"], "") || key,
      type: textOr(column["type"], "").trim() || null,
      notNull: null,
      acceptedValues: null,
      guarantees: NO_GUARANTEES,
      isPrivate: false,
      routewright: {},
      description: textOr(column["comment"], ""),
    }));
  return firstOfEachName(columns);
}

function indexOf({ index }: JsonObject): number {
  return typeof index === "number" ? index : 0;
}

/** Adds types, nullability and comments of declared columns, and the relation's other columns beside them. */
export function withWarehouseColumns(manifest: Manifest, found: WarehouseColumns): Manifest {
  if (found.size === 0) return manifest;
  return {
    ...manifest,
    warehouseColumns: found,
    models: manifest.models.map((model) => mergeColumns(model, found.get(model.uniqueId) ?? [])),
  };
}

function mergeColumns(model: Model, found: readonly ModelColumn[]): Model {
  const pairs = model.columns.map(
    (column) => [column, warehouseColumnOf(column.name, model, found)] as const,
  );
  const columns = pairs.map(([column, real]) => ({
    ...column,
    type: column.type ?? real?.type ?? null,
    ...(column.type === null && real?.isServedType && { isServedType: real.isServedType }),
    ...(real?.labels && { labels: real.labels }),
    ...(real?.baseType !== undefined && { baseType: real.baseType }),
    notNull: column.notNull ?? real?.notNull ?? null,
    description: column.description || (real?.description ?? ""),
  }));
  const taken = new Set(pairs.map(([, real]) => real));
  const absent = pairs.flatMap(([{ name }, real]) => (real === undefined && found.length > 0 ? [name] : []));
  return { ...model, columns, undeclared: found.filter((column) => !taken.has(column)), absent };
}

/**
 * The warehouse's column for a declared one: the one of the same name, else the only one whose name differs just in
 * letter case, as some warehouses fold the case of unquoted names.
 */
function warehouseColumnOf(
  name: string,
  { columns }: Model,
  found: readonly ModelColumn[],
): ModelColumn | undefined {
  const same = found.find((column) => column.name === name);
  if (same) return same;
  const folded = name.toLowerCase();
  const near = found.filter((column) => column.name.toLowerCase() === folded);
  const declaredAlike = columns.filter((column) => column.name.toLowerCase() === folded);
  return near.length === 1 && declaredAlike.length === 1 ? near[0] : undefined;
}
