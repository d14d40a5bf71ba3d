import type { AcceptEntry } from "./accept.js";
import { type Change, SEVERITIES, type Severity, severityOf } from "./change.js";
import type { FailOn } from "./options.js";

/** A change and who answers for it. */
export interface Accepted {
  readonly change: Change;
  readonly entry: AcceptEntry;
}

/** An entry of the accept file that has had its day. */
export interface StaleEntry {
  readonly entry: AcceptEntry;
  /** No such change is there any more, or its last day is past. */
  readonly why: "unmatched" | "expired";
}

/** The changes of a run, held against its accept file. */
export interface Judgement {
  /** Not accepted, in order. */
  readonly open: readonly Change[];
  readonly accepted: readonly Accepted[];
  readonly stale: readonly StaleEntry[];
}

/** Sorts out what is accepted. `today` is a date as `YYYY-MM-DD`; an entry holds through its last day. */
export function judge(changes: readonly Change[], entries: readonly AcceptEntry[], today: string): Judgement {
  const isExpired = ({ expires }: AcceptEntry): boolean => expires !== null && expires < today;
  const valid = new Map(entries.filter((entry) => !isExpired(entry)).map((entry) => [keyOf(entry), entry]));
  const found = new Set(changes.map(keyOf));
  const stale = entries.flatMap((entry): StaleEntry[] => {
    if (!found.has(keyOf(entry))) return [{ entry, why: "unmatched" }];
    return isExpired(entry) ? [{ entry, why: "expired" }] : [];
  });
  const accepted = changes.flatMap((change) => {
    const entry = valid.get(keyOf(change));
    return entry === undefined ? [] : [{ change, entry }];
  });
  return { open: changes.filter((change) => !valid.has(keyOf(change))), accepted, stale };
}

function keyOf({ kind, endpoint }: Pick<Change, "kind" | "endpoint">): string {
  return `${kind} ${endpoint}`;
}

/**
 * Whether the bar is crossed. A stale entry crosses it like a change, so that the accept file is kept clean; under
 * `none` nothing does.
 */
export function crosses({ open, stale }: Judgement, failOn: FailOn): boolean {
  switch (failOn) {
    case "breaking":
      return stale.length > 0 || open.some((change) => severityOf(change) === "breaking");
    case "any":
      return stale.length > 0 || open.length > 0;
    case "none":
      return false;
  }
}

/** How many open changes there are of each severity. */
export function countsOf({ open }: Judgement): Readonly<Record<Severity, number>> {
  const counts = SEVERITIES.map((severity) => {
    return [severity, open.filter((change) => severityOf(change) === severity).length] as const;
  });
  return Object.fromEntries(counts) as Record<Severity, number>;
}
