import type { Tier } from "@routewright/runtime/model";
import { crosses } from "../lint/finding.js";
import { formatResult } from "../report/lint/report.js";
import { lint as lintManifest } from "../lint/lint.js";
import type { FailOn } from "../lint/options.js";
import { projectOf } from "../lint/project/project.js";
import { PRIVATE_KEYS } from "../lint/rules/private-data.js";
import { readCatalog, withWarehouseColumns } from "../manifest/catalog.js";
import { manifestOfJson, parseJson } from "../manifest/manifest.js";
import { readSource } from "../manifest/source.js";
import type { Format } from "../report/format.js";
import { EXIT, type Outcome } from "./outcome.js";

export interface LintOptions {
  /** File or http(s) address of dbt's manifest.json. */
  readonly manifest: string;
  /** Of dbt's catalog.json. */
  readonly catalog?: string;
  readonly format: Format;
  readonly failOn: FailOn;
  /** Keys of a `meta` that mark private data, besides those known. */
  readonly privateKey: readonly string[];
  readonly defaultTier: Tier;
}

/** `routewright lint`: what in a manifest will trouble consumers of its API. */
export async function lint(options: LintOptions): Promise<Outcome> {
  const { catalog, format, failOn, privateKey, defaultTier } = options;
  const found = catalog === undefined ? NO_COLUMNS : await readCatalog(catalog);
  if (!found.ok) return failed(found.problem);
  const source = await readSource(options.manifest);
  if (!source.ok) return failed(source.problem);
  const json = parseJson(source.text, source.shown);
  if (!json.ok) return failed(json.problem);
  const reading = manifestOfJson(json.value, source.shown);
  if (!reading.ok) return failed(reading.problem);
  const result = lintManifest(withWarehouseColumns(reading.manifest, found.columns), {
    project: projectOf(json.value, found.columns),
    defaultTier,
    privateKeys: [...PRIVATE_KEYS, ...privateKey],
  });
  return {
    exit: crosses(result.findings, failOn) ? EXIT.findings : EXIT.ok,
    output: formatResult(result, format),
    notes: reading.manifest.warnings.map((warning) => `warning: ${warning}`),
  };
}

const NO_COLUMNS = { ok: true, columns: new Map() } as const;

function failed(problem: string): Outcome {
  return { exit: EXIT.error, errors: [problem] };
}
