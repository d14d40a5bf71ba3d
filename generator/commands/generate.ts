import type { Tier } from "@routewright/runtime/model";
import { catalogueOf } from "../catalogue/build.js";
import type { Catalogue } from "../catalogue/catalogue.js";
import { compare, type Drift, emptyProblem, readFolder } from "../output/folder.js";
import { folderProblem } from "../output/folder-problem.js";
import { readModuleCache, writeModuleCache } from "../render/module-cache.js";
import { type FileSet, render, renderCached } from "../render/render.js";
import { writeDrift } from "../output/write.js";
import { readCatalog, withWarehouseColumns } from "../manifest/catalog.js";
import { readManifest, type ManifestReading } from "../manifest/manifest.js";
import { EXIT, type Outcome } from "./outcome.js";
import { conflictingFile, type GenerateReport, reportJson, reportText } from "./report.js";

export interface GenerateOptions {
  /** File or http(s) address of dbt's manifest.json. */
  readonly manifest: string;
  /** Of dbt's catalog.json. */
  readonly catalog?: string;
  readonly out: string;
  /** Compare only: findings where the folder is not what the manifest renders to. */
  readonly check: boolean;
  /** A finding where a model is skipped with a problem. */
  readonly strict: boolean;
  readonly json: boolean;
  /** Write a folder without endpoints although the present one has some. */
  readonly allowEmpty?: boolean;
  readonly defaultTier: Tier;
  /** Title of the OpenAPI document; null for its own. */
  readonly title: string | null;
}

/** `routewright generate`: the manifest rendered into the folder, or compared with it. */
export async function generate(options: GenerateOptions): Promise<Outcome> {
  const reading = await readModels(options);
  if (!reading.ok) return { exit: EXIT.error, errors: [reading.problem] };
  const catalogue = catalogueOf(reading.manifest, { defaultTier: options.defaultTier });
  const files = rendered(options, catalogue);
  const update = updateOf(options, files, catalogue.entries.length);
  if ("errors" in update) return { exit: EXIT.error, errors: update.errors };
  const report = { ...options, warnings: reading.manifest.warnings, catalogue, drift: update.drift };
  const output = options.json ? reportJson(report) : reportText(report);
  return { exit: hasFindings(options, report) ? EXIT.findings : EXIT.ok, output };
}

/** `--check` renders every module: its result rests on nothing but the manifest. */
function rendered({ check, title }: GenerateOptions, catalogue: Catalogue): FileSet {
  if (check) return render(catalogue, { title });
  const before = readModuleCache();
  const { files, cache } = renderCached(catalogue, { title, cache: before });
  writeModuleCache(before, cache);
  return files;
}

async function readModels({ manifest, catalog }: GenerateOptions): Promise<ManifestReading> {
  const reading = await readManifest(manifest);
  if (!reading.ok || catalog === undefined) return reading;
  const found = await readCatalog(catalog);
  return found.ok ? { ok: true, manifest: withWarehouseColumns(reading.manifest, found.columns) } : found;
}

/** Compares the folder with the files and, unless only that is asked, writes what differs. */
function updateOf(
  { out, check, allowEmpty = false }: GenerateOptions,
  fresh: FileSet,
  endpoints: number,
): { readonly drift: readonly Drift[] } | { readonly errors: readonly string[] } {
  try {
    const drift = compare(readFolder(out), fresh);
    const blocked = drift.filter(({ kind }) => kind === "blocked");
    if (blocked.length > 0) return { errors: blocked.map(({ file }) => conflictingFile(out, file)) };
    const empty = check || allowEmpty ? null : emptyProblem(endpoints, drift);
    if (empty !== null) return { errors: [empty] };
    if (!check) writeDrift(out, fresh, drift);
    return { drift };
  } catch (error) {
    const problem = folderProblem(out, error, check ? "read" : "write");
    if (problem === null) throw error;
    return { errors: [problem] };
  }
}

function hasFindings({ check, strict }: GenerateOptions, { catalogue, drift }: GenerateReport): boolean {
  return (
    (check && drift.length > 0) || (strict && catalogue.skipped.some(({ reason }) => reason !== "excluded"))
  );
}
