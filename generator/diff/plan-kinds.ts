import { ruleOf } from "../report/finding.js";

const exposing = ruleOf("exposing");
const breaking = ruleOf("breaking");
const warning = ruleOf("warning");
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
  "plan-quota-lowered": breaking(
    "Quota of a plan lowered",
    "Calls of its organizations beyond it get 429 until the next month.",
  ),
  "plan-quota-raised": compatible("Quota of a plan raised", "No call depends on it."),
  "plan-size-lowered": warning(
    "Number of keys or members of a plan lowered",
    "Its organizations keep what they have, and get no more.",
  ),
  "plan-size-raised": compatible("Number of keys or members of a plan raised", "No call depends on it."),
  "plan-price-changed": warning("Price of a plan changed", "Its organizations are to know it."),
  "plan-paths-removed": breaking("Paths removed from a plan", "Calls of its organizations to them get 403."),
  "plan-paths-added": exposing(
    "Paths added to a plan",
    "Its organizations can read data that they could not read.",
  ),
  "plan-added": compatible("Plan added", "No organization has it yet."),
} as const;
