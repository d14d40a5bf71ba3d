import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ApiAbout,
  hasOwnDigest,
  failed,
  GENERATED_SCHEMA_VERSION,
  type Outcome,
  servedPaths,
  succeeded,
  withOwnDigest,
} from "@routewright/runtime/model";
import type { ErrorObject } from "ajv";
import { objectOr } from "../manifest/json.js";
import { parseJson } from "../manifest/json-text.js";
import { validatorOf } from "../manifest/schema-errors.js";
import { visible, visibleJson } from "../manifest/strings.js";
import type { CatalogueRecord } from "./catalogue-schema.js";
import { type Catalogue, type CatalogueEntry, FORMER_KEYS, NO_LINEAGE } from "./catalogue.js";

const MARKER = "Routewright. Do not edit: change the models, run `routewright generate`.";

interface CatalogueFileOptions {
  readonly title?: string | null;
  readonly about?: ApiAbout | undefined;
  /** Version of the generator. */
  readonly generator?: string | undefined;
  /** Digest of its code. */
  readonly code?: string | undefined;
  /** Digests of the other files of the folder. */
  readonly files?: ReadonlyMap<string, string>;
  /** Text of each entry, in their order. */
  readonly entryTexts?: readonly string[];
}

/** A JSON value whose text is known, as the file has it at the place of the value. */
class WrittenJson {
  constructor(readonly text: string) {}
}

/** The catalogue as `catalogue.json`: one line per column and per parameter, so that a diff shows one line per change. */
export function catalogueText(catalogue: Catalogue, options: CatalogueFileOptions = {}): string {
  const { title = null, about, generator, code, files = new Map<string, string>() } = options;
  const { entryTexts = catalogue.entries.map(entryText) } = options;
  const inputs = catalogue.entries.flatMap((entry) => {
    const digest = catalogue.inputs?.get(entry);
    return digest === undefined ? [] : [[entry.uniqueId, digest] as const];
  });
  const record: CatalogueRecord = {
    "x-generated-by": MARKER,
    schemaVersion: GENERATED_SCHEMA_VERSION,
    ...(generator !== undefined && { generator }),
    digest: "",
    ...(code !== undefined && { code }),
    title,
    ...(about && { about }),
    defaultTier: catalogue.defaultTier,
    ...(catalogue.adapter !== null && { adapter: catalogue.adapter }),
    ...(catalogue.copiedFrom !== undefined && { copiedFrom: catalogue.copiedFrom }),
    ...(catalogue.plans && { plans: catalogue.plans }),
    ...(Object.keys(catalogue.categories).length > 0 && { categories: catalogue.categories }),
    ...(catalogue.marks && { marks: Object.fromEntries(catalogue.marks) }),
    endpoints: [],
    skipped: catalogue.skipped,
    ...(inputs.length > 0 && { inputs: Object.fromEntries(inputs) }),
    files: Object.fromEntries(files),
  };
  const endpoints = entryTexts.map((text) => new WrittenJson(text));
  return withOwnDigest(`${jsonOf({ ...record, endpoints }, 2)}\n`);
}

/** An entry as `catalogue.json` has it. */
export function entryText(entry: CatalogueEntry): string {
  return jsonOf(entry, 1, "\n    ");
}

