import { type AcceptEntry, keyOf } from "./accepted-changes.js";
import type { Change } from "./change.js";
import { SEVERITIES, type Severity } from "./kinds.js";

/** Changes that fail a run. Loaded by the command line, so it imports no more than it needs. */
export const FAIL_ON = ["breaking", "any", "none"] as const;
export type FailOn = (typeof FAIL_ON)[number];

/** A change and the entry that accepts it. */
export interface AcceptedChange {
  readonly change: Change;
  readonly entry: AcceptEntry;
}

/** The changes of a run, after its accept file. */
export interface Verdict {
  /** Not accepted, in order. */
  readonly open: readonly Change[];
  readonly accepted: readonly AcceptedChange[];
  /** Entries whose change is not there: merged, or taken back. */
  readonly merged: readonly AcceptEntry[];
  /** Entries past their last day whose change is still there. */
  readonly expired: readonly AcceptEntry[];
}

/** Applies an accept file. `today` is `YYYY-MM-DD`; an entry holds through its last day. */
export function judge(changes: readonly Change[], entries: readonly AcceptEntry[], today: string): Verdict {
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
export function shouldFail({ open, expired }: Verdict, failOn: FailOn): boolean {
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
export function countsOf({ open }: Verdict): Readonly<Record<Severity, number>> {
  const counts = SEVERITIES.map(
    (level) => [level, open.filter(({ severity }) => severity === level).length] as const,
  );
  return Object.fromEntries(counts) as Record<Severity, number>;
}
