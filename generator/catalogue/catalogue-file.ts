import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  digestOf,
  GENERATED_SCHEMA_VERSION,
  type Parameter,
  servedPaths,
  withOwnDigest,
} from "@routewright/runtime/model";
import type { ErrorObject } from "ajv";
import { objectOr } from "../manifest/json.js";
import { validatorOf } from "../manifest/json-schema.js";
import { visible, visibleJson } from "../manifest/strings.js";
import { parseJson } from "../manifest/manifest.js";
import type { CatalogueRecord, ColumnRecord, EndpointRecord } from "./catalogue-schema.js";
import type { Catalogue, CatalogueEntry, ColumnFacts } from "./catalogue.js";

const MARKER = "Routewright. Do not edit: change the models, run `routewright generate`.";

/** The content of `catalogue.json`. */
export interface CatalogueDocument {
  readonly catalogue: Catalogue;
  /** Title of the API at generation; null for the default one. */
  readonly title: string | null;
}

/** The catalogue as `catalogue.json`: one line per column and per parameter, so that a diff shows one line per change. `files`: the other files of the folder. */
export function catalogueText(
  catalogue: Catalogue,
  title: string | null,
  files: ReadonlyMap<string, string> = new Map(),
): string {
  const record: CatalogueRecord = {
    "x-generated-by": MARKER,
    schemaVersion: GENERATED_SCHEMA_VERSION,
    digest: "",
    title,
    defaultTier: catalogue.defaultTier,
    ...(catalogue.adapter !== null && { adapter: catalogue.adapter }),
    endpoints: catalogue.entries.map(recordOf),
    skipped: catalogue.skipped,
    files: Object.fromEntries([...files].map(([file, text]) => [file, digestOf(text)])),
  };
  return withOwnDigest(`${jsonOf(record, 2)}\n`);
}

/** JSON with one line per member down to `depth`; deeper values are on one line. */
function jsonOf(value: unknown, depth: number, margin = "\n"): string {
  if (depth === 0 || typeof value !== "object" || value === null) return visibleJson(value);
  const inner = `${margin}  `;
  if (Array.isArray(value)) {
    if (!value.some((item) => typeof item === "object" && !Array.isArray(item))) return visibleJson(value);
    return `[${inner}${value.map((item) => jsonOf(item, depth - 1, inner)).join(`,${inner}`)}${margin}]`;
  }
  const members = Object.entries(value).map(
    ([key, item]) => `${visibleJson(key)}: ${jsonOf(item, Array.isArray(item) ? depth : depth - 1, inner)}`,
  );
  return `{${inner}${members.join(`,${inner}`)}${margin}}`;
}

/** Everything that an endpoint's generated files depend on. */
export function contentKey(entry: CatalogueEntry): string {
  return JSON.stringify(recordOf(entry));
}

function recordOf({ endpoint, facts, documentation, ...entry }: CatalogueEntry): EndpointRecord {
  const { path, model, tier, relation, columns, methods, legacy, parameters, ...settings } = endpoint;
  const { uniqueId, category, resource, granularity, window } = entry;
  return {
    path,
    model,
    uniqueId,
    file: facts.file,
    category,
    resource,
    granularity,
    window,
    tier,
    hasTierTag: facts.hasTierTag,
    private: facts.isPrivate,
    description: documentation.description,
    ...(documentation.synonyms.length > 0 && { synonyms: documentation.synonyms }),
    relation,
    columns: columns.map((column) => ({
      ...column,
      ...optional("description", documentation.columns.get(column.name)),
      ...factsRecord(facts.columns.get(column.name)),
    })),
    methods,
    legacy,
    parameters: parameters.map((parameter) => ({
      ...parameter,
      ...optional("description", documentation.parameters.get(parameter.name)),
    })),
    ...settings,
  };
}

/** A member that is absent where there is no value. */
function optional<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, Value>);
}

function factsRecord(facts: ColumnFacts | undefined): Partial<ColumnRecord> {
  if (facts === undefined) return {};
  const { notNull, acceptedValues, isPrivate } = facts;
  return {
    ...(notNull && { notNull }),
    ...(acceptedValues && { acceptedValues }),
    ...(isPrivate && { private: true }),
  };
}

type CatalogueFileResult =
  ({ readonly ok: true } & CatalogueDocument) | { readonly ok: false; readonly problem: string };

