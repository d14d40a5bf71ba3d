import { described, flag, type Freshness, oneOf, REQUIRE_FRESH, text } from "@routewright/runtime/model";
import { HINT, NOUN } from "../../manifest/schema-errors.js";
import { formatValue } from "../../manifest/strings.js";
import type { RoutewrightContext } from "./context.js";
import { reading, invalid, type Setting } from "./setting.js";
import { isTimezone } from "./time-zones.js";

const SECONDS = { m: 60, h: 3600, d: 86_400 } as const;
const WITHIN_HINT = "Write minutes, hours or days, at most 366 days: `fresh_within: 26h`.";
const BY_HINT = 'Write a time and a time zone: `fresh_by: "06:00 Europe/Vienna"`.';
/** A year. */
const LONGEST = 366 * SECONDS.d;

/** A length of time in seconds, at most 366 days; undefined where it is not such a time. */
export function secondsOf(value: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,5})([mhd])$/.exec(value) ?? [];
  const seconds = Number(count) * SECONDS[(unit ?? "m") as keyof typeof SECONDS];
  return seconds <= LONGEST ? seconds : undefined;
}

/** The oldest age of rows that the team promises. */
export const freshWithin: Setting<string, number | undefined, unknown> = {
  schema: {
    ...described("the age that rows have at most, such as `26h`: a promise to consumers", text),
    [NOUN]: "an age",
    [HINT]: WITHIN_HINT,
  },
  read: (value) => {
    const seconds = value === undefined ? undefined : secondsOf(value);
    const isWrong = value !== undefined && seconds === undefined;
    return reading(
      isWrong ? invalid("fresh_within", `${formatValue(value)} is not an age.`, WITHIN_HINT) : [],
      () => seconds,
    );
  },
};

/** The time of each day by which rows are of that day. */
export const freshBy: Setting<string, string | undefined, unknown> = {
  schema: {
    ...described(
      "the time of day by which rows are of a build of that day, such as `06:00 Europe/Vienna`: a promise to consumers",
      text,
    ),
    [NOUN]: "a time of day",
    [HINT]: BY_HINT,
  },
  read: (value) => {
    const isTime = value === undefined || isTimeOfDay(value);
    return reading(
      isTime
        ? []
        : invalid("fresh_by", `${formatValue(value)} is not a time of day in a time zone.`, BY_HINT),
      () => value,
    );
  },
};

function isTimeOfDay(value: string): boolean {
  const [time = "", zone, ...others] = value.split(" ");
  return /^([01]\d|2[0-3]):[0-5]\d$/.test(time) && isTimezone(zone) && others.length === 0;
}

/** Callers may refuse rows that are older than promised. */
export const requireFresh: Setting<boolean, true | undefined, RoutewrightContext> = {
  schema: {
    ...described("callers may refuse rows that are older than promised: `?require_fresh=true`", flag, false),
    [NOUN]: "a boolean",
    [HINT]: "Write `require_fresh: true`.",
  },
  read: (value = false, context) =>
    reading(value ? requireFreshProblems(context) : [], () => value || undefined),
};

function requireFreshProblems({ routewright, hasLoadBounds, api }: RoutewrightContext) {
  const isPromised = hasLoadBounds || (routewright["fresh_within"] ?? routewright["fresh_by"]) !== undefined;
  if (!isPromised)
    return invalid(REQUIRE_FRESH, "The model does not promise how old its rows may be.", WITHIN_HINT);
  if (api?.parameters.some(({ name }) => name === REQUIRE_FRESH) !== true) return [];
  const message = `A parameter has the name \`${REQUIRE_FRESH}\`, by which callers refuse old rows.`;
  return invalid(REQUIRE_FRESH, message, "Rename the parameter.");
}

/** Whether rows are served while a test of the model fails. */
export const onFailedTest: Setting<"serve" | "refuse", "refuse" | undefined, unknown> = {
  schema: {
    ...described(
      "`refuse`: no rows are served while a test of the model fails",
      oneOf(["serve", "refuse"]),
      "serve",
    ),
    [NOUN]: "what a failed test means",
    [HINT]: "Write `refuse` where no rows are served while a test fails, or `serve`, the default.",
  },
  read: (value) => reading([], () => (value === "refuse" ? value : undefined)),
};

/** The promise; undefined where there is none. */
export function freshnessOf(within: number | undefined, by: string | undefined): Freshness | undefined {
  if (within === undefined && by === undefined) return undefined;
  return { ...(within !== undefined && { within }), ...(by !== undefined && { by }) };
}
