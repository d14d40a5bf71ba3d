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

/** The longest time of Node's timers, 24.8 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** A change of a row that is not sent yet. */
interface RowChange {
  readonly kind: "insert" | "update";
  readonly table: string;
  /** What names the row among those of its project. */
  readonly key: DatabaseRow;
  readonly columns: DatabaseRow;
}

function isSameRow(last: RowChange | null, { kind, table, key }: RowChange): last is RowChange {
  if (last?.table !== table || kind === "insert") return false;
  return Object.entries(key).every(([name, value]) => last.key[name] === value);
}

/** Both changes in one statement. The database checks each move of a status: it gets those in between as `via`. */
function joined(last: RowChange, { columns }: RowChange): RowChange {
  const { status, via = [] } = last.columns as {
    readonly status?: unknown;
    readonly via?: readonly unknown[];
  };
  const moves = "status" in columns && status !== undefined ? { via: [...via, status] } : {};
  return { ...last, columns: { ...last.columns, ...columns, ...moves } };
}

/** The statement of a change, and its values. */
function statementOf({ kind, table, key, columns }: RowChange): readonly [text: string, values: unknown[]] {
  const values: unknown[] = kind === "insert" ? [] : Object.values(key);
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
  const row = Object.keys(key).map((name, at) => `${columnOf(name)} = $${String(at + 1)}`);
  return [
    `UPDATE ramp.${table} SET ${changes.join(", ")} WHERE ${[OF_PROJECT, ...row].join(" AND ")}`,
    values,
  ];
}

/** One transaction on its connection. */
export class DbSession {
  readonly #client: pg.PoolClient;
  readonly #stream: Writable;
  /** Bounded by the writes of one transaction. */
  readonly #collected = new Map<WriteCollected<never>, unknown[]>();
  #change: RowChange | null = null;
  #isUnlimited = false;
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
    // `pg` takes the time of one query, which its types leave out.
    const limit = this.#isUnlimited && { query_timeout: LONGEST_MS };
    const result = this.#client.query<R>({ text, ...prepared, ...limit });
    result.catch((error: unknown) => {
      const { code } = error as pg.DatabaseError;
      this.failure ??= code === PRECONDITION_FAILED ? new PreconditionFailed() : (error as Error);
    });
    return result;
  }

  /**
   * Sends statements that fail where a condition does not hold, without waiting for them: the transaction fails with `failure` then, and no
   * statement after them takes effect.
   * @param failure an error collects its stack, so it is made only where it is needed
   */
  require(text: string, values?: readonly unknown[], failure?: () => PreconditionFailed): void {
    this.send(text, values).catch((error: unknown) => {
      if (failure && (error as pg.DatabaseError).code === PRECONDITION_FAILED) this.failure = failure();
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
    if (isSameRow(last, next)) this.#change = joined(last, next);
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
      insert: (table, row) => this.#changeRow({ kind: "insert", table, key: row, columns: row }),
      update: (table, row, columns) =>
        this.#changeRow({ kind: "update", table, key: typeof row === "string" ? { id: row } : row, columns }),
      unlimit: () => {
        this.#isUnlimited = true;
        void this.send("SET LOCAL statement_timeout = 0");
      },
      beforeCommit: (write, item) => {
        const items = this.#collected.get(write) ?? [];
        this.#collected.set(write, [...items, item]);
      },
      requireRow: (text, values = [], failure) =>
        this.require(
          `WITH found AS (${text}) SELECT ramp.require_row(count(*) > 0) FROM found`,
          values,
          failure,
        ),
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
