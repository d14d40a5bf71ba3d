import { ruleOf, warning } from "../report/finding.js";

const breaking = ruleOf("breaking");
const compatible = ruleOf("compatible");

/** Kinds of change of when and how an endpoint ends. */
export const DEPRECATION_KINDS = {
  "endpoint-deprecated": warning("Endpoint deprecated", "Consumers have to move before the sunset."),
  "sunset-too-soon": breaking(
    "Sunset without enough notice",
    "Consumers get fewer days than `minimumNoticeDays`.",
  ),
  "sunset-brought-forward": warning("Sunset brought forward", "Consumers have less time, though enough."),
  "sunset-put-off": compatible("Sunset put off", "Consumers have more time."),
  "gone-announced": warning("End announced", "Calls get 410 from that time on."),
  "gone-too-soon": breaking(
    "End without enough notice",
    "Calls get 410 in fewer days than `minimumNoticeDays`.",
  ),
  "gone-put-off": compatible("End put off", "Calls are answered longer."),
  "version-changed": warning(
    "Another version",
    "Calls of the path without a version get the rows of another one.",
  ),
  "deprecation-lifted": warning("No longer deprecated", "Consumers may be moving away for nothing."),
  "successor-changed": compatible("Successor changed", "Only the `Link` header differs."),
} as const;
