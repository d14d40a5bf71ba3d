import { countsOf } from "../report/finding.js";
import type { AcceptEntry } from "../report/accept-file.js";
import type { Suppressed } from "../report/suppressions.js";
import { type Change, isFailing } from "./change.js";
import { CHANGE_SEVERITIES, type ChangeSeverity } from "./change-kinds.js";

/** The values of `--fail-on`. */
export const FAIL_ON = ["breaking", "any", "none"] as const;
export type FailOnChange = (typeof FAIL_ON)[number];

/** The changes of a run by the accept file. */
export type AcceptedChanges = Suppressed<Change, AcceptEntry>;

/** Whether the run fails. Unused entries never fail it: the default branch passes after an accepted change is merged. */
export function shouldFail({ unaccepted }: AcceptedChanges, failOn: FailOnChange): boolean {
  if (failOn === "none") return false;
  return unaccepted.some((change) => failOn === "any" || isFailing(change));
}

/** The number of unaccepted changes of each severity. */
export function changeCounts({ unaccepted }: AcceptedChanges): Readonly<Record<ChangeSeverity, number>> {
  return countsOf(CHANGE_SEVERITIES, unaccepted);
}
