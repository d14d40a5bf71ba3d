import type { Tier } from "../../runtime/generator-api.js";
import type { LintOptions } from "../../generator/commands/lint.js";
import { lint, type LintResult } from "../../generator/lint/linter.js";
import { lintReport } from "../../generator/lint/lint-report.js";
import { renderReport } from "../../generator/report/render-report.js";
import type { Format } from "../../generator/report/report.js";
import { parseManifest } from "../../generator/manifest/manifest.js";

/** The options of `routewright lint` as the command line gives them without flags. */
export function lintOptions(options: Partial<LintOptions> & { readonly manifest: string }): LintOptions {
  const rest = { defaultTier: "tier0", today: "2026-01-31" } as const;
  return { format: "text", failOn: "warning", ...rest, ...options };
}

/** Lints a manifest's JSON. */
export function lintJson(json: unknown, defaultTier: Tier = "tier0"): LintResult {
  const reading = parseManifest(JSON.stringify(json), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return lint(reading.value, { defaultTier, today: "2026-01-31" });
}

/** Rule and JSON path of everything that is found in a manifest. */
export function found(json: unknown): readonly string[] {
  return lintJson(json).findings.map(({ rule, path }) => `${rule} ${path}`);
}

/** A result as the report of a run. */
export function reported(result: LintResult, format: Format): string {
  return renderReport(lintReport({ ...result, failed: true, known: null, baseline: 0 }), format);
}
