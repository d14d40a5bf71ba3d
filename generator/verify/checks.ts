import type { CatalogueEntry } from "../catalogue/catalogue.js";
import {
  bySeverity,
  error,
  type Finding,
  type FindingSeverity,
  type Severities,
  severityOf,
  warning,
} from "../report/finding.js";
import type { Accepting } from "../report/accept-file.js";
import { plain, type Sentence } from "../manifest/strings.js";

/** The kinds of mismatch that `verify` finds (generator/docs/verify.md). */
export const CHECKS = {
  "missing-relation": error("Relation missing", "Every request fails."),
  "unreadable-relation": error("Relation not readable", "Every request fails."),
  "unpopulated-relation": error(
    "Materialized view without rows",
    "Every request fails until it is refreshed.",
  ),
  "missing-column": error("Column missing", "Rows come without it, and filters by it fail."),
  "column-type": error("Column of another type", "Clients that trust the documentation fail at its values."),
  "column-nullable": error("Column may be null", "Clients that rely on a value fail."),
  "duplicate-key": error("Key with duplicates", "Pages by cursor miss rows or end with an error."),
  "duplicate-join": error("Joined rows with duplicates", "What is joined to them is counted more than once."),
  "time-spine-gaps": error("Periods missing from a time spine", "Answers by time lack these periods."),
  "refused-measure": error("Measure that the database refuses", "Every request for it fails."),
  "wrong-roll-up": error("Roll-up with other totals", "Answers differ from those of the rows themselves."),
  "unread-roll-up": warning("Roll-up that is not read", "Each request reads the rows themselves."),
  "uncompared-roll-up": warning(
    "Roll-up that was not compared",
    "Answers may differ from those of the rows.",
  ),
  "broken-promise": error("Promise of builds broken", "Callers get old rows until the next build."),
  "stale-copy": warning("Copy older than the last build", "Callers get the rows of an earlier build."),
  "poisoned-copy": error(
    "Public copy that a caller changes",
    "Everybody at the address gets what one caller asked for.",
  ),
  "private-copy": error("Copy of private rows", "Callers without a key get what a key may read."),
  "unindexed-filter": warning("Filter without a usable index", "Each request reads the whole relation."),
  "refused-expression": error("Expression that the database refuses", "Requests with it fail."),
  "unindexed-expression": warning(
    "Expression without a usable index",
    "A request with nothing else reads the whole relation.",
  ),
} as const;
export type MismatchRule = keyof typeof CHECKS;
export const MISMATCH_RULES = Object.keys(CHECKS) as readonly MismatchRule[];

/** A difference between the catalogue and the database, before the repository's severities. */
export type Mismatch = Omit<Finding<MismatchRule>, "severity"> & { readonly endpoint: string };

export type CheckSeverities = Severities<MismatchRule, FindingSeverity>;

/** A mismatch in force, which an entry of the accept file may accept. */
export interface VerifyFinding extends Finding<MismatchRule>, Accepting {
  readonly endpoint: string;
}

/** Errors first; each kind in the order in which it was found. */
export function withSeverities(
  mismatches: readonly Mismatch[],
  severities: CheckSeverities = {},
): readonly VerifyFinding[] {
  return mismatches
    .flatMap((mismatch) => {
      const severity = severityOf<MismatchRule, FindingSeverity>(CHECKS, mismatch.rule, severities);
      return severity === null ? [] : [{ severity, ...mismatch, ...acceptingOf(mismatch) }];
    })
    .sort(bySeverity);
}

/** What the message names is what is accepted: another column or type is another finding. */
function acceptingOf({ rule, endpoint, message }: Mismatch): Accepting {
  const names = message.names.flatMap((each) => (typeof each === "string" ? [each] : each.names));
  const subject = names.length === 0 ? null : names.join(", ");
  return { kind: rule, endpoint, subject, before: null, after: null };
}

/** One mismatch of an endpoint, with its model and file, as the list that a check returns. */
export function mismatchAt(
  { path, model, file }: CatalogueEntry,
  rule: MismatchRule,
  message: Sentence,
  hint: Sentence | string,
): readonly Mismatch[] {
  const how = typeof hint === "string" ? plain(hint) : hint;
  return [{ rule, endpoint: path, model, file: file || null, message, hint: how }];
}
