import { isObject, type JsonObject, textOr } from "../manifest/json.js";
import { parseJson } from "../manifest/manifest.js";
import { closest, formatValue } from "../manifest/strings.js";
import {
  type Change,
  CHANGE_KINDS,
  type ChangeKind,
  isChangeKind,
  SEVERITIES,
  type Severity,
} from "./change.js";
import { isDate } from "@routewright/runtime/model";

/** The default accept file: it need not exist. */
export const ACCEPT_FILE = ".routewright-accept.json";

/** A change that its owner accepts: it is reported and does not fail the run. */
export interface AcceptEntry {
  readonly kind: ChangeKind;
  /** The path as the change names it. */
  readonly endpoint: string;
  /** The change's subject; null accepts a change that has none. */
  readonly subject: string | null;
  /** The change's values: what was accepted once is not accepted for another value. */
  readonly before: string | null;
  readonly after: string | null;
  readonly reason: string;
  /** The last day on which it holds, `YYYY-MM-DD`; null for no limit. */
  readonly expires: string | null;
}

export type ParsedAcceptFile =
  | { readonly ok: true; readonly entries: readonly AcceptEntry[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads the text of an accept file and reports every problem. `location` is only for messages. */
export function parseAcceptFile(text: string, location: string): ParsedAcceptFile {
  const json = parseJson(text, location);
  if (!json.ok) return { ok: false, problems: [json.problem] };
  if (!Array.isArray(json.value)) return { ok: false, problems: [`${location} is not a list. ${EXAMPLE}`] };
  const items: readonly unknown[] = json.value;
  const problems = items.flatMap((item, i) =>
    problemsOf(item).map((problem) => `${location}, [${String(i)}]: ${problem}`),
  );
  if (problems.length > 0) return { ok: false, problems };
  const entries = items.filter(isObject).map(entryOf);
  const duplicates = duplicatesOf(entries).map((problem) => `${location}, ${problem}`);
  return duplicates.length > 0 ? { ok: false, problems: duplicates } : { ok: true, entries };
}

const EXAMPLE =
  'Write `[{"kind": "column-removed", "endpoint": "/v1/…", "subject": "…", "before": "…", "reason": "…", "expires": "2030-12-31"}]` as `diff` offers it; `expires` is optional.';

const KEYS = ["kind", "endpoint", "subject", "before", "after", "reason", "expires"] as const;

function problemsOf(item: unknown): readonly string[] {
  if (!isObject(item)) return [`${formatValue(item)} is not an object. ${EXAMPLE}`];
  const { kind, endpoint, subject = null, reason, expires } = item;
  const problems = unknownKeys(item);
  if (!isChangeKind(kind)) problems.push(unknownKind(kind));
  if (typeof endpoint !== "string" || !endpoint.startsWith("/v1/"))
    problems.push(`\`endpoint\` is ${given(endpoint)}; give the path of the endpoint, \`/v1/…\`.`);
  if (subject !== null && typeof subject !== "string")
    problems.push(`\`subject\` is ${formatValue(subject)}; give the column, parameter or field as text.`);
  for (const key of ["before", "after"] as const) {
    const value = item[key] ?? null;
    if (value !== null && typeof value !== "string")
      problems.push(`\`${key}\` is ${formatValue(value)}; give the text that \`diff\` shows.`);
  }
  if (typeof reason !== "string" || reason.trim() === "")
    problems.push(`\`reason\` is ${given(reason)}; say why consumers can live with the change.`);
  if (expires !== undefined && !(typeof expires === "string" && isDate(expires)))
    problems.push(`\`expires\` is ${formatValue(expires)}; give a date as YYYY-MM-DD, or leave it out.`);
  return problems;
}

function given(value: unknown): string {
  return value === undefined ? "missing" : formatValue(value);
}

function unknownKeys(item: JsonObject): string[] {
  const unknown = Object.keys(item).filter((key) => !(KEYS as readonly string[]).includes(key));
  return unknown.map((key) => {
    const near = closest(key, KEYS);
    const hint = near === null ? `known are ${KEYS.join(", ")}.` : `did you mean ${formatValue(near)}?`;
    return `unknown key ${formatValue(key)}; ${hint}`;
  });
}

function unknownKind(kind: unknown): string {
  const near = typeof kind === "string" ? closest(kind, CHANGE_KINDS) : null;
  const hint = near === null ? `use one of ${CHANGE_KINDS.join(", ")}` : `did you mean ${formatValue(near)}?`;
  return `\`kind\` is ${given(kind)}; ${hint}`;
}

function entryOf({ kind, endpoint, subject, before, after, reason, expires }: JsonObject): AcceptEntry {
  return {
    kind: kind as ChangeKind,
    endpoint: endpoint as string,
    subject: (subject as string | null | undefined) ?? null,
    before: (before as string | null | undefined) ?? null,
    after: (after as string | null | undefined) ?? null,
    reason: textOr(reason, "").trim(),
    expires: (expires as string | undefined) ?? null,
  };
}

function duplicatesOf(entries: readonly AcceptEntry[]): readonly string[] {
  const keys = entries.map(changeKey);
  return keys.flatMap((key, i) => {
    const first = keys.indexOf(key);
    return first === i ? [] : [`[${String(i)}]: duplicate of [${String(first)}]: remove one.`];
  });
}

/** Identity of a change across runs. */
function changeKey({
  kind,
  endpoint,
  subject,
  before,
  after,
}: Pick<Change, "kind" | "endpoint" | "subject" | "before" | "after">): string {
  return JSON.stringify([kind, endpoint, subject, before, after]);
}

/** For an unused entry: a question that names the change it probably means, of the same kind; null if there is none. */
export function nearMiss(entry: AcceptEntry, unaccepted: readonly Change[]): string | null {
  const sameKind = unaccepted.filter(({ kind }) => kind === entry.kind);
  const endpoint = closest(
    entry.endpoint,
    sameKind.map((change) => change.endpoint),
  );
  if (endpoint === null) return null;
  if (endpoint !== entry.endpoint) return `did you mean the endpoint ${formatValue(endpoint)}?`;
  const subjects = sameKind.flatMap((change) => (change.endpoint === endpoint ? (change.subject ?? []) : []));
  const subject = entry.subject === null ? subjects[0] : closest(entry.subject, subjects);
  if (subject != null && subject !== entry.subject)
    return `did you mean the subject ${formatValue(subject)}?`;
  const [same] = sameKind.filter(
    (change) => change.endpoint === endpoint && change.subject === entry.subject,
  );
  return same === undefined ? null : `the change is now ${acceptEntryFor(same)}`;
}

/** The text of an accept file without its unused entries; the others keep their keys. */
export function prunedText(text: string, unused: readonly AcceptEntry[]): string {
  const removed = new Set(unused.map(changeKey));
  const kept = (JSON.parse(text) as JsonObject[]).filter((item) => !removed.has(changeKey(entryOf(item))));
  return `${JSON.stringify(kept, null, 2)}\n`;
}

/** The entry that accepts a change, as one line of JSON with an empty reason to fill in. */
export function acceptEntryFor({ kind, endpoint, subject, before, after }: Change): string {
  const entry = {
    kind,
    endpoint,
    ...(subject !== null && { subject }),
    ...(before !== null && { before }),
    ...(after !== null && { after }),
    reason: "",
  };
  const members = Object.entries(entry).map(([key, value]) => `"${key}": ${JSON.stringify(value)}`);
  return `{${members.join(", ")}}`;
}

/** The values of `--fail-on`. */
export const FAIL_ON = ["breaking", "any", "none"] as const;
export type FailOn = (typeof FAIL_ON)[number];

/** A change and the entry that accepts it. */
export interface AcceptedChange {
  readonly change: Change;
  readonly entry: AcceptEntry;
}

/** What an accept file makes of the changes of a run. */
export interface AcceptFileResult {
  /** Changes that no valid entry accepts, in order. */
  readonly unaccepted: readonly Change[];
  readonly accepted: readonly AcceptedChange[];
  /** Stale entries, which match no change: it is already in the base, was reverted, or has other values now. */
  readonly unused: readonly AcceptEntry[];
  /** Entries past their last day that match a change. */
  readonly expired: readonly AcceptEntry[];
}

/** Applies an accept file. `today` is `YYYY-MM-DD`; an entry holds through its last day. */
export function applyAcceptFile(
  changes: readonly Change[],
  entries: readonly AcceptEntry[],
  today: string,
): AcceptFileResult {
  const isExpired = ({ expires }: AcceptEntry): boolean => expires !== null && expires < today;
  const found = new Set(changes.map(changeKey));
  const matching = entries.filter((entry) => found.has(changeKey(entry)));
  const valid = new Map(
    matching.filter((entry) => !isExpired(entry)).map((entry) => [changeKey(entry), entry]),
  );
  return {
    unaccepted: changes.filter((change) => !valid.has(changeKey(change))),
    accepted: changes.flatMap((change) => {
      const entry = valid.get(changeKey(change));
      return entry === undefined ? [] : [{ change, entry }];
    }),
    unused: entries.filter((entry) => !found.has(changeKey(entry))),
    expired: matching.filter(isExpired),
  };
}

/** Whether the run fails. Unused entries never fail it: the default branch passes after an accepted change is merged. */
export function shouldFail({ unaccepted, expired }: AcceptFileResult, failOn: FailOn): boolean {
  switch (failOn) {
    case "breaking":
      return (
        expired.length > 0 ||
        unaccepted.some(({ severity }) => severity === "exposing" || severity === "breaking")
      );
    case "any":
      return expired.length > 0 || unaccepted.length > 0;
    case "none":
      return false;
  }
}

/** The number of unaccepted changes of each severity. */
export function changeCounts({ unaccepted }: AcceptFileResult): Readonly<Record<Severity, number>> {
  const counts = SEVERITIES.map(
    (level) => [level, unaccepted.filter(({ severity }) => severity === level).length] as const,
  );
  return Object.fromEntries(counts) as Record<Severity, number>;
}
