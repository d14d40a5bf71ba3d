import { Overloaded } from "../fair-queue.js";
import { DatabaseUnreachable, QueryTimeout } from "../warehouse.js";

/** An error that ClickHouse reports. Its message holds SQL and the server's version: it is for the log only. */
export class ClickhouseError extends Error {
  /** https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp */
  readonly code: number;

  constructor(text: string, code = Number(/Code: (\d+)/.exec(text)?.[1] ?? 0)) {
    super(text.trim());
    this.code = code;
  }
}

/** Errors of a server that runs as many queries as it may, or whose quota for the role is used up. */
const REFUSALS: ReadonlySet<number> = new Set([
  201, // QUOTA_EXCEEDED
  202, // TOO_MANY_SIMULTANEOUS_QUERIES
]);

const TIMEOUTS: ReadonlySet<number> = new Set([
  159, // TIMEOUT_EXCEEDED
  160, // TOO_SLOW
]);

/** Errors of a server that cannot reach the one with a part of the rows. */
const DEAD_SHARDS: ReadonlySet<number> = new Set([
  209, // SOCKET_TIMEOUT
  210, // NETWORK_ERROR
  279, // ALL_CONNECTION_TRIES_FAILED
]);

/** Errors of the system or of TLS for a connection that cannot be made, or is lost. */
const CONNECTION_FAILURE = /^(E[A-Z]+|ERR_(TLS|SSL)_\w+|CERT_\w+|\w*SELF_SIGNED\w*|UNABLE_TO_\w+)$/;

/** A server that leaves a ping unanswered: it is frozen, or cannot be reached. */
export class ServerUnresponsive extends Error {
  constructor() {
    super("The ClickHouse server does not respond.");
  }
}

/** Statuses of a proxy whose server does not respond. */
export const GATEWAY_STATUSES: ReadonlySet<number | undefined> = new Set([502, 503, 504]);

/** A proxy could not reach the server. */
export class GatewayError extends Error {}

export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof ServerUnresponsive || error instanceof GatewayError) return true;
  const { code = "" } = error as NodeJS.ErrnoException;
  return typeof code === "string" && CONNECTION_FAILURE.test(code);
}

const isOneOf = (codes: ReadonlySet<number>, error: unknown): boolean =>
  error instanceof ClickhouseError && codes.has(error.code);

/** Whether the database refused a statement: its relation or columns may have changed since it was built. */
export const mayHaveChanged = (error: unknown): boolean =>
  error instanceof ClickhouseError && translated(error) === error;
/** TOO_MANY_ROWS */
export const isTooManyRows = (error: unknown): boolean =>
  isOneOf(new Set([158]), error) && /\bto read\b|max_rows_to_read/.test((error as Error).message);

/** UNKNOWN_TABLE, UNKNOWN_DATABASE */
export const isRelationUnknown = (error: unknown): boolean => isOneOf(new Set([60, 81]), error);

/** The error as every engine reports it; others are as they were. */
export function translated(error: unknown): Error {
  if (isOneOf(REFUSALS, error)) return new Overloaded("refused");
  if (isOneOf(TIMEOUTS, error)) return new QueryTimeout(error);
  if (isOneOf(DEAD_SHARDS, error) || isConnectionFailure(error)) return new DatabaseUnreachable(error);
  return error as Error;
}
