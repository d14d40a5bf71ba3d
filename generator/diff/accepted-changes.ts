import { countsOf, holdsOn } from "../report/finding.js";
import { existsSync } from "node:fs";
import { listOf, oneOf, record, text, textOrNull, type ValueOf } from "@routewright/runtime/model";
import { HINT, type SchemaError, schemaErrorOf, validatorOf } from "../manifest/schema-errors.js";
import { isDate, type Outcome, succeeded, unlessFailed } from "@routewright/runtime/model";
import { parseJson } from "../manifest/manifest.js";
import { readSource } from "../artifacts/source.js";
import { formatValue } from "../manifest/strings.js";
import { type Change, isFailing } from "./change.js";
import { CHANGE_KINDS, CHANGE_SEVERITIES, type ChangeSeverity } from "./change-kinds.js";

/** The default accept file: it need not exist. */
export const ACCEPT_FILE = ".routewright-accept.json";

const EXPIRES_HINT = "Give the last day on which it holds as YYYY-MM-DD, or leave it out.";

const value = { ...textOrNull, [HINT]: "Give the text that `diff` shows." };

/** The text of an accept file, as `diff` offers it. */
export const ACCEPT_SCHEMA = listOf(
  record(
    {
      kind: oneOf(CHANGE_KINDS),
      /** The path, or the plan, as the change names it. */
      endpoint: {
        ...text,
        pattern: "^(/v1/|plans/)",
        [HINT]: "Give the path of the endpoint, `/v1/…`, or `plans/` and a name.",
      },
      reason: { ...text, pattern: "\\S", [HINT]: "Say why consumers can live with the change." },
    },
    {
      /** The change's subject; null accepts a change that has none. */
      subject: { ...textOrNull, [HINT]: "Give the column, parameter or field as text." },
      /** The change's values: what was accepted once is not accepted for another value. */
      before: value,
      after: value,
      /** The last day on which it holds. */
      expires: { ...text, pattern: "^\\d{4}-\\d\\d-\\d\\d$", [HINT]: EXPIRES_HINT },
    },
  ),
);

type AcceptRecord = ValueOf<typeof ACCEPT_SCHEMA>[number];

/** A change that its owner accepts: it is reported and does not fail the run. */
export interface AcceptEntry extends Pick<AcceptRecord, "kind" | "endpoint" | "reason"> {
  readonly subject: string | null;
  readonly before: string | null;
  readonly after: string | null;
  /** Null for no limit. */
  readonly expires: string | null;
}

const errorsIn = validatorOf("accept-file");

/** Reads an accept file; one that does not exist accepts nothing. */
export async function readAcceptFile(file: string): Promise<Outcome<readonly AcceptEntry[]>> {
  if (!existsSync(file)) return succeeded([]);
  const source = await readSource(file);
  return source.ok ? parseAcceptFile(source.value.text, file) : source;
}

/** Reads the text of an accept file and reports every problem. `location` is only for messages. */
export function parseAcceptFile(content: string, location: string): Outcome<readonly AcceptEntry[]> {
  const json = parseJson(content, location);
  if (!json.ok) return json;
  const errors = errorsIn(json.value).map(schemaErrorOf);
  const records = errors.length === 0 ? (json.value as readonly AcceptRecord[]) : [];
  const problems = [...errors, ...records.flatMap(notADay), ...records.flatMap(duplicate)].map(
    ({ at, message, hint }) => `${location}${at && `, ${at}`}: ${message} ${hint}`,
  );
  return unlessFailed(problems, records.map(entryOf));
}

function notADay({ expires }: AcceptRecord, i: number): readonly SchemaError[] {
  if (expires === undefined || isDate(expires)) return [];
  const message = `${formatValue(expires)} is not a day.`;
  return [{ at: `[${String(i)}].expires`, message, hint: EXPIRES_HINT }];
}

function duplicate(one: AcceptRecord, i: number, all: readonly AcceptRecord[]): readonly SchemaError[] {
  const first = all.findIndex((other) => changeKey(entryOf(other)) === changeKey(entryOf(one)));
  return first === i
    ? []
    : [{ at: `[${String(i)}]`, message: `Duplicate of [${String(first)}].`, hint: "Remove one." }];
}

function entryOf(record: AcceptRecord): AcceptEntry {
  const { kind, endpoint, subject = null, before = null, after = null, reason, expires = null } = record;
  return { kind, endpoint, subject, before, after, reason: reason.trim(), expires };
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
export type FailOnChange = (typeof FAIL_ON)[number];

/** A change and the entry that accepts it. */
export interface AcceptedChange {
  readonly change: Change;
  readonly entry: AcceptEntry;
}

/** The changes of a run by an accept file. */
export interface AcceptFileResult {
  /** Changes that no entry accepts, in order. */
  readonly unaccepted: readonly Change[];
  readonly accepted: readonly AcceptedChange[];
  /** Stale entries, which match no change: it is already in the base, was reverted, or has other values now. */
  readonly unused: readonly AcceptEntry[];
  /** Entries past their last day: they match a change and accept it no more. */
  readonly expired: readonly AcceptEntry[];
}

/** Applies an accept file. `today` is `YYYY-MM-DD`: an entry holds through its last day. */
export function applyAcceptFile(
  changes: readonly Change[],
  entries: readonly AcceptEntry[],
  today: string,
): AcceptFileResult {
  const found = new Set(changes.map(changeKey));
  const isExpired = ({ expires }: AcceptEntry): boolean => !holdsOn(today, expires);
  const byKey = new Map(
    entries.filter((entry) => !isExpired(entry)).map((entry) => [changeKey(entry), entry]),
  );
  return {
    unaccepted: changes.filter((change) => !byKey.has(changeKey(change))),
    accepted: changes.flatMap((change) => {
      const entry = byKey.get(changeKey(change));
      return entry === undefined ? [] : [{ change, entry }];
    }),
    unused: entries.filter((entry) => !found.has(changeKey(entry))),
    expired: entries.filter((entry) => found.has(changeKey(entry)) && isExpired(entry)),
  };
}

/** Whether the run fails. Unused entries never fail it: the default branch passes after an accepted change is merged. */
export function shouldFail({ unaccepted }: AcceptFileResult, failOn: FailOnChange): boolean {
  if (failOn === "none") return false;
  return unaccepted.some((change) => failOn === "any" || isFailing(change));
}

/** The number of unaccepted changes of each severity. */
export function changeCounts({ unaccepted }: AcceptFileResult): Readonly<Record<ChangeSeverity, number>> {
  return countsOf(CHANGE_SEVERITIES, unaccepted);
}
