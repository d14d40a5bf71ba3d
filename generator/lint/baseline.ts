import { groupedBy, type Outcome, succeeded, unlessFailed } from "@routewright/runtime/model";
import { existsSync } from "node:fs";
import { listOf, name, oneOf, record, text, type ValueOf } from "@routewright/runtime/model";
import { HINT, schemaErrorOf, validatorOf } from "../manifest/schema-errors.js";
import { parseJson } from "../manifest/json-text.js";
import { readSource } from "../artifacts/source.js";
import { byText, list, sentence, type Sentence, visibleJson } from "../manifest/strings.js";
import { type ModelFinding, RULE_IDS, type RuleSeverities, ruleSeverity, violation } from "./checks.js";

/** The default baseline: it need not exist. */
export const BASELINE_FILE = ".routewright-baseline.json";

/** Findings that a repository had when it wrote its baseline: they do not fail a run. */
export const BASELINE_SCHEMA = listOf(
  record({
    rule: oneOf(RULE_IDS),
    model: { ...name, [HINT]: "Give dbt's `unique_id` of the model." },
    /** Without positions in lists: a list that another entry joins keeps its findings. */
    path: text,
    /** What the finding names: columns, parameters, models, values. */
    names: listOf(text),
  }),
);

export type BaselineEntry = ValueOf<typeof BASELINE_SCHEMA>[number];

const errorsIn = validatorOf("baseline");

/** Reads a baseline; one that does not exist accepts nothing. */
export async function readBaseline(file: string): Promise<Outcome<readonly BaselineEntry[]>> {
  if (!existsSync(file)) return succeeded([]);
  const source = await readSource(file);
  if (!source.ok) return source;
  const json = parseJson(source.value.text, file);
  if (!json.ok) return json;
  const problems = errorsIn(json.value)
    .map(schemaErrorOf)
    .map(({ at, message, hint }) => `${file}${at && `, ${at}`}: ${message} ${hint}`);
  return unlessFailed(problems, json.value as readonly BaselineEntry[]);
}

/** Findings by a baseline. */
export interface BaselineResult {
  /** Findings that the baseline lacks, in order. */
  readonly unknown: readonly ModelFinding[];
  /** Findings that it accepts, in order. */
  readonly accepted: readonly ModelFinding[];
  /** Entries that accept no finding, or more than there is. */
  readonly stale: readonly BaselineEntry[];
}

/** An entry accepts a finding of its rule, model and path that names nothing but what it names. */
export function applyBaseline(
  findings: readonly ModelFinding[],
  entries: readonly BaselineEntry[],
): BaselineResult {
  const byPlace = groupedBy(entries, placeOf);
  const accepted = findings.filter((finding) => {
    const entry = entryFor(finding);
    return byPlace.get(placeOf(entry))?.some((known) => covers(known, entry));
  });
  const isAccepted = new Set(accepted);
  const today = new Set(accepted.map((finding) => JSON.stringify(entryFor(finding))));
  return {
    unknown: findings.filter((finding) => !isAccepted.has(finding)),
    accepted,
    stale: entries.filter((entry) => !today.has(JSON.stringify(sorted(entry)))),
  };
}

function placeOf({ rule, model, path }: BaselineEntry): string {
  return JSON.stringify([rule, model, path]);
}

/** A finding that names fewer columns than its entry is accepted; one that names none is another finding. */
function covers(known: BaselineEntry, { names }: BaselineEntry): boolean {
  if (names.length === 0) return known.names.length === 0;
  return names.every((one) => known.names.includes(one));
}

function entryFor({ rule, model, path, message }: ModelFinding): BaselineEntry {
  const names = message.names.flatMap((each) => (typeof each === "string" ? [each] : each.names));
  return sorted({ rule, model, path: path.replaceAll(/\[\d+\]/g, "[]"), names });
}

/** The same names are the same entry, in whatever order the file has them. */
function sorted({ rule, model, path, names }: BaselineEntry): BaselineEntry {
  return { rule, model, path, names: [...new Set(names)].sort(byText) };
}

/** The text of the baseline that accepts these findings: an entry per line, for reviews. */
export function baselineText(findings: readonly ModelFinding[]): string {
  const entries = findings.map(entryFor).sort((a, b) => byText(a.model, b.model) || byText(a.rule, b.rule));
  const lines = [...new Set(entries.map((entry) => `  ${visibleJson(entry)}`))];
  return lines.length === 0 ? "[]\n" : `[\n${lines.join(",\n")}\n]\n`;
}

/** Stale entries as findings of their models. */
export function staleFindings(
  stale: readonly BaselineEntry[],
  file: string,
  severities: RuleSeverities = {},
): readonly ModelFinding[] {
  const severity = ruleSeverity("stale-baseline", severities);
  if (severity === null) return [];
  return stale.flatMap((entry) =>
    violation(
      entry.path,
      staleMessage(entry),
      sentence`Run \`routewright lint --write-baseline --shrink\` and commit ${file}.`,
    ).map((found) => ({
      rule: "stale-baseline",
      severity,
      model: entry.model,
      file: null,
      endpoint: null,
      ...found,
    })),
  );
}

function staleMessage({ rule, names }: BaselineEntry): Sentence {
  if (names.length === 0) return sentence`The baseline accepts ${rule} here, which finds nothing any more.`;
  return sentence`The baseline accepts ${rule} here for more than there is: ${list(names)}.`;
}
