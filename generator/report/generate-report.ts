import { type Catalogue, problemText, type Skipped } from "../catalogue/catalogue.js";
import { visible } from "../manifest/strings.js";
import type { Drift } from "../output/folder.js";
import { counted } from "./report.js";

/** Endpoints whose relation the folder has in another schema. */
export interface MovedSchema {
  readonly from: string;
  readonly to: string;
  readonly endpoints: number;
}

/** What a run found and did. */
export interface GenerateReport {
  readonly out: string;
  readonly check: boolean;
  readonly warnings: readonly string[];
  readonly catalogue: Catalogue;
  readonly drift: readonly Drift[];
  readonly schemas?: readonly MovedSchema[];
}

/** What a run did to the files, or, with `--check`, what is wrong with them. */
const WORDS = {
  write: { missing: "added", changed: "changed", stale: "removed", blocked: "blocked" },
  check: { missing: "missing", changed: "out of date", stale: "no longer generated", blocked: "blocked" },
} as const;

const REASONS = {
  invalid: "invalid",
  "path-taken": "its path is taken",
  excluded: "excluded by its author",
} as const;

/** The report for people: files first, then every skipped model with every problem; nothing in it moves a terminal's cursor. */
export function reportText(report: GenerateReport): string {
  const { out, check, catalogue, drift, warnings, schemas = [] } = report;
  const lines = [
    ...warnings.map((warning) => `warning: ${warning}`),
    ...catalogue.warnings.map((problem) => `warning: ${problem.model} ${problemText(problem)}`),
    ...driftLines(out, check, drift),
    ...schemas.map((move) => `warning: ${schemaText(move, out)}`),
    ...catalogue.skipped.flatMap(skippedLines),
    `${counted(catalogue.entries.length, "endpoint")}; ${driftSummary(report)}; ${skippedSummary(catalogue.skipped)}`,
  ];
  return `${lines.map(visible).join("\n")}\n`;
}

/** A line per file: what happened to it, or with `check` what is wrong with it. */
function driftLines(out: string, check: boolean, drift: readonly Drift[]): readonly string[] {
  const words = check ? WORDS.check : WORDS.write;
  return drift.map(({ file, kind }) => `${words[kind].padEnd(check ? 20 : 8)} ${out}/${file}`);
}

function skippedLines({ model, file, reason, problems }: Skipped): string[] {
  return [
    `skipped  ${model}${file === "" ? "" : ` (${file})`}: ${REASONS[reason]}`,
    ...problems.map((problem) => `           ${problemText(problem)}`),
  ];
}

function schemaText({ from, to, endpoints }: MovedSchema, out: string): string {
  const count = `${counted(endpoints, "endpoint")} ${endpoints === 1 ? "has" : "have"}`;
  return `${count} the schema ${to} in the manifest and ${from} in ${out}: parse with the production target, or map schemas with \`schemas\` in routewright.config.json.`;
}

function driftSummary({ check, drift, schemas = [] }: GenerateReport): string {
  if (drift.length === 0) return check ? "the folder is up to date" : "no file changed";
  if (!check) return `${counted(drift.length, "file")} changed`;
  // Generating from another target would write its schemas into the folder.
  const remedy = schemas.length > 0 ? "the schemas differ" : "run `routewright generate`";
  return `${counted(drift.length, "file")} not up to date: ${remedy}`;
}

function skippedSummary(skipped: readonly Skipped[]): string {
  if (skipped.length === 0) return "no model skipped";
  const counts = Object.entries(REASONS).map(
    ([reason, words]) => [skipped.filter((item) => item.reason === reason).length, words] as const,
  );
  const parts = counts.filter(([count]) => count > 0).map(([count, words]) => `${String(count)} ${words}`);
  return `${String(skipped.length)} skipped (${parts.join(", ")})`;
}

/** The same for programs. */
export function reportJson({ catalogue, drift, warnings, schemas = [] }: GenerateReport): string {
  const filesOf = (kind: Drift["kind"]): string[] =>
    drift.filter((item) => item.kind === kind).map(({ file }) => file);
  const report = {
    endpoints: catalogue.entries.length,
    added: filesOf("missing"),
    changed: filesOf("changed"),
    removed: filesOf("stale"),
    skipped: catalogue.skipped,
    schemas,
    warnings: [
      ...warnings,
      ...catalogue.warnings.map(({ model, path, message, hint }) => ({ model, path, message, hint })),
    ],
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}
