import type { Relation } from "../model/endpoint.js";
import type { HttpError } from "../model/errors.js";
import { type MissingColumn, missingText } from "../model/missing-columns.js";

/** How long a query may wait for a connection. */
export const ACQUIRE_TIMEOUT_MS = 10_000;

const OVERLOADED = {
  queueFull: "The queue for database connections, or the query's share of it, is full.",
  unresponsive: "The database does not respond.",
  timeout: `No database connection became available within ${String(ACQUIRE_TIMEOUT_MS / 1000)} seconds.`,
  noRoom: "There is no room for a page that is larger than a buffered result.",
  refused: "The database refuses further queries for now.",
  memory: "The database has no memory left for the query beside what others use.",
  recovery: "The replica cancels the query again and again, since it conflicts with recovery.",
  closed: "The database connections are closed.",
};

/** A query gets no connection, since more queries arrive than the database can serve. */
export class Overloaded extends Error {
  constructor(reason: keyof typeof OVERLOADED, cause?: unknown) {
    super(OVERLOADED[reason], { cause });
  }
}

/** What a query may use up of the database; `data`: rows and bytes that it reads or returns. */
export type QueryNeed = "time" | "memory" | "disk space" | "data";

/** The database has ended or refused a query that needs more of something than a query may have: its caller has to ask for less. */
export class QueryTooLarge extends Error {
  readonly need: QueryNeed;

  constructor(need: QueryNeed, cause?: unknown) {
    super(`The query needs more ${need} than it may have, and was cancelled.`, { cause });
    this.need = need;
  }
}

/** A query was cancelled because it exceeded its time limit. */
export class QueryTimeout extends QueryTooLarge {
  constructor(cause?: unknown) {
    super("time", cause);
  }
}

/** What a query reads stayed locked until its time limit. */
export class LockTimeout extends Error {
  constructor(cause: unknown) {
    super("What the query reads stayed locked until its time limit.", { cause });
  }
}

/** Whether a query, or what it waits for, took until its time limit. */
export const reachedTimeLimit = (error: unknown): boolean =>
  error instanceof QueryTimeout || error instanceof LockTimeout;

/** A query was cancelled, or not run, because its client has disconnected. */
export class QueryAbandoned extends Error {
  constructor() {
    super("The client has disconnected; its query was cancelled.");
  }
}

/** No server of the database accepts a connection, or one that holds a part of the rows cannot be reached. */
export class DatabaseUnreachable extends Error {
  constructor(cause: unknown) {
    super("The database cannot be reached.", { cause });
  }
}

/** A value is not of the type that its column has by now. */
export class ValueRefused extends Error {
  readonly refusal: HttpError;

  constructor(refusal: HttpError) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

/** What the database reads from for a relation, such as the server of a foreign table, cannot answer; the database itself can. */
export class SourceFailed extends Error {
  constructor(cause: unknown) {
    super("A source from which the database reads cannot answer.", { cause });
  }
}

/** The database has no such relation that a query could read. */
export class RelationMissing extends Error {
  /** Why not, as a sentence, where the relation exists; no build of dbt is under way then. */
  readonly reason: string | null;

  constructor(name: string, reason: string | null = null) {
    super(reason ?? `The relation ${name} does not exist in the database, or has no columns.`);
    this.reason = reason;
  }
}

/** The relation lacks columns that a query needs, or has several that one name may mean. */
export class ColumnMissing extends Error {
  constructor(relation: Relation, missing: readonly MissingColumn[]) {
    super(
      `The relation ${relation.join(".")} lacks columns of its model: ${missing.map(missingText).join(", ")}.`,
    );
  }
}

/** A column has become another one since it was looked up: its statement is made again. */
export class TypeChanged extends Error {
  constructor() {
    super("A value is of another type than was looked up: its column has changed.");
  }
}

/** What an error says of the columns that its statement was made for: they have changed, or may have. */
export type ColumnChange = "certain" | "possible" | "none";

/** A query is not run: it would read more rows than its caller's tier may (`MAX_ROWS_READ`). */
export class TooManyRows extends Error {
  readonly limit: number;

  constructor(limit: number) {
    super(`The query would read more than ${String(limit)} rows.`);
    this.limit = limit;
  }
}

/** A value does not fit the digits that the model declares for its column, so a binary table cannot hold it. */
export class TooManyDigits extends Error {
  readonly column: string;

  constructor(column: string, [precision, scale]: readonly [precision: number, scale: number]) {
    super(
      `A value of the column "${column}" does not fit numeric(${String(precision)},${String(scale)}): correct its data_type.`,
    );
    this.column = column;
  }
}
