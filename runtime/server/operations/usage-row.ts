/** Requests of one key to one route on one day. */
export interface UsageRow {
  /** In UTC, as `2026-01-31`. */
  readonly day: string;
  /** Id of the key; `none` without one. */
  readonly key: string;
  /** The endpoint's path; `none` for other paths. */
  readonly route: string;
  /** Empty without a key, as `org` is. */
  readonly user: string;
  readonly org: string;
  readonly tier: string;
  requests: number;
  /** Responses with status 401, 403 or 429. */
  refused: number;
  /** Responses with any other status from 400 up. */
  errors: number;
  rows: number;
  /** Bytes of the response bodies. */
  bytes: number;
  /** In milliseconds since 1970. */
  lastSeen: number;
  /** Requests by the name of a parameter, and of a chosen column as `fields=<column>`. */
  readonly parameters: Map<string, number>;
  /** Requests that succeeded by their shape. */
  shapes?: ShapeCount[];
}

export interface ShapeCount {
  readonly name: string;
  requests: number;
}

/**
 * The row that says that requests of a day were recorded: of no key and no route. Its requests are those whose counts were
 * lost.
 */
export function recordedDay(day: string, lost = 0): UsageRow {
  const sums = { requests: lost, refused: 0, errors: 0, rows: 0, bytes: 0 };
  return {
    day,
    key: "",
    route: "",
    user: "",
    org: "",
    tier: "",
    ...sums,
    lastSeen: 0,
    parameters: new Map(),
  };
}
