import {
  type ColumnChange,
  DatabaseUnreachable,
  Overloaded,
  type QueryNeed,
  QueryTimeout,
  QueryTooLarge,
  SourceFailed,
} from "../core/warehouse/query-errors.js";
import { COLUMNS_CHANGED } from "./type-proof.js";

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

/** Other limits of a query, of the role's profile or of a shard. */
const TOO_LARGE: ReadonlyMap<number, QueryNeed> = new Map([
  [158, "data"], // TOO_MANY_ROWS
  [191, "memory"], // SET_SIZE_LIMIT_EXCEEDED: of a join, IN or DISTINCT
  [307, "data"], // TOO_MANY_BYTES
  [396, "data"], // TOO_MANY_ROWS_OR_BYTES
]);

/** MEMORY_LIMIT_EXCEEDED */
const MEMORY = new Set([241]);

/**
 * In front of the statement: the limit of the query, here or on a shard, in the words of different versions. Others are of the user,
 * whose queries share it, or of the server (`total`).
 */
const OWN_MEMORY =
  /^Code: 241\. DB::\w+: (?:Received from \S+\. DB::\w+: )*(?:Query memory limit|\(for query\) memory limit|Memory limit \(for query\)) /;

/**
 * Errors about what ClickHouse reads from. The server itself has answered with them over HTTP, so a lost connection is never the
 * one to it.
 */
const OTHERS_FAILURES: ReadonlySet<number> = new Set([
  86, // RECEIVED_ERROR_FROM_REMOTE_IO_SERVER
  95, // CANNOT_READ_FROM_SOCKET
  198, // DNS_ERROR
  209, // SOCKET_TIMEOUT
  210, // NETWORK_ERROR
  279, // ALL_CONNECTION_TRIES_FAILED
  293, // MONGODB_CANNOT_AUTHENTICATE
  297, // SHARD_HAS_NO_CONNECTIONS
  410, // EXTERNAL_SERVER_IS_NOT_RESPONDING
  484, // INTERNAL_REDIS_ERROR
  499, // S3_ERROR
  500, // AZURE_BLOB_STORAGE_ERROR
  510, // CACHE_DICTIONARY_UPDATE_FAIL
  519, // NO_REMOTE_SHARD_AVAILABLE
  528, // CASSANDRA_INTERNAL_ERROR
  614, // POSTGRESQL_CONNECTION_FAILURE
  634, // MONGODB_ERROR
  660, // HDFS_ERROR
  693, // AWS_ERROR
  736, // DATALAKE_DATABASE_ERROR
  742, // DELTA_KERNEL_ERROR
  751, // ARROWFLIGHT_CONNECTION_FAILURE
  904, // TOO_MANY_UNAVAILABLE_SHARDS
  999, // KEEPER_EXCEPTION
]);

/**
 * The same in the words of libraries, which have no codes of their own (POCO_EXCEPTION, STD_EXCEPTION), and what another server of
 * ClickHouse has reported, whose code says what failed there.
 */
const OTHERS_WORDS = [
  /^Poco::Exception\. Code: 1000, e\.code\(\) = (?:[1-9]|\d+, (?:Timeout|Connection |Host not found|No address found|No message received|Net Exception|SSL |Certificate |HTTP Exception|mysqlxx::))/,
  /^std::exception\. Code: 1001, type: (?:pqxx|mongocxx|bsoncxx|nanodbc)::/,
  /^Code: \d+\. DB::\w+: Received from \S+:\d+\. /,
];

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

/** CANNOT_PARSE_TEXT */
const UNREADABLE = new Set([6]);

/** In front of the statement, which messages repeat. */
const PROOF_FAILURE = new RegExp(`^[^(]*Cannot parse string '${COLUMNS_CHANGED}'`);

/** What a statement that was refused says of the relation and columns that it was built for. */
export function changeIn(error: unknown): ColumnChange {
  if (!(error instanceof ClickhouseError) || translated(error) !== error) return "none";
  return isOneOf(UNREADABLE, error) && PROOF_FAILURE.test(error.message) ? "certain" : "possible";
}

/** Whether something that the database reads from failed: another server, a table function, a dictionary. */
const isSourceFailure = (error: unknown): boolean =>
  error instanceof ClickhouseError &&
  (OTHERS_FAILURES.has(error.code) || OTHERS_WORDS.some((words) => words.test(error.message)));

/** Whether TOO_MANY_ROWS, which other limits report too, is about the rows to read. */
export const isTooManyRows = ({ cause }: Error): boolean =>
  isOneOf(new Set([158]), cause) && /\bto read\b|max_rows_to_read/.test((cause as Error).message);

/** UNKNOWN_TABLE, UNKNOWN_DATABASE */
export const isRelationUnknown = (error: unknown): boolean =>
  isOneOf(new Set([60, 81]), error) && !isSourceFailure(error);

/** What a query needs more of than it may have; undefined where it failed otherwise. */
function needIn(error: unknown): QueryNeed | undefined {
  if (!(error instanceof ClickhouseError)) return undefined;
  return OWN_MEMORY.test(error.message) ? "memory" : TOO_LARGE.get(error.code);
}

/** The error as every engine reports it; others are as they were. A limit that the query met on a shard is the query's. */
export function translated(error: unknown): Error {
  if (isOneOf(TIMEOUTS, error)) return new QueryTimeout(error);
  const need = needIn(error);
  if (need !== undefined) return new QueryTooLarge(need, error);
  if (isOneOf(MEMORY, error)) return new Overloaded("memory", error);
  if (isSourceFailure(error)) return new SourceFailed(error);
  if (isOneOf(REFUSALS, error)) return new Overloaded("refused");
  return isConnectionFailure(error) ? new DatabaseUnreachable(error) : (error as Error);
}
