import { PostgresClient } from "./connection/postgres-client.js";
import type { Statement } from "../core/warehouse/sql.js";
import { connectionConfig } from "./connect.js";
import { SessionSetup } from "./session.js";

/** Smaller relations need no index: a sequential scan is as fast. */
const SMALL_ROWS = 1000;

interface PostgresPlan {
  readonly "Index Name"?: string;
  readonly "Plan Rows"?: number;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PostgresPlan[];
}

/** Explains statements in a session like those that serve, in which PostgreSQL avoids scans of whole tables wherever an index can do. */
export class Explainer {
  readonly #url: string;
  #session: Promise<ExplainSession> | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  /** Whether an index finds the rows of a statement's filter, by the plan for any value. Null where `all`, the statement without it, has few rows. */
  async usesIndex(filtered: Statement, all: Statement): Promise<boolean | null> {
    const session = await this.#connected();
    const { "Plan Rows": rows = 0 } = await session.explain(all);
    return rows < SMALL_ROWS ? null : session.hasIndex(await session.explain(filtered));
  }

  /** As `usesIndex`, of statements whose rows are groups: what counts is what they read of one relation. */
  async groupsUseIndex(filtered: Statement, all: Statement): Promise<boolean | null> {
    const session = await this.#connected();
    const rows = mostRowsRead(await session.explain(all));
    return rows < SMALL_ROWS ? null : session.hasIndex(await session.explain(filtered));
  }

  async close(): Promise<void> {
    await (await this.#session?.catch(() => null))?.close();
  }

  /** One that cannot be opened, or is lost, is not kept. */
  #connected(): Promise<ExplainSession> {
    if (this.#session !== null) return this.#session;
    const opened = ExplainSession.open(this.#url, () => {
      if (this.#session === opened) this.#session = null;
    });
    return (this.#session = opened);
  }
}

class ExplainSession {
  readonly #client: PostgresClient;

  private constructor(client: PostgresClient) {
    this.#client = client;
  }

  static async open(url: string, onLost: () => void): Promise<ExplainSession> {
    const client = new PostgresClient(connectionConfig(url));
    client.on("end", onLost);
    try {
      await client.connect();
      await new SessionSetup(EXPLAIN_TIMEOUT_MS).prepare(client);
      return new ExplainSession(client);
    } catch (error) {
      onLost();
      client.end().catch(() => undefined);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }

  /** In a transaction: behind a pooler another session would have the settings. */
  async explain({ text, values }: Statement): Promise<PostgresPlan> {
    await this.#client.query("BEGIN");
    try {
      await this.#client.query(
        "SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan",
      );
      await this.#client.query(`PREPARE routewright_verify AS ${text}`);
      return await this.#explainPrepared(values.length);
    } finally {
      await this.#client.query("ROLLBACK");
    }
  }

  /** A prepared statement outlives its transaction. */
  async #explainPrepared(parameters: number): Promise<PostgresPlan> {
    const nulls = parameters === 0 ? "" : `(${"NULL, ".repeat(parameters).slice(0, -2)})`;
    await this.#client.query("SAVEPOINT prepared");
    try {
      const { rows } = await this.#client.query<{ "QUERY PLAN": readonly { Plan: PostgresPlan }[] }>(
        `EXPLAIN (FORMAT JSON) EXECUTE routewright_verify${nulls}`,
      );
      return rows[0]?.["QUERY PLAN"][0]?.Plan ?? {};
    } finally {
      await this.#client.query("ROLLBACK TO prepared; DEALLOCATE routewright_verify");
    }
  }

  /** Whether an index finds the rows of the filter's value, not only those of a view's own conditions. */
  async hasIndex(plan: PostgresPlan): Promise<boolean> {
    const { "Index Name": index, "Index Cond": condition = "", Plans: inner = [] } = plan;
    if (index !== undefined && VALUE.test(condition) && (await this.#isLeading(index, condition)))
      return true;
    for (const child of inner) if (await this.hasIndex(child)) return true;
    return false;
  }

  /** Whether a condition has the first key of a B-tree: by a later one alone, the whole index is read. Other indexes have no order. */
  async #isLeading(index: string, condition: string): Promise<boolean> {
    const { rows } = await this.#client.query<{ readonly method: string; readonly key: string }>(
      `SELECT m.amname AS method, pg_catalog.pg_get_indexdef(c.oid, 1, true) AS key
       FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam
       WHERE c.relname OPERATOR(pg_catalog.=) $1 AND c.relkind OPERATOR(pg_catalog.=) ANY('{i,I}')`,
      [index],
    );
    return rows.some(
      ({ method, key }) =>
        method !== "btree" || condition.includes(`${key} `) || condition.includes(`${key})`),
    );
  }
}

function mostRowsRead({ "Plan Rows": rows = 0, Plans: inner = [] }: PostgresPlan): number {
  return inner.length === 0 ? rows : Math.max(...inner.map(mostRowsRead));
}

const EXPLAIN_TIMEOUT_MS = 30_000;

/** The value of the filter, or what is made of it: the label of an enum, the items of a list. */
const VALUE = /\$\d|InitPlan/;
