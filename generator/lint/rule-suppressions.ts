import { applySuppressions, holdsOn, type Suppressed, type Suppression } from "../report/suppressions.js";
import { isDate } from "@routewright/runtime/model";
import { isObject, member, objectOr } from "../manifest/json.js";
import { metasOf } from "../manifest/node-meta.js";
import { closest, list, sentence } from "../manifest/strings.js";
import { CHECK_IDS, type CheckId, isCheckId, type LintViolation, type RuleId, violation } from "./checks.js";
import type { Node } from "./dbt-graph.js";

/** A rule that a model suppresses, and why. */
export interface RuleSuppression extends Suppression {
  readonly rule: CheckId;
  /** Where in the model's node, as a JSON path. */
  readonly path: string;
}

/**
 * Reads `meta.routewright.lint`, rule → reason or `{reason, expires}`, and what is wrong with it. `config.meta` wins over
 * `meta`, as for `meta.api`. `today` is `YYYY-MM-DD`: a suppression holds through its last day.
 */
export function suppressionsOf({ json }: Node, today: string): readonly (RuleSuppression | LintViolation)[] {
  const settings = metasOf(json).map((meta) => ({
    path: `${meta.path}.routewright.lint`,
    value: objectOr(meta.value["routewright"])["lint"],
  }));
  const { value, path } = settings.find(({ value }) => value !== undefined) ?? { value: {}, path: "" };
  if (!isObject(value))
    return violation(
      path,
      "`meta.routewright.lint` is not an object: no rule is suppressed.",
      "Write an object: rule id → reason.",
    );
  return Object.entries(value).flatMap(([rule, given]) => {
    const at = path + member(rule);
    return isCheckId(rule) ? readOne({ rule, path: at }, given, today) : unknownRule(rule, at);
  });
}

function unknownRule(rule: string, path: string): readonly LintViolation[] {
  const near = closest(rule, CHECK_IDS);
  const hint = near ? sentence`Did you mean ${near}?` : sentence`Use one of ${list(CHECK_IDS)}.`;
  return violation(path, sentence`Unknown rule ${rule}.`, hint);
}

function readOne(
  subject: Pick<RuleSuppression, "rule" | "path">,
  given: unknown,
  today: string,
): readonly (RuleSuppression | LintViolation)[] {
  const { rule, path } = subject;
  const { reason, expires, ...others } = isObject(given) ? given : { reason: given };
  if (typeof reason !== "string" || reason.trim() === "")
    return violation(
      path,
      sentence`The suppression of ${rule} has no reason, so the rule stays on.`,
      "Write the reason as its value, so that a later reader can tell whether it still holds.",
    );
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    return violation(
      path,
      sentence`The suppression of ${rule} has the unknown key ${unknown}, so the rule stays on.`,
      "Write `reason` and, where it holds for a time only, `expires`.",
    );
  if (expires === undefined) return [{ ...subject, reason: reason.trim(), expires: null }];
  // dbt writes a YAML date as a date or as a time.
  const lastDay = typeof expires === "string" ? expires.slice(0, 10) : "";
  if (!isDate(lastDay))
    return violation(
      path,
      sentence`The suppression of ${rule} has no valid last day in \`expires\`, so the rule stays on.`,
      'Write a day as "YYYY-MM-DD", or leave `expires` out.',
    );
  if (holdsOn(today, lastDay)) return [{ ...subject, reason: reason.trim(), expires: lastDay }];
  return violation(
    path,
    sentence`The suppression of ${rule} expired on ${lastDay}, so the rule is on again.`,
    "Fix the finding, or give a later day and say why.",
  );
}

/** The findings of a model by its suppressions: each means all findings of its rule. */
export function applyRuleSuppressions<Each extends { readonly rule: RuleId }>(
  found: readonly Each[],
  suppressions: readonly RuleSuppression[],
  today: string,
): Suppressed<Each, RuleSuppression> {
  return applySuppressions<Each, RuleSuppression>(found, suppressions, ({ rule }) => rule, today);
}

/** A suppression and whether its rule found anything in its model. */
export interface SuppressionUse extends RuleSuppression {
  readonly isUsed: boolean;
}

/**
 * Suppressions of active rules that hide nothing, each named once. dbt's `+meta` gives all models of a folder one
 * suppression: it is used where it hides a finding in any of them.
 */
export function unusedSuppressions<Each extends SuppressionUse>(
  all: readonly Each[],
  active: readonly CheckId[],
): readonly Each[] {
  const keyOf = ({ rule, reason }: Each): string => JSON.stringify([rule, reason]);
  const used = new Set(all.filter(({ isUsed }) => isUsed).map(keyOf));
  const first = new Map(all.toReversed().map((one) => [keyOf(one), one]));
  return [...first]
    .filter(([key, { rule }]) => !used.has(key) && active.includes(rule))
    .map(([, one]) => one);
}

export function unusedViolation({ rule, path }: RuleSuppression): readonly LintViolation[] {
  return violation(
    path,
    sentence`The suppression of ${rule} is unused: the rule finds nothing here, and the next finding would be hidden.`,
    "Delete it.",
  );
}
