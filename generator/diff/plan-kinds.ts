import { ruleOf } from "../report/finding.js";

const exposing = ruleOf("exposing");
const breaking = ruleOf("breaking");
const compatible = ruleOf("compatible");

/** Kinds of change of the plans of organizations. */
export const PLAN_KINDS = {
  "plan-removed": breaking("Plan removed", "Keys of its organizations open tier0 only."),
  "plan-tier-lowered": breaking(
    "Tier of a plan lowered",
    "Calls of its organizations to endpoints of the higher tier get 403.",
  ),
  "plan-tier-raised": exposing(
    "Tier of a plan raised",
    "Its organizations can read data of a higher tier, as far as their keys allow it.",
  ),
  "plan-limit-lowered": breaking(
    "Requests per minute of a plan lowered",
    "Calls of its organizations above the limit get 429.",
  ),
  "plan-limit-raised": compatible("Requests per minute of a plan raised", "No call depends on it."),
  "plan-paths-removed": breaking("Paths removed from a plan", "Calls of its organizations to them get 403."),
  "plan-paths-added": exposing(
    "Paths added to a plan",
    "Its organizations can read data that they could not read.",
  ),
  "plan-added": compatible("Plan added", "No organization has it yet."),
} as const;
