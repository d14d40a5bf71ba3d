/** How old rows may be: a promise of the team, of one bound or both (runtime/docs/freshness.md). */
export interface Freshness {
  /** Seconds after their build. */
  readonly within?: number;
  /** From this time of each day on they are of a build of that day: `06:00 Europe/Vienna`. */
  readonly by?: string;
  /** Seconds after their last load from which dbt warns (`warn_after`), in place of the others. */
  readonly warnAfter?: number;
  /** Seconds after their last load (`error_after`). */
  readonly errorAfter?: number;
}

/** What the database is asked for the last load of a model's rows: expressions of the dbt project over its relation. */
export interface LastLoadSql {
  /** An aggregate, such as `max(loaded_at)`. */
  readonly latest: string;
  /** Of the rows that are read; absent: all. */
  readonly filter?: string;
}

const DAY_MS = 86_400_000;

/** Until when rows of a build keep the promise. Times are in milliseconds since 1970. */
export function dueOf({ within, by }: Freshness, builtAt: number): number {
  return Math.min(
    within === undefined ? Infinity : builtAt + within * 1000,
    by === undefined ? Infinity : deadlineAfter(by, builtAt),
  );
}

/** The time of day, on the day after the build. */
function deadlineAfter(by: string, builtAt: number): number {
  const { hours, minutes, zone } = timeOfDay(by);
  const day = Math.floor((builtAt + offsetAt(builtAt, zone)) / DAY_MS) + 1;
  return instantOf(day * DAY_MS + (hours * 60 + minutes) * 60_000, zone);
}

/** `06:00 Europe/Vienna` in its parts; without a zone in UTC. */
function timeOfDay(by: string) {
  const [time = "", zone = "UTC"] = by.split(" ");
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return { hours, minutes, zone };
}

/**
 * The instant of a local time, which is given as if it were in UTC. When clocks go back it is the first of two; a time that they
 * skip is meant with the offset before.
 */
function instantOf(local: number, zone: string): number {
  const offsets = [offsetAt(local - DAY_MS, zone), offsetAt(local + DAY_MS, zone)];
  const instants = offsets.map((offset) => local - offset);
  const real = instants.filter((instant) => instant + offsetAt(instant, zone) === local);
  return real.length > 0 ? Math.min(...real) : Math.max(...instants);
}

/** Bounded by the zones that the promises of a project name. Making one takes 15 times as long as writing a date. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatIn(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const numeric = "numeric";
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone, hourCycle: "h23", year: numeric, month: numeric, day: numeric },
    ...{ hour: numeric, minute: numeric, second: numeric },
  });
  formats.set(timeZone, format);
  return format;
}

/** What a zone's clocks show beyond UTC, in milliseconds. */
function offsetAt(instant: number, timeZone: string): number {
  const second = Math.floor(instant / 1000) * 1000;
  const parts = Object.fromEntries(
    formatIn(timeZone)
      .formatToParts(second)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second: seconds = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, seconds) - second;
}

/** The promise in words: `by 06:00 Europe/Vienna, at most 26 hours old`. */
export function freshnessText({ within, by, warnAfter, errorAfter }: Freshness): string {
  const load = "after their last load";
  return [
    ...(by === undefined ? [] : [`by ${by}`]),
    ...(within === undefined ? [] : [`at most ${durationText(within)} old`]),
    ...(errorAfter === undefined ? [] : [`at most ${durationText(errorAfter)} ${load}`]),
    ...(warnAfter === undefined ? [] : [`with a warning ${durationText(warnAfter)} ${load}`]),
  ].join(", ");
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** In the largest unit that says it in whole numbers; a day or two in hours, as people say. */
function durationText(seconds: number): string {
  const [unit, length] =
    UNITS.find(([name, of]) => seconds % of === 0 && (name !== "day" || seconds > 2 * of)) ?? UNITS[2];
  const count = seconds / length;
  return `${String(count)} ${unit}${count === 1 ? "" : "s"}`;
}
