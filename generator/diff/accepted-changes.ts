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
/** Read when it exists and neither flag nor config file names another. */
export const ACCEPT_FILE = ".routewright-accept.json";

/** A change that its owner accepts: it is reported and does not fail the run. */
export interface AcceptEntry {
  readonly kind: ChangeKind;
  /** The path as the change names it. */
  readonly endpoint: string;
  /** The change's subject; null accepts a change that has none. */
  readonly subject: string | null;
  readonly reason: string;
  /** The last day on which it holds, `YYYY-MM-DD`; null for no limit. */
  readonly expires: string | null;
}

export type AcceptReading =
  | { readonly ok: true; readonly entries: readonly AcceptEntry[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads the text of an accept file and reports every problem. `location` is only for messages. */
export function parseAccept(text: string, location: string): AcceptReading {
  const json = parseJson(text, location);
  if (!json.ok) return { ok: false, problems: [json.problem] };
  if (!Array.isArray(json.value)) return { ok: false, problems: [`${location} is not a list. ${EXAMPLE}`] };
  const items: readonly unknown[] = json.value;
  const problems = items.flatMap((item, i) =>
    problemsOf(item).map((problem) => `${location}, [${String(i)}]: ${problem}`),
  );
  if (problems.length > 0) return { ok: false, problems };
  const entries = items.filter(isObject).map(entryOf);
  const repeated = repetitions(entries).map((problem) => `${location}, ${problem}`);
  return repeated.length > 0 ? { ok: false, problems: repeated } : { ok: true, entries };
}

const EXAMPLE =
  'Write `[{"kind": "column-removed", "endpoint": "/v1/…", "subject": "…", "reason": "…", "expires": "2030-12-31"}]`; `expires` is optional.';

const KEYS = ["kind", "endpoint", "subject", "reason", "expires"] as const;

function problemsOf(item: unknown): readonly string[] {
  if (!isObject(item)) return [`${formatValue(item)} is not an object. ${EXAMPLE}`];
  const { kind, endpoint, subject = null, reason, expires } = item;
  const problems = unknownKeys(item);
  if (!isChangeKind(kind)) problems.push(unknownKind(kind));
  if (typeof endpoint !== "string" || !endpoint.startsWith("/v1/"))
    problems.push(`\`endpoint\` is ${given(endpoint)}; give the path of the endpoint, \`/v1/…\`.`);
  if (subject !== null && typeof subject !== "string")
    problems.push(`\`subject\` is ${formatValue(subject)}; give the column, parameter or field as text.`);
  if (typeof reason !== "string" || reason.trim() === "")
    problems.push(`\`reason\` is ${given(reason)}; say why consumers can live with the change.`);
  if (expires !== undefined && !isDate(expires))
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

/** Whether it is a date of the calendar: `Date` reads the 30th of February as another day. */
function isDate(value: unknown): boolean {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const time = Date.parse(`${value}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

function entryOf({ kind, endpoint, subject, reason, expires }: JsonObject): AcceptEntry {
  return {
    kind: kind as ChangeKind,
    endpoint: endpoint as string,
    subject: (subject as string | null | undefined) ?? null,
    reason: textOr(reason, "").trim(),
    expires: (expires as string | undefined) ?? null,
  };
}

function repetitions(entries: readonly AcceptEntry[]): readonly string[] {
  const keys = entries.map(keyOf);
  return keys.flatMap((key, i) => {
    const first = keys.indexOf(key);
    return first === i ? [] : [`[${String(i)}]: it repeats [${String(first)}]; remove one of them.`];
  });
}

/** Identity of a change across runs. */
export function keyOf({ kind, endpoint, subject }: Pick<Change, "kind" | "endpoint" | "subject">): string {
  return JSON.stringify([kind, endpoint, subject]);
}

/** For an entry that matches no change: the change that it may mean, of the same kind at a similar path or with another subject. */
export function nearMiss(entry: AcceptEntry, open: readonly Change[]): string | null {
  const sameKind = open.filter(({ kind }) => kind === entry.kind);
  const endpoint = closest(
    entry.endpoint,
    sameKind.map((change) => change.endpoint),
  );
  if (endpoint === null) return null;
  if (endpoint !== entry.endpoint) return `did you mean the endpoint ${formatValue(endpoint)}?`;
  const subjects = sameKind.flatMap((change) => (change.endpoint === endpoint ? (change.subject ?? []) : []));
  const subject = entry.subject === null ? subjects[0] : closest(entry.subject, subjects);
  return subject == null ? null : `did you mean the subject ${formatValue(subject)}?`;
}

/** The text of an accept file without the entries that no longer match a change; those that stay keep their form. */
export function prunedText(text: string, merged: readonly AcceptEntry[]): string {
  const gone = new Set(merged.map(keyOf));
  const kept = (JSON.parse(text) as JsonObject[]).filter((item) => !gone.has(keyOf(entryOf(item))));
  return `${JSON.stringify(kept, null, 2)}\n`;
}

/** The entry that accepts a change, for its owner to paste and give a reason. */
export function acceptEntryFor({ kind, endpoint, subject }: Change): string {
  const entry = { kind, endpoint, ...(subject !== null && { subject }), reason: "" };
  return JSON.stringify(entry).replaceAll('":', '": ').replaceAll(',"', ', "');
}

/** Changes that fail a run. */
export const FAIL_ON = ["breaking", "any", "none"] as const;
export type FailOn = (typeof FAIL_ON)[number];

/** A change and the entry that accepts it. */
export interface AcceptedChange {
  readonly change: Change;
  readonly entry: AcceptEntry;
}

/** The changes of a run after applying its accept file. */
export interface Acceptance {
  /** Not accepted, in order. */
  readonly open: readonly Change[];
  readonly accepted: readonly AcceptedChange[];
  /** Entries whose change is not there: merged, or taken back. */
  readonly merged: readonly AcceptEntry[];
  /** Entries past their last day whose change is still there. */
  readonly expired: readonly AcceptEntry[];
}

/** Applies an accept file. `today` is `YYYY-MM-DD`; an entry holds through its last day. */
export function applyAcceptFile(
  changes: readonly Change[],
  entries: readonly AcceptEntry[],
  today: string,
): Acceptance {
  const isOver = ({ expires }: AcceptEntry): boolean => expires !== null && expires < today;
  const found = new Set(changes.map(keyOf));
  const needed = entries.filter((entry) => found.has(keyOf(entry)));
  const valid = new Map(needed.filter((entry) => !isOver(entry)).map((entry) => [keyOf(entry), entry]));
  return {
    open: changes.filter((change) => !valid.has(keyOf(change))),
    accepted: changes.flatMap((change) => {
      const entry = valid.get(keyOf(change));
      return entry === undefined ? [] : [{ change, entry }];
    }),
    merged: entries.filter((entry) => !found.has(keyOf(entry))),
    expired: needed.filter(isOver),
  };
}

/** Whether the run fails. A merged entry never fails it: the default branch stays green after an accepted change. */
export function shouldFail({ open, expired }: Acceptance, failOn: FailOn): boolean {
  switch (failOn) {
    case "breaking":
      return (
        expired.length > 0 || open.some(({ severity }) => severity === "exposing" || severity === "breaking")
      );
    case "any":
      return expired.length > 0 || open.length > 0;
    case "none":
      return false;
  }
}

/** How many open changes there are of each severity. */
export function countsOf({ open }: Acceptance): Readonly<Record<Severity, number>> {
  const counts = SEVERITIES.map(
    (level) => [level, open.filter(({ severity }) => severity === level).length] as const,
  );
  return Object.fromEntries(counts) as Record<Severity, number>;
}
