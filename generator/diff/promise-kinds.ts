import { ruleOf, warning } from "../report/finding.js";

const breaking = ruleOf("breaking");
const compatible = ruleOf("compatible");

/** Kinds of change of what an endpoint promises of its rows and of itself. */
export const PROMISE_KINDS = {
  "stability-lowered": breaking(
    "Endpoint is a preview now",
    "Consumers were promised more: from now on it may change without notice.",
  ),
  "stability-raised": compatible("Endpoint is stable now", "It no longer changes without notice."),
  "freshness-loosened": breaking(
    "Rows may be older than promised",
    "Clients that rely on the promise read rows that are too old.",
  ),
  "freshness-tightened": compatible("Rows are promised to be fresher", "Rows were as fresh or older."),
  "require-fresh-added": compatible("Old rows can be refused", "No call depends on it."),
  "require-fresh-removed": breaking(
    "Old rows can no longer be refused",
    "Calls with `require_fresh` get 400.",
  ),
  "failed-tests-served": breaking(
    "Rows are served while a test of them fails",
    "Clients that rely on the refusal read rows that failed a test.",
  ),
  "failed-tests-refused": warning(
    "Rows are refused while a test of them fails",
    "Calls get 503 while a test fails.",
  ),
  "public-age-raised": warning(
    "Shared caches keep rows longer",
    "Callers without a key can get rows that are older than before.",
  ),
  "public-age-lowered": compatible("Shared caches keep rows for less time", "Rows were as old or older."),
} as const;
