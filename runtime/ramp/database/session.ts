import type { Writable } from "node:stream";
import type pg from "pg";
import {
  ComputedValue,
  type DatabaseRow,
  type DbTransaction,
  OF_PROJECT,
  PreconditionFailed,
  type WriteCollected,
} from "./transaction.js";

/** SQLSTATE that `ramp.require_row` raises. */
const PRECONDITION_FAILED = "RW003";

/** A change of a row that is not sent yet. */
interface RowChange {
  readonly kind: "insert" | "update";
  readonly table: string;
  readonly id: unknown;
  readonly columns: DatabaseRow;
}

function isJoined(last: RowChange | null, { kind, table, id, columns }: RowChange): last is RowChange {
  const isSameRow = last !== null && kind === "update" && last.table === table && last.id === id;
  return isSameRow && Object.keys(columns).every((name) => !(name in last.columns));
}

/** The statement of a change, and its values. */
function statementOf({ kind, table, id, columns }: RowChange): readonly [text: string, values: unknown[]] {
  const values: unknown[] = kind === "insert" ? [] : [id];
  const names = Object.keys(columns).map(columnOf);
  const given = Object.values(columns).map((value) => {
    const isComputed = value instanceof ComputedValue;
    if (isComputed && value.parameter === undefined) return value.sql("");
    const place = `$${String(values.push(isComputed ? value.parameter : value))}`;
    return isComputed ? value.sql(place) : place;
  });
  if (kind === "insert")
    return [`INSERT INTO ramp.${table} (${names.join(", ")}) VALUES (${given.join(", ")})`, values];
  const changes = names.map((name, at) => `${name} = ${given[at] ?? ""}`);
  return [`UPDATE ramp.${table} SET ${changes.join(", ")} WHERE ${OF_PROJECT} AND id = $1`, values];
}

/** One transaction on its connection. */
export class DbSession {
  readonly #client: pg.PoolClient;
  readonly #stream: Writable;
  /** Bounded by the writes of one transaction. */
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

  /** Sends a condition without waiting for it: where it is false the transaction fails with `failure`, and no statement after it takes effect. */
  require(condition: string, values: readonly unknown[], failure: () => Error): void {
    this.send(`SELECT ramp.require_row(${condition})`, values).catch(() => {
      if (this.failure instanceof PreconditionFailed) this.failure = failure();
    });
  }

  /** COMMIT of a failed transaction rolls back; only its command tag shows that. */
  async commit(tx?: DbTransaction): Promise<void> {
    if (tx) for (const [write, items] of this.#collected) write(tx, items as never);
    const { command } = await this.send("COMMIT");
    if (this.failure !== undefined) throw this.failure;
    if (command !== "COMMIT") throw new Error("The transaction was rolled back.");
  }

  #changeRow(next: RowChange): void {
    const last = this.#change;
    if (isJoined(last, next)) this.#change = { ...last, columns: { ...last.columns, ...next.columns } };
    else {
      this.#sendChange();
      this.#change = next;
    }
  }

  #sendChange(): void {
    if (this.#change === null) return;
    const [text, values] = statementOf(this.#change);
    this.#change = null;
    void this.#send(text, values);
  }

  /** Rolls back. Rejects with `PreconditionFailed` if a required row was missing. */
  async rollback(): Promise<void> {
    this.#change = null;
    await this.send("ROLLBACK");
    if (this.failure instanceof PreconditionFailed) throw this.failure;
  }

  transactionAt(now: Date): DbTransaction {
    return {
      now,
      ...statementsBy((text, values) => this.send(text, values)),
      ahead: statementsBy((text, values) => this.#send(text, values)),
      insert: (table, row) => this.#changeRow({ kind: "insert", table, id: row["id"], columns: row }),
      update: (table, id, columns) => this.#changeRow({ kind: "update", table, id, columns }),
      beforeCommit: (write, item) => {
        const items = this.#collected.get(write) ?? [];
        this.#collected.set(write, [...items, item]);
      },
      requireRow: (text, values = []) =>
        void this.send(`WITH found AS (${text}) SELECT ramp.require_row(count(*) > 0) FROM found`, values),
    };
  }
}

type SendStatement = DbSession["send"];

function statementsBy(send: SendStatement): Pick<DbTransaction, "rows" | "row" | "write"> {
  return {
    rows: async <R extends object>(text: string, values: readonly unknown[] = []) =>
      (await send<R>(text, values)).rows,
    row: async <R extends object>(text: string, values: readonly unknown[] = []) =>
      (await send<R>(text, values)).rows[0] ?? null,
    write: (text, values = []) => void send(text, values),
  };
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

/** Names of prepared statements, by text: a named statement is parsed once per connection. All texts are constants of the code. Bounded by the texts of the code. */
const statementNames = new Map<string, string>();

function statementName(text: string): string {
  const name = statementNames.get(text) ?? `rw${String(statementNames.size)}`;
  statementNames.set(text, name);
  return name;
}