/** JSON with one line per member down to `depth`; deeper values are on one line. */
function jsonOf(value: unknown, depth: number, margin = "\n"): string {
  if (value instanceof WrittenJson) return value.text;
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

/**
 * Reads the catalogue of a generated folder; null where it has none. One with the digest of its own text is as `generate` wrote it:
 * code that checks it against its schema takes 3 MB.
 */
export function readCatalogueIn(folder: string): Outcome<Catalogue> | null {
  const file = join(folder, "catalogue.json");
  if (!existsSync(file)) return null;
  const bytes = readFileSync(file);
  return readCatalogue(bytes.toString(), file, isAsWritten(bytes) ? () => [] : errorsIn);
}

/**
 * Reads the former catalogue of a folder, of which a newer one is known. What both have alike is an entry of the newer one, so that
 * nothing needs to compare it.
 */
export function readFormerCatalogue(
  bytes: Buffer,
  newer: { readonly text: string; readonly entries: readonly CatalogueEntry[] },
  location: string,
): Outcome<Catalogue> {
  const text = bytes.toString();
  const place = entriesPlace(text);
  if (place === null || !isAsWritten(bytes)) return readCatalogue(text, location);
  const known = new Map(entryTextsIn(newer.text).map((each, i) => [each, newer.entries[i]]));
  const former = entryTextsIn(text);
  const changed = former.filter((each) => !known.has(each)).map((each) => each + ENTRY_END);
  const shorter = `${text.slice(0, place.from)}${changed.join()}${text.slice(place.to + ENTRY_END.length)}`;
  const reading = readCatalogue(shorter, location);
  if (!reading.ok) return reading;
  const others = [...reading.value.entries];
  const entries = former.flatMap((each) => known.get(each) ?? others.splice(0, 1));
  return succeeded({ ...reading.value, entries });
}

/** The texts of a catalogue's entries, without their ends. */
export function entryTextsIn(catalogue: string): readonly string[] {
  const place = entriesPlace(catalogue);
  return place === null ? [] : catalogue.slice(place.from, place.to).split(`${ENTRY_END},\n    `);
}

/** The end of an entry in its text: what is inside of one is indented further. */
export const ENTRY_END = "\n    }";

function entriesPlace(catalogue: string): { readonly from: number; readonly to: number } | null {
  const begin = '\n  "endpoints": [\n    ';
  const at = catalogue.indexOf(begin);
  const to = catalogue.indexOf(`${ENTRY_END}\n  ]`, at);
  return at === -1 || to === -1 ? null : { from: at + begin.length, to };
}

/** Whether a catalogue is as written and differs from another by the digests of inputs and code alone, so that both serve the same. */
export function hasSameEndpoints(written: Buffer, other: Buffer): boolean {
  return isAsWritten(written) && withoutInputs(written.toString()) === withoutInputs(other.toString());
}

function withoutInputs(catalogue: string): string {
  const begin = catalogue.lastIndexOf('\n  "inputs": {');
  const end = catalogue.indexOf("\n  },", begin) + "\n  },".length;
  const text = begin === -1 ? catalogue : catalogue.slice(0, begin) + catalogue.slice(end);
  return text.replace(/\n {2}"digest": "[0-9a-f]*",(?:\n {2}"code": "[0-9a-f]*",)?/, "");
}

/** Whether a catalogue has the digest of its own text. */
export function isAsWritten(bytes: Buffer): boolean {
  return /\n {2}"digest": "[0-9a-f]{32}"/.test(bytes.toString("latin1", 0, HEAD)) && hasOwnDigest(bytes);
}

/** Bytes in which the digest stands: only the versions of schema and generator are before it. */
const HEAD = 1000;

/**
 * Name of dbt's adapter in the catalogue of a generated folder; null where it has none that can be read. Its endpoints are not: all of
 * 500 took 12 MB at each start of a server.
 */
export function adapterIn(folder: string): string | null {
  const file = join(folder, "catalogue.json");
  const [head] = existsSync(file) ? readFileSync(file, "utf8").split('  "endpoints": ', 1) : [];
  const json = parseJson(`${head ?? ""}"endpoints": []}`, file);
  const { schemaVersion, adapter } = objectOr(json.ok ? json.value : null);
  return schemaVersion === GENERATED_SCHEMA_VERSION && typeof adapter === "string" ? adapter : null;
}

/** Reads a `catalogue.json`, which may come from an unreviewed branch; `location` is only for messages. */
export function readCatalogue(
  text: string,
  location = "catalogue.json",
  errorsOf = errorsIn,
): Outcome<Catalogue> {
  if (/^<{7} /m.test(text))
    return failed(`${location} has a merge conflict. ${REGENERATE.replace(".", ", which resolves it.")}`);
  const json = parseJson(text, location);
  if (!json.ok) return failed(`${json.problems.join(" ")} ${REGENERATE}`);
  const { schemaVersion } = objectOr(json.value);
  if (typeof schemaVersion !== "number")
    return failed(`${location} is not a catalogue of Routewright: it has no schemaVersion. ${REGENERATE}`);
  if (schemaVersion !== GENERATED_SCHEMA_VERSION) return failed(versionProblem(location, schemaVersion));
  const [error] = errorsOf(json.value);
  if (error !== undefined) return failed(`${location} is damaged: ${schemaProblem(error)}. ${REGENERATE}`);
  const record = json.value as CatalogueRecord;
  const repeated = firstRepeated(record.endpoints.flatMap(servedPaths));
  if (repeated !== undefined)
    return failed(
      `${location} is damaged: it lists ${visible(JSON.stringify(repeated))} twice. ${REGENERATE}`,
    );
  return succeeded(catalogueOfRecord({ ...record, endpoints: record.endpoints.map(withoutFormerKeys) }));
}

/** The catalogue of a file's content. */
export function catalogueOfRecord(record: CatalogueRecord): Catalogue {
  const { endpoints, defaultTier, adapter = null, copiedFrom } = record;
  const { categories = {}, plans, marks, skipped } = record;
  return {
    entries: endpoints,
    skipped,
    warnings: [],
    lineage: NO_LINEAGE,
    defaultTier,
    adapter,
    ...(copiedFrom !== undefined && { copiedFrom }),
    categories,
    ...(plans !== undefined && { plans }),
    ...(marks !== undefined && { marks: new Map(Object.entries(marks)) }),
  };
}

const REGENERATE = "Run `routewright generate`.";

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

function withoutFormerKeys(entry: CatalogueEntry): CatalogueEntry {
  const kept = Object.entries(entry).filter(([key]) => !FORMER_KEYS.includes(key));
  return Object.fromEntries(kept) as unknown as CatalogueEntry;
}
