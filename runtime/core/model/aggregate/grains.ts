/** Units of time to which a time is truncated, from fine to coarse. */
export const GRAINS = [
  "microsecond",
  "millisecond",
  "second",
  "minute",
  "hour",
  "day",
  "week",
  "month",
  "quarter",
  "year",
] as const;
export type Grain = (typeof GRAINS)[number];

export function isGrain(text: string): text is Grain {
  return (GRAINS as readonly string[]).includes(text);
}

/** Negative where `a` is finer than `b`. */
export function compareGrains(a: Grain, b: Grain): number {
  return GRAINS.indexOf(a) - GRAINS.indexOf(b);
}

/** Whether values of the grain are days: first days of the period. Those of finer grains are times in UTC. */
export function isDayGrain(grain: Grain): boolean {
  return compareGrains(grain, "day") >= 0;
}

/** Parts of a date, as numbers; of `dow` Monday is 1. */
export const DATE_PARTS = ["year", "quarter", "month", "day", "dow", "doy"] as const;
export type DatePart = (typeof DATE_PARTS)[number];

/** A number of periods. */
export interface Period {
  readonly count: number;
  readonly grain: Grain;
}
