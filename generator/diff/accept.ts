import { closest, shown } from "../catalogue/meta-api/fault.js";
import { isObject, type JsonObject, textOr } from "../manifest/json.js";
import { parseJson } from "../manifest/manifest.js";
import { CHANGE_KINDS, type ChangeKind, isChangeKind } from "./change.js";

/** A change that somebody answers for: it is told and does not fail the run. */
export interface AcceptEntry {
  readonly kind: ChangeKind;
  /** The path as the change tells it; all changes of the kind at it are accepted. */
  readonly endpoint: string;
  readonly reason: string;
  /** The last day on which it holds, `YYYY-MM-DD`; null for as long as the change is there. */
  readonly expires: string | null;
}

export type AcceptReading =
  | { readonly ok: true; readonly entries: readonly AcceptEntry[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads the text of an accept file; every problem is told. `location` is only for messages. */
export function parseAccept(text: string, location: string): AcceptReading {
  const json = parseJson(text, location);
  if (!json.ok) return { ok: false, problems: [json.problem] };
  if (!Array.isArray(json.value)) return { ok: false, problems: [`${location} is not a list. ${EXAMPLE}`] };
  const items: readonly unknown[] = json.value;
  const problems = items.flatMap((item, i) =>
    faultsOf(item).map((fault) => `${location}, [${String(i)}]: ${fault}`),
  );
  if (problems.length > 0) return { ok: false, problems };
  const entries = items.filter(isObject).map(entryOf);
  const repeated = repetitions(entries).map((fault) => `${location}, ${fault}`);
  return repeated.length > 0 ? { ok: false, problems: repeated } : { ok: true, entries };
}

const EXAMPLE =
  'Write `[{"kind": "column-removed", "endpoint": "/v1/…", "reason": "…", "expires": "2030-12-31"}]`; `expires` may be left out.';

const KEYS = ["kind", "endpoint", "reason", "expires"] as const;

function faultsOf(item: unknown): readonly string[] {
  if (!isObject(item)) return [`${shown(item)} is not an object. ${EXAMPLE}`];
  const { kind, endpoint, reason, expires } = item;
  const faults = strayKeys(item);
  if (typeof kind !== "string" || !isChangeKind(kind)) faults.push(unknownKind(kind));
  if (typeof endpoint !== "string" || !endpoint.startsWith("/v1/"))
    faults.push(`\`endpoint\` is ${given(endpoint)}; give the path of the endpoint, \`/v1/…\`.`);
  if (typeof reason !== "string" || reason.trim() === "")
    faults.push(`\`reason\` is ${given(reason)}; say why consumers can live with the change.`);
  if (expires !== undefined && !isDate(expires))
    faults.push(`\`expires\` is ${shown(expires)}; give a date as YYYY-MM-DD, or leave it out.`);
  return faults;
}

function given(value: unknown): string {
  return value === undefined ? "missing" : shown(value);
}

function strayKeys(item: JsonObject): string[] {
  const stray = Object.keys(item).filter((key) => !(KEYS as readonly string[]).includes(key));
  return stray.map((key) => `the key ${shown(key)} means nothing here; known are ${KEYS.join(", ")}.`);
}

function unknownKind(kind: unknown): string {
  const near = typeof kind === "string" ? closest(kind, CHANGE_KINDS) : null;
  const hint = near === null ? `use one of ${CHANGE_KINDS.join(", ")}` : `did you mean ${shown(near)}?`;
  return `\`kind\` is ${given(kind)}; ${hint}`;
}

/** Whether it is a day of the calendar: the 30th of February is read as another day. */
function isDate(value: unknown): boolean {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const time = Date.parse(`${value}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

function entryOf({ kind, endpoint, reason, expires }: JsonObject): AcceptEntry {
  return {
    kind: kind as ChangeKind,
    endpoint: endpoint as string,
    reason: textOr(reason, "").trim(),
    expires: expires === undefined ? null : (expires as string),
  };
}

function repetitions(entries: readonly AcceptEntry[]): readonly string[] {
  const keys = entries.map(({ kind, endpoint }) => `${kind} ${endpoint}`);
  return keys.flatMap((key, i) => {
    const first = keys.indexOf(key);
    return first === i ? [] : [`[${String(i)}]: it repeats [${String(first)}]; leave one of them out.`];
  });
}
