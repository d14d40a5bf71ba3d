/** One clock, the database's: polls and expiry do not go by a server's, and a jump of the database's expires nothing. */
import { expect, it, vi } from "vitest";
import { diagnose } from "../../../runtime/ramp/operator/diagnostics.js";
import { atEnd } from "../../support/at-end.js";
import { startProcess } from "../support/processes.js";
import { eventually, newCustomer, onramp, ownWorld, type Reply } from "../support/world.js";

const DAY_S = 24 * 60 * 60;
/** Long enough for what is due to be claimed and looked up several times. */
const REST_MS = 4_000;
/** An order is looked up twice a second; without one clock it was 60 times. */
const MOST_LOOK_UPS = 25;

/** The functions of the database's clock: the test's own, once it has made them. */
const searchPath = "test_clock, pg_catalog";
const world = await ownWorld({ searchPath });
const rows = (sql: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> =>
  world.rows(sql, values);
const project = await world.project();
let auth = await newCustomer(world, project, "late");
const create = (key: string, autoExecute = false): Promise<Reply> =>
  world.call("POST", "/v1/intent", { auth, key, body: onramp({ autoExecute }) });
const idOf = ({ json }: Reply): string => String(json.intent.id);

const unpaid = idOf(await create("unpaid"));
await world.sandbox.set({ settleMs: 10 * 60_000 });
/** An intent whose payment is at the provider. */
const paying = idOf(await create("paying", true));

async function statusOf(id: string): Promise<unknown> {
  return (await rows("SELECT status FROM ramp.intents WHERE id = $1", [id]))[0]?.["status"];
}

async function lookUps(): Promise<number> {
  const [row] = await rows(
    "SELECT COALESCE(sum(count), 0)::int AS count FROM ramp.provider_answers WHERE intent_id = $1 AND operation = 'checkExecution'",
    [paying],
  );
  return Number(row?.["count"]);
}

/** Look-ups of the paid order within `REST_MS`. */
async function lookUpsAtRest(): Promise<number> {
  const before = await lookUps();
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  return (await lookUps()) - before;
}

const clockFinding = async (): Promise<unknown> =>
  (await diagnose(world.database, world.vault)).find(({ check }) => check === "clock");

it.each([1, -1])(
  "a server whose clock is %i day off expires nothing and looks nothing up for it",
  async (days) => {
    expect(await clockFinding()).toMatchObject({ ok: true });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + days * DAY_S * 1_000 });
    atEnd(() => void vi.useRealTimers());
    expect(await lookUpsAtRest()).toBeLessThan(MOST_LOOK_UPS);
    expect(await statusOf(unpaid)).toBe("PENDING_PAYMENT");
    expect(await clockFinding()).toMatchObject({
      ok: false,
      detail: expect.stringMatching(days > 0 ? /is 86[34]\d\d s ahead/ : /is -86[34]\d\d s ahead/),
    });
  },
);

it.each([1, -1])(
  "a jump of the database's clock by %i day moves the deadlines of all servers, once",
  async (days) => {
    vi.useRealTimers();
    const postedAt = async (key: string): Promise<number> => {
      const id = idOf(await create(`${key} ${String(days)}`, true));
      const [row] = await eventually(
        () => rows("SELECT min(posted_at) AS at FROM ramp.postings WHERE intent_id = $1", [id]),
        ([found]) => found?.["at"] !== null,
      );
      return (row?.["at"] as Date).getTime();
    };
    // Also after the clock of this server jumped, which made the provider refuse its signatures.
    const earlier = await postedAt("before");
    const other = await startProcess("./ramp-process.ts", {
      RAMP_TEST_DATABASE: world.databaseUrl,
      RAMP_TEST_PUBLIC_URL: world.url,
      RAMP_TEST_SEARCH_PATH: searchPath,
    });
    atEnd(() => other.kill());
    await otherClock();
    const left = (): Promise<Record<string, unknown>[]> =>
      rows("SELECT extract(epoch FROM expires_at - now())::int AS seconds FROM ramp.intents WHERE id = $1", [
        unpaid,
      ]);
    const [before] = await left();
    await lookUpsAtRest();
    await rows(`UPDATE test_clock.jump SET by = by + make_interval(days => ${String(days)})`);
    const jumps = await eventually(
      () =>
        rows("SELECT round(milliseconds / 1000.0)::int AS seconds FROM ramp.clock_jumps ORDER BY id DESC"),
      (found) => found.length > 0 && Math.sign(Number(found[0]?.["seconds"])) === days,
    );
    const count = await lookUps();
    expect(await lookUpsAtRest()).toBeLessThan(MOST_LOOK_UPS);
    expect(await lookUps()).toBeGreaterThan(count);
    expect(await statusOf(unpaid)).toBe("PENDING_PAYMENT");
    const [after] = await left();
    expect(Math.abs(Number(after?.["seconds"]) - Number(before?.["seconds"]))).toBeLessThan(60);
    // A token of before can have expired; the exchange is repeated.
    auth = await newCustomer(world, project, "late");
    expect(idOf(await create("unpaid")), "the key of a request is still known").toBe(unpaid);
    // The days that were closed before a jump back stay closed.
    expect(await postedAt("after")).toBeGreaterThan(earlier);
    expect(await rows("SELECT FROM ramp.clock_jumps")).toHaveLength(jumps.length);
    expect(Math.abs(Number(jumps[0]?.["seconds"]) - days * DAY_S)).toBeLessThan(60);
    expect(await clockFinding()).toMatchObject({
      ok: false,
      detail: expect.stringContaining(`by ${String(jumps[0]?.["seconds"])} s`),
    });
  },
);

/** Gives the database a clock that the test moves: `now()` of new sessions is another function. */
async function otherClock(): Promise<void> {
  await rows("CREATE SCHEMA IF NOT EXISTS test_clock");
  await rows("CREATE TABLE IF NOT EXISTS test_clock.jump AS SELECT interval '0' AS by");
  await rows(`CREATE OR REPLACE FUNCTION test_clock.now() RETURNS timestamptz STABLE LANGUAGE sql SECURITY DEFINER
    RETURN pg_catalog.now() + (SELECT by FROM test_clock.jump)`);
  await rows("GRANT USAGE ON SCHEMA test_clock TO PUBLIC");
  const { pathname } = new URL(world.databaseUrl);
  await rows(`ALTER DATABASE ${pathname.slice(1)} SET search_path = ${searchPath}, public`);
  await rows(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
}