/** Reads the catalogue of a generated folder; null where it has none. */
export function readCatalogueIn(folder: string): CatalogueFileResult | null {
  const file = join(folder, "catalogue.json");
  return existsSync(file) ? readCatalogue(readFileSync(file, "utf8"), file) : null;
}

/** Reads a `catalogue.json`, which may come from an unreviewed branch; `location` is only for messages. */
export function readCatalogue(text: string, location = "catalogue.json"): CatalogueFileResult {
  if (/^<{7} /m.test(text))
    return failed(`${location} has a merge conflict. ${REGENERATE.replace(".", ", which resolves it.")}`);
  const json = parseJson(text, location);
  if (!json.ok) return failed(`${json.problem} ${REGENERATE}`);
  const { schemaVersion } = objectOr(json.value);
  if (typeof schemaVersion !== "number")
    return failed(`${location} is not a catalogue of Routewright: it has no schemaVersion. ${REGENERATE}`);
  if (schemaVersion !== GENERATED_SCHEMA_VERSION) return failed(versionProblem(location, schemaVersion));
  const [error] = errorsIn(json.value);
  if (error !== undefined) return failed(`${location} is damaged: ${schemaProblem(error)}. ${REGENERATE}`);
  const record = json.value as CatalogueRecord;
  const repeated = firstRepeated(record.endpoints.flatMap(servedPaths));
  if (repeated !== undefined)
    return failed(
      `${location} is damaged: it lists ${visible(JSON.stringify(repeated))} twice. ${REGENERATE}`,
    );
  const { title, defaultTier, adapter = null, skipped } = record;
  const entries = record.endpoints.map(entryOf);
  return {
    ok: true,
    title,
    catalogue: { entries, skipped, warnings: [], lineage: new Map(), defaultTier, adapter },
  };
}

const REGENERATE = "Run `routewright generate`.";

function failed(problem: string) {
  return { ok: false, problem } as const;
}

function versionProblem(location: string, version: number): string {
  const known = String(GENERATED_SCHEMA_VERSION);
  return version > GENERATED_SCHEMA_VERSION
    ? `${location} has catalogue schema ${String(version)}; this Routewright reads ${known}. Install the Routewright that wrote it, or a newer one.`
    : `${location} has catalogue schema ${String(version)}, of an earlier Routewright; this one reads ${known}. ${REGENERATE}`;
}

const errorsIn = validatorOf("catalogue");

function schemaProblem({ instancePath, params, message = "is not as expected" }: ErrorObject): string {
  const property: unknown = params["additionalProperty"];
  const which = typeof property === "string" ? ` (${visible(JSON.stringify(property))})` : "";
  return `${visible(instancePath.slice(1) || "the document")} ${message}${which}`;
}

function firstRepeated(texts: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return texts.find((text) => seen.has(text) || !seen.add(text));
}

function entryOf(record: EndpointRecord): CatalogueEntry {
  const { uniqueId, file, category, resource, granularity, window, hasTierTag, description, ...rest } =
    record;
  const { private: isPrivate, synonyms = [], columns, parameters, ...endpoint } = rest;
  return {
    endpoint: {
      ...endpoint,
      columns: columns.map(({ name, type, timezone, wide }) => ({
        name,
        type,
        ...optional("timezone", timezone),
        ...optional("wide", wide),
      })),
      parameters: parameters.map(withoutDescription),
    },
    uniqueId,
    facts: { file, hasTierTag, isPrivate, columns: new Map(columns.flatMap(columnFacts)) },
    category,
    resource,
    granularity,
    window,
    documentation: {
      description,
      synonyms,
      columns: descriptionsOf(columns),
      parameters: descriptionsOf(parameters),
    },
  };
}

function withoutDescription(parameter: EndpointRecord["parameters"][number]): Parameter {
  const bare: Parameter & { description?: string } = { ...parameter };
  delete bare.description;
  return bare;
}

/** The facts of a column that has any. */
function columnFacts(column: ColumnRecord): [string, ColumnFacts][] {
  const { name, notNull = null, acceptedValues = null, private: isPrivate = false } = column;
  return (notNull ?? acceptedValues ?? isPrivate) ? [[name, { notNull, acceptedValues, isPrivate }]] : [];
}

function descriptionsOf(items: readonly { readonly name: string; readonly description?: string }[]) {
  return new Map(
    items.flatMap(({ name, description }) => (description === undefined ? [] : [[name, description]])),
  );
}
