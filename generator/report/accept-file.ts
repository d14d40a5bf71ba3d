import { existsSync } from "node:fs";
import {
  failed,
  isDate,
  listOf,
  oneOf,
  type Outcome,
  record,
  succeeded,
  text,
} from "@routewright/runtime/model";
import { textOrNull, unlessFailed, type ValueOf } from "@routewright/runtime/model";
import { readSource } from "../artifacts/source.js";
import { parseJson } from "../manifest/json-text.js";
import { HINT, type SchemaError, schemaErrorOf, validatorOf } from "../manifest/schema-errors.js";
import { formatValue, joined, list, plain, sentence, type Sentence, visible } from "../manifest/strings.js";
import type { Block } from "./report.js";
import { applySuppressions, type Suppressed, type Suppression } from "./suppressions.js";

/** The default accept file of `diff` and `verify`: it need not exist. */
export const ACCEPT_FILE = ".routewright-accept.json";

const EXPIRES_HINT = "Give the last day on which it holds as YYYY-MM-DD, or leave it out.";

const value = { ...textOrNull, [HINT]: "Give the text that `diff` shows." };

/** The text of an accept file, as reports offer it. `kinds`: of changes, and the checks of `verify`. */
export const acceptSchemaOf = (kinds: readonly string[]) =>
  listOf(
    record(
      {
        kind: oneOf(kinds),
        /** The path, or the plan, as the finding names it. */
        endpoint: {
          ...text,
          pattern: "^(/v1/|plans/)",
          [HINT]: "Give the path of the endpoint, `/v1/…`, or `plans/` and a name.",
        },
        reason: { ...text, pattern: "\\S", [HINT]: "Say why consumers can live with it." },
      },
      {
        /** What differs in the endpoint; null accepts a finding that names nothing. */
        subject: { ...textOrNull, [HINT]: "Give the column, parameter or field as text." },
        /** The values of a change: what was accepted once is not accepted for another value. */
        before: value,
        after: value,
        /** The last day on which it holds. */
        expires: { ...text, pattern: "^\\d{4}-\\d\\d-\\d\\d$", [HINT]: EXPIRES_HINT },
      },
    ),
  );

type AcceptRecord = ValueOf<ReturnType<typeof acceptSchemaOf>>[number];

/** What identifies a finding across runs. */
export interface Accepting {
  readonly kind: string;
  readonly endpoint: string;
  readonly subject: string | null;
  readonly before: string | null;
  readonly after: string | null;
}

/** An entry of the accept file: its finding is reported and does not fail the run. */
export interface AcceptEntry extends Accepting, Suppression {}

const errorsIn = validatorOf("accept-file");

/** Reads the accept file of a command: one that is named must exist. */
export async function readNamedFile(named: string | undefined): Promise<Outcome<readonly AcceptEntry[]>> {
  if (named !== undefined && !existsSync(named))
    return failed(`No accept file ${named}. Write it, or leave --accept out.`);
  return readAcceptFile(named ?? ACCEPT_FILE);
}

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
  const first = all.findIndex((other) => identityOf(entryOf(other)) === identityOf(entryOf(one)));
  return first === i
    ? []
    : [{ at: `[${String(i)}]`, message: `Duplicate of [${String(first)}].`, hint: "Remove one." }];
}

function entryOf(record: AcceptRecord): AcceptEntry {
  const { kind, endpoint, subject = null, before = null, after = null, reason, expires = null } = record;
  return { kind, endpoint, subject, before, after, reason: reason.trim(), expires };
}

function identityOf({ kind, endpoint, subject, before, after }: Accepting): string {
  return JSON.stringify([kind, endpoint, subject, before, after]);
}

/** Applies the entries of an accept file whose kinds a run looks for. `today` is `YYYY-MM-DD`. */
export function applyAcceptFile<Found extends Accepting>(
  found: readonly Found[],
  entries: readonly AcceptEntry[],
  kinds: readonly string[],
  today: string,
): Suppressed<Found, AcceptEntry> {
  const ofRun = entries.filter(({ kind }) => kinds.includes(kind));
  return applySuppressions<Found, AcceptEntry>(found, ofRun, identityOf, today);
}

/** What a report says of entries that accept nothing. `found`: what they would match: a change, a difference. */
export function acceptNotes(
  { unused, expired }: Pick<Suppressed<unknown, AcceptEntry>, "unused" | "expired">,
  file: string,
  found: string,
): readonly Sentence[] {
  const name = ({ kind, endpoint, subject }: AcceptEntry): string =>
    [kind, endpoint, ...(subject === null ? [] : [subject])].join(" ");
  const stale = joined(
    sentence`${file} has stale entries, which match no `,
    plain(found),
    sentence`: ${list(unused.map(name))}. Remove them.`,
  );
  const ended = expired.map((entry) => `${name(entry)} (${entry.expires ?? ""})`);
  return [
    ...(unused.length === 0 ? [] : [stale]),
    ...(ended.length === 0
      ? []
      : [sentence`${file} has expired entries, which accept nothing any more: ${list(ended)}.`]),
  ];
}

/** At most this many entries are offered. */
const MAX_ENTRIES = 30;

/** The entries that accept what fails a run, with an empty reason to fill in. */
export function acceptBlocks(failing: readonly Accepting[], file: string): readonly Block[] {
  if (failing.length === 0) return [];
  const entries = failing.slice(0, MAX_ENTRIES).map((one) => `  ${visible(acceptEntryFor(one))}`);
  const left = failing.length - entries.length;
  const heading = `To accept, add to ${file} with a reason${left > 0 ? ` (the first ${String(entries.length)} of ${String(failing.length)})` : ""}`;
  return [{ heading, language: "json", text: `[\n${entries.join(",\n")}\n]` }];
}

function acceptEntryFor({ kind, endpoint, subject, before, after }: Accepting): string {
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
