import { type Catalogue, problemText, type Skipped } from "../catalogue/catalogue.js";
import { type Change } from "../diff/change.js";
import { KINDS } from "../diff/change-kinds.js";
import { visible } from "../manifest/strings.js";
import { type Drift, lineEndsOf } from "../output/folder.js";
import { differenceOf } from "../diff/diff-report.js";
import { counted, plainText } from "../report/report.js";

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
  /** Why an endpoint's file is gone, by the file. */
  readonly causes?: ReadonlyMap<string, string>;
  /** What opens data since the folder was written. */
  readonly exposing?: readonly Change[];
  /** What to know of the run besides. */
  readonly notes?: readonly string[];
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
  const { out, catalogue, warnings, schemas = [], exposing = [], notes = [] } = report;
  const lines = [
    ...warnings.map((warning) => `warning: ${warning}`),
    ...catalogue.warnings.map((problem) => `warning: ${problem.model} ${problemText(problem)}`),
    ...driftLines(report),
    ...exposing.map((change) => `warning: ${exposingText(change)}`),
    ...schemas.map((move) => `warning: ${schemaText(move, out)}`),
    ...catalogue.skipped.flatMap(skippedLines),
    ...[...crlfNote(report), ...notes].map((note) => `note: ${note}`),
    `${counted(catalogue.entries.length, "endpoint")}; ${driftSummary(report)}; ${skippedSummary(catalogue.skipped)}`,
  ];
  return `${lines.map(visible).join("\n")}\n`;
}

/** A line per file: what happened to it, or with `check` what is wrong with it. */
function driftLines({ out, check, drift, causes }: GenerateReport): readonly string[] {
  const words = check ? WORDS.check : WORDS.write;
  return drift.map(({ file, kind }) => {
    const cause = kind === "stale" ? causes?.get(file) : undefined;
    return `${words[kind].padEnd(check ? 20 : 8)} ${out}/${file}${cause === undefined ? "" : `: ${cause}`}`;
  });
}

/** Line ends that a checkout on Windows made. */
function crlfNote({ out, drift }: GenerateReport): readonly string[] {
  const files = drift.filter(({ isCrlf }) => isCrlf === true).length;
  if (files === 0) return [];
  return [
    `${counted(files, "file")} differ${files === 1 ? "s" : ""} by the line ends alone, CRLF for LF: add \`${lineEndsOf(out)}\` to .gitattributes, then run \`git add --renormalize ${out}\`.`,
  ];
}

/** `/v1/shop/orders: Tier lowered: tier2 → tier0. Callers of a lower tier can read …` */
function exposingText(change: Change): string {
  const { endpoint, kind } = change;
  const difference = differenceOf(change);
  const what = difference === null ? "" : `: ${plainText(difference).replaceAll('"', "")}`;
  return `${endpoint}: ${KINDS[kind].title}${what}. ${KINDS[kind].reason}`;
}

export function skippedLines({ model, file, reason, problems }: Skipped): string[] {
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

export function skippedSummary(skipped: readonly Skipped[]): string {
  if (skipped.length === 0) return "no model skipped";
  const counts = Object.entries(REASONS).map(
    ([reason, words]) => [skipped.filter((item) => item.reason === reason).length, words] as const,
  );
  const parts = counts.filter(([count]) => count > 0).map(([count, words]) => `${String(count)} ${words}`);
  return `${String(skipped.length)} skipped (${parts.join(", ")})`;
}

/** The same for programs. */
export function reportJson(report: GenerateReport): string {
  const {
    catalogue,
    drift,
    warnings,
    schemas = [],
    causes = new Map<string, string>(),
    exposing = [],
    notes = [],
  } = report;
  const filesOf = (kind: Drift["kind"]): string[] =>
    drift.filter((item) => item.kind === kind).map(({ file }) => file);
  const json = {
    endpoints: catalogue.entries.length,
    added: filesOf("missing"),
    changed: filesOf("changed"),
    removed: filesOf("stale"),
    causes: Object.fromEntries(causes),
    exposing,
    skipped: catalogue.skipped,
    schemas,
    notes,
    warnings: [
      ...warnings,
      ...catalogue.warnings.map(({ model, path, message, hint }) => ({ model, path, message, hint })),
    ],
  };
  return `${JSON.stringify(json, null, 2)}\n`;
}
