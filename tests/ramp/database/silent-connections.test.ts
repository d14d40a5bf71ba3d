/** Connections to the database that die without a word, as those to a host that is fenced, or behind a firewall that forgets them. */
import pg from "pg";
import { expect, it } from "vitest";
import { recordJump } from "../../../runtime/ramp/core/clock-jumps.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { proxyThatFreezes } from "../../support/database-proxy.js";
import { migratedDatabase } from "../support/migrated.js";
import {
  eventually,
  expectRefused,
  newCustomer,
  onramp,
  ownWorld,
  queryAt,
  reached,
  type Reply,
  untilTrue,
} from "../support/world.js";

it("ends them: jobs go on over new ones, and the ramp stops", async () => {
  let freeze = (): number => 0;
  const world = await ownWorld({ queryTimeoutMs: 10_000 }, async (databaseUrl) => {
    const proxy = await proxyThatFreezes(databaseUrl);
    freeze = proxy.freeze;
    return proxy.url;
  });
  const auth = await newCustomer(world, await world.project());
  // Without callbacks the worker alone brings the intent to its end.
  await world.sandbox.set({ mute: true });
  const create = () => world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
  const before = await create();
  expect(before.status, before.text).toBe(201);
  // In the middle of their work: of the jobs' connections some wait for an answer then.
  const claiming = `SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'routewright-ramp' AND state <> 'idle' AND datname = current_database()`;
  await untilTrue(() => world.holds(claiming));
  expect(freeze()).toBeGreaterThan(0);

  // A request on a dead connection may be repeated.
  const read = () => world.call("GET", `/v1/intent/${String(before.json.intent.id)}`, { auth });
  const replies: Reply[] = [];
  await eventually(
    async () => replies[replies.push(await read()) - 1],
    (reply) => reply?.json.intent?.status === "COMPLETED",
  );
  expectRefused(
    replies.filter(({ status }) => status !== 200),
    503,
    "SERVICE_UNAVAILABLE",
  );
  const after = await create();
  expect(after.status, after.text).toBe(201);
  await reached(world, `/v1/intent/${String(after.json.intent.id)}`, { auth }, "COMPLETED");

  expect(freeze()).toBeGreaterThan(0);
  await world.stop();
});

it("lets the moves of deadlines after a jump of the clock take longer than any other statement", async () => {
  const url = await migratedDatabase();
  const database = await openDatabase({ url, onIdleError: () => undefined, queryTimeoutMs: 8_000 });
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query("BEGIN; LOCK TABLE ramp.intents");
  const moved = recordJump(database, 3_600_000, 0);
  // By the server's own time: longer than a statement may take.
  const waits = `SELECT count(*) > 0 AS "isSo" FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND query LIKE 'UPDATE ramp.intents %' AND clock_timestamp() - query_start > interval '9 s'`;
  await untilTrue(async () => (await queryAt(url, waits))[0]?.["isSo"] === true);
  await other.query("COMMIT");
  await other.end();
  expect(await moved).toBe(true);
  await expect(database.operator.rows("SELECT pg_sleep(30)")).rejects.toThrow();
  await database.close();
});
