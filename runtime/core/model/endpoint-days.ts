/** How far back `/status` looks. */
export const HISTORY_DAYS = 90;

/** What an endpoint can be on a day: several of them too. */
export const DAY_STATES = ["fresh", "late", "failed"] as const;
export type DayState = (typeof DAY_STATES)[number];

/** A day of an endpoint: it was each of these at least once. */
export type EndpointDay = Readonly<Record<DayState, boolean>> & {
  /** In UTC, as `2026-01-31`. */
  readonly day: string;
};

/** Days of endpoints by path, the last first. */
export type DaysByPath = ReadonlyMap<string, readonly EndpointDay[]>;
