import type { Writable } from "node:stream";
import type pg from "pg";
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

/**
 * Condition on the driving table of every statement of a project. Row-level security alone gives the right rows, but reads the
 * indexes of all projects: its policies are joined with OR.
 */
export const OF_PROJECT = "project_id = ramp.current_project()";

/** `OF_PROJECT` for a table with an alias. */
export function ofProject(alias: string): string {
  return `${alias}.${OF_PROJECT}`;
}

/** SQLSTATE that `ramp.require_row` raises. */
const PRECONDITION_FAILED = "RW003";

export interface DbTransaction {
  /** The database's time at the start of the transaction (database/clock.ts). */
  readonly now: Date;
  /** Runs one statement; values go in as bind parameters only. */
  rows<R extends object = DatabaseRow>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** The only row, or null. */
  row<R extends object = DatabaseRow>(text: string, values?: readonly unknown[]): Promise<R | null>;
  /** Sends a statement without waiting for its result. When it fails, so does the transaction. */
  write(text: string, values?: readonly unknown[]): void;
  /** Sends the insertion of a row in the same way: `createdAt` goes into the column `created_at`. */
  insert(table: string, row: DatabaseRow): void;
  /**
   * Sends new values of columns of the project's row with an id, in the same way. Changes of one row that follow each other are one
   * statement, unless they change a column twice: each statement checks the row's foreign keys and writes its indexes again.
   */
  update(table: string, id: string, columns: DatabaseRow): void;
  /**
   * Sends a statement that has to return a row, and does not wait for it: without one the transaction fails with `PreconditionFailed`,
   * and no statement after it takes effect.
   */
  requireRow(text: string, values?: readonly unknown[]): void;
  /**
   * Gives an item to what writes all of its items right before the commit: a lock that it takes, which all transactions of a project wait for,
   * is held for the shortest time.
   */
  beforeCommit<T>(write: WriteCollected<T>, item: T): void;
}

type WriteCollected<T> = (tx: DbTransaction, items: readonly T[]) => void;

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

/** A new value of a column that depends on the row, as SQL around the place of a bind parameter. */
export class ComputedValue {
  readonly sql: (place: string) => string;
  readonly parameter: unknown;

  constructor(sql: (place: string) => string, parameter: unknown) {
    this.sql = sql;
    this.parameter = parameter;
  }
}

/** A change of a row that is not sent yet. */
interface RowChange {
  readonly table: string;
  readonly id: string;
  readonly columns: DatabaseRow;
}

/** One transaction on its connection. */
export class DbSession {
  readonly #client: pg.PoolClient;
  readonly #stream: Writable;
  readonly #collected = new Map<WriteCollected<never>, unknown[]>();
  #change: RowChange | null = null;
  /** The first failure; later statements fail because of it. */
  failure: Error | undefined;

  constructor(client: pg.PoolClient) {
    this.#client = client;
    this.#stream = streamOf(client);
  }

  send<R extends object>(text: string, values?: readonly unknown[]): Promise<pg.QueryResult<R>> {
    this.#sendChange();
    return this.#send(text, values);
  }

  #send<R extends object>(text: string, values?: readonly unknown[]): Promise<pg.QueryResult<R>> {
    sendTogether(this.#stream);
    const prepared = values && { name: statementName(text), values: [...values] };
    const result = this.#client.query<R>({ text, ...prepared });
    result.catch((error: unknown) => {
      const { code } = error as pg.DatabaseError;
      this.failure ??= code === PRECONDITION_FAILED ? new PreconditionFailed() : (error as Error);
    });
    return result;
  }

  /** COMMIT of a failed transaction rolls back; only its command tag shows that. */
  async commit(tx?: DbTransaction): Promise<void> {
    if (tx) for (const [write, items] of this.#collected) write(tx, items as never);
    const { command } = await this.send("COMMIT");
    if (this.failure !== undefined) throw this.failure;
    if (command !== "COMMIT") throw new Error("The transaction was rolled back.");
  }

  #update(next: RowChange): void {
    const { table, id, columns } = next;
    const last = this.#change;
    const goesOn =
      last?.table === table &&
      last.id === id &&
      Object.keys(columns).every((name) => !(name in last.columns));
    if (!goesOn) this.#sendChange();
    this.#change = goesOn ? { table, id, columns: { ...last.columns, ...columns } } : next;
  }

  #sendChange(): void {
    if (this.#change === null) return;
    const { table, id, columns } = this.#change;
    this.#change = null;
    const values: unknown[] = [id];
    const changes = Object.entries(columns).map(([name, value]) => {
      const isComputed = value instanceof ComputedValue;
      const place = `$${String(values.push(isComputed ? value.parameter : value))}`;
      return `${columnOf(name)} = ${isComputed ? value.sql(place) : place}`;
    });
    void this.#send(`UPDATE ramp.${table} SET ${changes.join(", ")} WHERE ${OF_PROJECT} AND id = $1`, values);
  }

  /** Rolls back. Rejects with `PreconditionFailed` if a required row was missing. */
  async rollback(): Promise<void> {
    this.#change = null;
    await this.send("ROLLBACK");
    if (this.failure instanceof PreconditionFailed) throw this.failure;
  }

  readonly transactionAt = (now: Date): DbTransaction => ({
    now,
    rows: async <R extends object>(text: string, values: readonly unknown[] = []) =>
      (await this.send<R>(text, values)).rows,
    row: async <R extends object>(text: string, values: readonly unknown[] = []) =>
      (await this.send<R>(text, values)).rows[0] ?? null,
    write: (text, values = []) => void this.send(text, values),
    insert: (table, row) => {
      const names = Object.keys(row).map(columnOf);
      const places = names.map((_name, at) => `$${String(at + 1)}`);
      const text = `INSERT INTO ramp.${table} (${names.join(", ")}) VALUES (${places.join(", ")})`;
      void this.send(text, Object.values(row));
    },
    update: (table, id, columns) => this.#update({ table, id, columns }),
    beforeCommit: (write, item) => {
      const items = this.#collected.get(write) ?? [];
      this.#collected.set(write, [...items, item]);
    },
    requireRow: (text, values = []) =>
      void this.send(`WITH found AS (${text}) SELECT ramp.require_row(count(*) > 0) FROM found`, values),
  });
}

/**
 * What is written in this turn leaves in one write. A keyed intent has 25 statements, most of which wait for no other: written one by
 * one they took 35 % of its processor time in Node.
 */
function sendTogether(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** pg's own property, which its declared type omits. */
function streamOf(client: pg.PoolClient): Writable {
  return (client as unknown as { readonly connection: pg.Connection }).connection.stream;
}

/** The column of a property: `createdAt` is `created_at`. */
export function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Names of prepared statements, by text: a named statement is parsed once per connection. All texts are constants of the code. */
const statementNames = new Map<string, string>();

function statementName(text: string): string {
  const name = statementNames.get(text) ?? `rw${String(statementNames.size)}`;
  statementNames.set(text, name);
  return name;
}
