/**
 * The money of an intent under everything that can happen to it: a provider that corrects, charges back, forgets and refunds, messages
 * that are lost and doubled, crashes between all steps, operators who decide twice, a clock that jumps ahead, restored backups.
 * After each run the journal balances and equals the provider's own ledger, no order and no refund was made twice, and what is wrong needs attention.
 *
 * Some customers have a deposit account: payments arrive there once, listed twice, in pages, in a wrong currency, after it is closed, read by two
 * servers. Each is one intent, and delivered or gone back.
 *
 * A customer is erased in the middle of requests and of the server's work, and databases are restored into empty clusters: nothing names who is erased.
 *
 * A run is its seed: `RAMP_SIMULATION_SEED=<seed>` repeats one; with `RAMP_SIMULATION_RUNS` it is the first of so many. The full number, in
 * half an hour on an idle machine:
 * `RAMP_SIMULATION_SEED=1 RAMP_SIMULATION_RUNS=10000 npx vitest run --config tests/vitest.config.ts --project postgres tests/ramp/simulation`.
 */
import pg from "pg";
import { expect, it } from "vitest";
import { createLogger } from "../../../runtime/core/http/logger.js";
import { readCurrencies } from "../../../runtime/ramp/accounts/currency.js";
import { recordJump } from "../../../runtime/ramp/core/clock-jumps.js";
import { newId } from "../../../runtime/ramp/database/id.js";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { RampMetrics } from "../../../runtime/ramp/core/ramp-metrics.js";
import { createOrganization, createProject, findProject } from "../../../runtime/ramp/operator/projects.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { recordEvent } from "../../../runtime/ramp/webhooks/events.js";
import { atEnd } from "../../support/at-end.js";
import { made, ownDatabase, SECRETS_KEY } from "../support/world.js";
import { PERSON, Simulation } from "./simulation.js";
import type { Stage } from "./stage.js";

const { RAMP_SIMULATION_SEED: SEED, RAMP_SIMULATION_RUNS } = process.env;
/** 60 in every build: of the faults that were built in to try it each made 7 of 60 fail or more. */
const RUNS = Number(RAMP_SIMULATION_RUNS ?? (SEED === undefined ? 60 : 1));
const FIRST_SEED = Number(SEED ?? 1);
const START = Date.parse("2026-03-01T00:00:00Z");

/** Tables with the rows of an intent or of a deposit account, in the order in which they refer to each other. */
const TABLES = [
  "deposit_accounts",
  "intents",
  "requirements",
  "transactions",
  "refund_requests",
  "postings",
  "provider_answers",
  "events",
] as const;
const ownId = (table: string): string =>
  table === "intents" || table === "deposit_accounts" ? "id" : "intent_id";
/** The rows `r` of a table that are those of the ids `$1`; events of a deposit account name it in their body. */
const ownRows = (table: string): string =>
  `(r.${ownId(table)} = ANY ($1::uuid[])${
    table === "events"
      ? " OR r.type = 'deposit_account.updated' AND r.body::json #>> '{data,depositAccountId}' = ANY ($1::uuid[]::text[])"
      : ""
  })`;

it(`keeps the money right in ${String(RUNS)} runs`, { timeout: 3_600_000 }, async () => {
  const stage = await ownStage();
  const failures: string[] = [];
  const startedAt = performance.now();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++)
    await new Simulation(stage, seed).run().catch((error: unknown) => {
      failures.push(`seed ${String(seed)}: ${error instanceof Error ? error.message : String(error)}`);
    });
  console.log(`${String(RUNS)} runs, ${((performance.now() - startedAt) / RUNS).toFixed(0)} ms each`);
  expect(failures.join("\n\n"), `${String(failures.length)} runs failed`).toBe("");
});

async function recordedJumps(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ sum: number }>(
    "SELECT COALESCE(sum(milliseconds), 0)::float8 AS sum FROM ramp.clock_jumps",
  );
  return rows[0]?.sum ?? 0;
}

