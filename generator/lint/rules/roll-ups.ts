import {
  type Aggregate,
  compareGrains,
  type Grain,
  leavesOf,
  needsSpine,
  type RollUp,
  withoutMetricTime,
} from "@routewright/runtime/model";
import type { Model } from "../../manifest/model.js";
import { list, sentence } from "../../manifest/strings.js";
import { type Check, type CheckId, type LintContext, type LintViolation, violation } from "../checks.js";

const AT = "$.meta.routewright.rollup_of";

/** Rules about roll-ups, whether or not their models are served. */
export const rollUpRules = {
  /** A roll-up that answers nothing. */
  "unused-roll-up": ({ model }, context) => unusedRollUp(model, context),
} satisfies Partial<Record<CheckId, Check>>;

export function unusedRollUp(
  { uniqueId, routewright }: Model,
  { warnings, endpoints }: LintContext,
): readonly LintViolation[] {
  const written = routewright["rollup_of"];
  if (written === undefined || written === null) return [];
  const problems = warnings.filter(({ model, isUnusedRollUp }) => model === uniqueId && isUnusedRollUp);
  if (problems.length > 0)
    return problems.flatMap(({ path, message, hint }) =>
      violation(path, sentence`${message}`, sentence`${hint}`),
    );
  const readers = endpoints.flatMap(({ path, aggregate }) => {
    const own = aggregate?.rollUps?.find(({ node }) => node === uniqueId);
    return own === undefined || aggregate === undefined ? [] : [{ path, aggregate, own }];
  });
  if (readers.length === 0)
    return violation(
      AT,
      "No metric that is served reads its measures.",
      "Serve one, or leave the setting out.",
    );
  if (readers.some(({ aggregate, own }) => canAnswer(aggregate, own))) return [];
  return violation(
    AT,
    sentence`It lacks groups that every request needs, or has longer periods: ${list(readers.map(({ path }) => path))}.`,
    "Group by them too, or by shorter periods.",
  );
}

/** Whether it has the groups that a saved query fixes, and the periods that metrics over time read. */
function canAnswer(aggregate: Aggregate, rollUp: RollUp): boolean {
  const { saved, measures } = aggregate;
  return measures.some(({ metric }) =>
    leavesOf(metric)
      .filter(({ fact }) => fact === rollUp.of)
      .some(({ time }) => {
        const fixed = (saved?.groups ?? []).map(({ name, grain }) => ({ name, grain }));
        const ofPeriods = needsSpine(metric) && time !== undefined ? [{ name: time, grain: undefined }] : [];
        return [...fixed, ...ofPeriods].every((group) => hasGroup(aggregate, rollUp, group, time));
      }),
  );
}

interface Group {
  readonly name: string;
  /** Without one the finest that the time has. */
  readonly grain?: Grain | undefined;
}

/** What is joined is taken for there. */
function hasGroup(
  { dimensions }: Aggregate,
  { of, groups }: RollUp,
  { name, grain }: Group,
  time: string | undefined,
): boolean {
  const dimension = dimensions.find((each) => each.name === withoutMetricTime(name, time));
  const place = dimension?.places.find(({ fact }) => fact === of);
  if (dimension === undefined || place === undefined || place.join !== undefined) return true;
  const own = groups.find(({ value }) => value === place.value);
  const asked = grain ?? dimension.grain;
  if (own === undefined) return false;
  return own.grain === undefined || asked === undefined || compareGrains(own.grain, asked) <= 0;
}
