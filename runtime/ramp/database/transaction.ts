import type { ProjectId } from "./id.js";

/** A row as the driver gives it: `numeric` and `bigint` as text, `timestamptz` as `Date`. */
export type DatabaseRow = Readonly<Record<string, unknown>>;

/** Returned by a transaction's work to roll its writes back: expected, so a value and not an exception. */
export class Rollback<T> {
  readonly value: T;

  constructor(value: T) {
    this.value = value;
  }
}

/** A row that the transaction required is missing: it is rolled back. */
export class PreconditionFailed extends Error {
  constructor() {
    super("A required row is missing: the transaction was rolled back.");
  }
}

/** Classes of SQLSTATE that are about what is written: data, constraints, the ramp's own guards (`RW…`). */
const REFUSED_CLASSES: ReadonlySet<string> = new Set(["22", "23", "RW"]);

/**
 * By which error code, and which constraint, the database refuses what was written, as it would each time; null: another error,
 * such as a lost connection. Its message can hold values.
 */
export function refusedWrite(error: unknown): string | null {
  const { code, constraint } = error as { readonly code?: unknown; readonly constraint?: unknown };
  if (typeof code !== "string" || !/^[0-9A-Z]{5}$/.test(code) || !REFUSED_CLASSES.has(code.slice(0, 2)))
    return null;
  return typeof constraint === "string" ? `${code} ${constraint}` : code;
}

/**
 * Condition on the driving table of every statement of a project. Row-level security alone gives the right rows, but reads the
 * indexes of all projects: its policies are joined with OR.
 */
export const OF_PROJECT = "project_id = ramp.current_project()";

/** `OF_PROJECT` for a table with an alias. */
export function ofProject(alias: string): string {
  return `${alias}.${OF_PROJECT}`;
}

/** A statement that finds a row where something holds. */
export interface RequiredRow {
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface DbTransaction {
  /** The database's time at the start of the transaction (database/clock.ts). */
  readonly now: Date;
  /** Runs one statement; values go in as bind parameters only. */
  rows<R extends object = DatabaseRow>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** The only row, or null. */
  row<R extends object = DatabaseRow>(text: string, values?: readonly unknown[]): Promise<R | null>;
  /** Sends a statement without waiting for its result. When it fails, so does the transaction. */
  write(text: string, values?: readonly unknown[]): void;
  /** The same, ahead of a row's change that later ones can still join (`update`): statements that do not read that row. */
  readonly ahead: Pick<DbTransaction, "row" | "write">;
  /** Sends the insertion of a row in the same way: `createdAt` goes into the column `created_at`. */
  insert(table: string, row: DatabaseRow): void;
  /**
   * Sends new values of columns of the project's row, in the same way. It joins the statement before it where that inserts or updates the
   * same row: each statement on a row that the transaction wrote checks its foreign keys and its other constraints and writes its indexes
   * again, 165 µs of the database for an intent. Moves of a status are each checked (`guard_status`).
   * @param row its id, or other columns that name it
   */
  update(table: string, row: string | DatabaseRow, columns: DatabaseRow): void;
  /**
   * Sends a statement that has to return a row, and does not wait for it: without one the transaction fails with `PreconditionFailed`, or
   * with what `failure` makes, and no statement after it takes effect.
   */
  requireRow(text: string, values?: readonly unknown[], failure?: () => PreconditionFailed): void;
  /**
   * Gives an item to what writes all of its items right before the commit: a lock that it takes, which all transactions of a project wait for,
   * is held for the shortest time.
   */
  beforeCommit<T>(write: WriteCollected<T>, item: T): void;
  /** Ends the time limits of the statements after it, in the database and here. */
  unlimit(): void;
}

export type WriteCollected<T> = (tx: DbTransaction, items: readonly T[]) => void;

declare const scope: unique symbol;

/** A transaction that sees and writes the rows of one project and no others. */
export interface ProjectTransaction extends DbTransaction {
  readonly [scope]: "project";
  readonly projectId: ProjectId;
}

/** A transaction across projects: set-up, sign-in, sweeps. */
export interface OperatorTransaction extends DbTransaction {
  readonly [scope]: "operator";
}

/** A new value of a column that depends on other rows and columns, as SQL around the place of a bind parameter, if it has one. */
export class ComputedValue {
  readonly sql: (place: string) => string;
  readonly parameter: unknown;

  constructor(sql: (place: string) => string, parameter?: unknown) {
    this.sql = sql;
    this.parameter = parameter;
  }
}