/** A database whose `now()` is the simulation's. */
async function ownStage(): Promise<Stage> {
  const url = await ownDatabase();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  atEnd(() => pool.end());
  await pool.query(
    `CREATE SCHEMA sim; CREATE SEQUENCE sim.clock; SELECT setval('sim.clock', ${String(START)});
     CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT to_timestamp(last_value / 1000.0) FROM sim.clock';
     GRANT USAGE ON SCHEMA sim TO PUBLIC; GRANT SELECT ON sim.clock TO PUBLIC`,
  );
  await pool.query(
    `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET search_path = sim, pg_catalog, public;
     ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`,
  );
  await migrate(url);
  await pool.query("ALTER TABLE ramp.postings ALTER COLUMN posted_at SET DEFAULT sim.now()");
  const columns = await pool.query<{ table_name: string; names: string }>(
    `SELECT table_name, string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns
     WHERE table_schema = 'ramp' AND is_generated = 'NEVER' GROUP BY table_name`,
  );
  const columnsOf = (table: string): string =>
    columns.rows.find(({ table_name: name }) => name === table)?.names ?? "";
  // A restore is the work of a superuser: no trigger runs.
  const restorer = new pg.Client({ connectionString: url });
  await restorer.connect();
  atEnd(() => restorer.end());
  await restorer.query("SET session_replication_role = replica");
  const options = { url, onIdleError: () => undefined, searchPath: "sim, pg_catalog, public" };
  const database = await openDatabase(options);
  atEnd(() => database.close());
  // The database's time, and what a server takes it for.
  const clock = { database: START, server: START };
  const setClock = () => pool.query("SELECT setval('sim.clock', $1)", [clock.database]);
  Object.assign(database.clock, { now: () => new Date(clock.server) });
  const vault = new Vault(SECRETS_KEY);
  const { organizationId } = made(await createOrganization(database, "Sim"));
  const { projectId: created } = made(await createProject(database, { organizationId, name: "Sim" }));
  const projectId = made(await findProject(database, created));
  const connectionId = newId();
  await database.inProject(projectId, async (tx) => {
    const capabilities = JSON.stringify({ name: "Sim", refunds: true, refundCancels: true });
    await tx.rows("INSERT INTO ramp.provider_connections (id, code, capabilities) VALUES ($1, 'sim', $2)", [
      connectionId,
      capabilities,
    ]);
  });
  const putBack = async (ids: readonly string[], backup: unknown): Promise<void> => {
    for (const table of TABLES) {
      await restorer.query(`DELETE FROM ramp.${table} r WHERE ${ownRows(table)}`, [ids]);
      const names = columnsOf(table);
      await restorer.query(
        `INSERT INTO ramp.${table} (${names}) SELECT ${names} FROM jsonb_populate_recordset(NULL::ramp.${table}, $1)`,
        [JSON.stringify((backup as Record<string, unknown>)[table] ?? [])],
      );
    }
  };
  const event = async (intentId: string): Promise<void> => {
    const given = { type: "webhook.test", intentId, data: {} } as const;
    await database.inProject(projectId, (tx) => Promise.resolve(recordEvent(tx, given)));
  };
  return {
    projectId,
    async customer(id) {
      const insert = "INSERT INTO ramp.customers (id, external_id, reference) VALUES ($1, $2, $3)";
      await database.of(projectId).rows(insert, [id, `${PERSON} ${id}`, newId()]);
      return id;
    },
    async traces(ids, customerId) {
      const names = `r::text LIKE ANY (ARRAY['%${PERSON}%', '%' || $2 || '%'])`;
      // Answers are sealed: each of them can name the customer.
      const of = (table: string): string =>
        `${ownRows(table)} AND ${table === "provider_answers" ? "true" : names}`;
      const rows = [...TABLES.map((table) => [table, of(table)]), ["customers", "r.id::text = $2"]].map(
        ([table, isNamed]) =>
          `SELECT '${table}' AS table FROM ramp.${table} r WHERE ($1::uuid[], $2::text) IS NOT NULL AND ${isNamed}`,
      );
      const found = await restorer.query<{ table: string }>(rows.join(" UNION "), [ids, customerId]);
      return found.rows.map(({ table }) => table);
    },
    connectionId,
    database,
    async advance(milliseconds) {
      clock.database += milliseconds;
      clock.server += milliseconds;
      await setClock();
    },
    async jump(milliseconds) {
      clock.database += milliseconds;
      await setClock();
    },
    async notice() {
      await recordJump(database, clock.database - clock.server, await recordedJumps(pool));
      clock.server = clock.database;
    },
    async backup(ids) {
      const rows = TABLES.map(
        (table) => `(SELECT jsonb_agg(to_jsonb(r)) FROM ramp.${table} r WHERE ${ownRows(table)}) AS ${table}`,
      );
      const changed = `(SELECT changed_at::text FROM ramp.change_times) AS changed`;
      return (await restorer.query<Record<string, unknown>>(`SELECT ${rows.join(", ")}, ${changed}`, [ids]))
        .rows[0];
    },
    async sequences(id) {
      const { rows } = await pool.query<{ sequence: string }>(
        "SELECT sequence FROM ramp.events WHERE intent_id = $1 ORDER BY sequence",
        [id],
      );
      return rows.map(({ sequence }) => Number(sequence));
    },
    async depositIntents(accountId) {
      const { rows } = await pool.query<{ count: number }>(
        "SELECT count(*)::int AS count FROM ramp.intents WHERE deposit_account_id = $1",
        [accountId],
      );
      return rows[0]?.count ?? 0;
    },
    putBack,
    async restore(ids, backup, { isEmptyCluster, clockOffMs, says, lastSent }) {
      await putBack(ids, backup);
      await restorer.query("UPDATE ramp.change_times SET changed_at = $1", [
        (backup as Record<string, unknown>)["changed"],
      ]);
      await restorer.query("UPDATE ramp.database_identity SET identity = 'before'");
      if (isEmptyCluster)
        await restorer.query(
          "REVOKE ALL ON SCHEMA ramp FROM routewright_ramp_project; REVOKE ALL ON ALL TABLES IN SCHEMA ramp FROM routewright_ramp_project",
        );
      const stoppedAt = clock.server;
      const machineTime = (): number => stoppedAt;
      const migrated = (eventsAfter: bigint | null = null) =>
        migrate(url, undefined, null, { machineTime, eventsAfter }).then(
          () => "",
          (error: unknown) => String(error),
        );
      const setClocks = async (time: number): Promise<void> => {
        clock.database = clock.server = time;
        await setClock();
      };
      await setClocks(stoppedAt + clockOffMs);
      let refusal = await migrated();
      if (Math.abs(clockOffMs) > 60_000 && refusal === "") throw new Error("A wrong clock was not refused.");
      if (refusal !== "" && says === "clock") {
        await setClocks(stoppedAt);
        refusal = await migrated();
      }
      if (refusal !== "" && !refusal.includes("not clear which time it is")) throw new Error(refusal);
      const last = says === "time" ? BigInt(stoppedAt) * 1_000n : BigInt(lastSent);
      const told = refusal === "" ? "" : await migrated(last);
      if (told !== "") throw new Error(told);
      // Nothing is due by a clock that is off: events are all that can go wrong.
      for (const id of ids.slice(0, 1)) await event(id);
      await setClocks(stoppedAt);
      return `clock off by ${String(clockOffMs)} ms${refusal === "" ? "" : `, said ${says}`}`;
    },
    ramp: {
      currencies: await database.asOperator(readCurrencies),
      vault,
      log: createLogger("silent"),
      metrics: new RampMetrics(),
      now: () => database.clock.now(),
    } as unknown as Stage["ramp"],
  };
}
