/** One clock, the database's: polls and expiry do not go by a server's, and a jump of the database's expires nothing. */
import { expect, it, vi } from "vitest";
import { jumpBetween } from "../../../runtime/ramp/core/clock-jumps.js";
import { diagnose } from "../../../runtime/ramp/operator/diagnostics.js";
import { atEnd } from "../../support/at-end.js";
import { startProcess } from "../support/processes.js";
import { eventually, newCustomer, onramp, ownWorld, type Reply } from "../support/world.js";

const DAY_S = 24 * 60 * 60;
/** Long enough for what is due to be claimed and looked up several times. */
const REST_MS = 4_000;
/** In a second: an order is looked up twice; without one clock it was 15 times. */
const MOST_LOOK_UPS = 6;

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

/** Look-ups of the paid order in a second, of `REST_MS` at least. */
async function lookUpsAtRest(): Promise<number> {
  const [before, since] = [await lookUps(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  return (1_000 * ((await lookUps()) - before)) / (performance.now() - since);
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

type Columns = Readonly<Record<string, string>>;
/** Deadlines, which a jump moves, or times that a pause is counted from. */
const MOVED: Columns = {
  deposit_accounts: "next_poll_at",
  idempotency_claims: "expires_at owned_until",
  intents: "expires_at lease_expires_at next_poll_at",
  provider_connections: "capabilities_at",
  quotes: "expires_at",
  webhook_deliveries: "attempt_at attempted_until",
  webhook_secrets: "signs_until",
};
/** When something happened: shown as it was. */
const HAPPENED: Columns = {
  audit_log: "at",
  change_times: "changed_at",
  client_secrets: "created_at revoked_at",
  clock_jumps: "at",
  currencies: "created_at updated_at",
  customer_identities: "created_at",
  customers: "created_at erased_at updated_at",
  deposit_accounts: "close_requested_at created_at updated_at",
  events: "created_at",
  external_accounts: "created_at deleted_at updated_at",
  identity_providers: "created_at",
  intents: "attention_since cancel_requested_at created_at updated_at",
  migrations: "run_on",
  organizations: "created_at",
  postings: "posted_at provider_date",
  projects: "created_at",
  provider_answers: "first_at last_at",
  provider_callbacks: "received_at",
  provider_connections: "created_at",
  provider_credentials: "created_at",
  refund_requests: "cancel_requested_at created_at sent_at updated_at",
  requirements: "created_at updated_at",
  signing_keys: "created_at retired_at revoked_at",
  token_revocations: "revoked_at",
  transactions: "created_at updated_at",
  travel_rules: "created_at sent_at",
  webhook_deliveries: "created_at updated_at",
  webhook_endpoints: "created_at deleted_at gone_at last_result_at",
};
/** Deadlines that stay. */
const OTHERS: Columns = {
  // The provider's, and shown.
  transactions: "payment_due_at",
  // Moved back, it would end before the message whose nonce it keeps, which could then be sent twice.
  wallet_nonces: "expires_at",
  // Nothing reads it.
  webhook_endpoints: "paused_until",
};
const named = (columns: Columns): readonly string[] =>
  Object.entries(columns).flatMap(([table, names]) => names.split(" ").map((name) => `${table}.${name}`));

it("every column of a time moves with a jump, or it is said why not", async () => {
  const columns = await rows(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'ramp' AND table_type = 'BASE TABLE' AND data_type LIKE 'timestamp%' ORDER BY 1`,
  );
  expect(columns.map(({ name }) => name)).toEqual([MOVED, HAPPENED, OTHERS].flatMap(named).sort());
});

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
    await rows(
      `INSERT INTO ramp.deposit_accounts (project_id, id, customer_id, connection_id, connection_version, type, status, src_currency, src_details,
         dest_currency, dest_details, rail, sandbox, next_poll_at)
       SELECT project_id, gen_random_uuid(), customer_id, connection_id, connection_version, type, 'PENDING', src_currency, '{}',
         dest_currency, '{}', rail, sandbox, now() + interval '1 hour' FROM ramp.intents WHERE id = $1`,
      [paying],
    );
    // Connections end a moment after the database has been told to end them.
    const offer = await eventually(
      () => create(`offered ${String(days)}`),
      ({ status }) => status === 201,
    );
    const offered = idOf(offer);
    await rows(
      "UPDATE ramp.intents SET new_price = jsonb_build_object('expiresAt', now() + interval '1 hour') WHERE id = $1",
      [offered],
    );
    /** How much time is left of each kind of deadline. */
    const left = async (): Promise<readonly number[]> => {
      const deadlines = [
        [unpaid, "expires_at FROM ramp.intents WHERE id = $1"],
        [offered, "(new_price ->> 'expiresAt')::timestamptz FROM ramp.intents WHERE id = $1"],
        [null, "max(next_poll_at) FROM ramp.deposit_accounts WHERE $1::text IS NULL"],
        [null, "max(capabilities_at) FROM ramp.provider_connections WHERE $1::text IS NULL"],
      ] as const;
      const found = deadlines.map(async ([id, deadline]) => {
        const [row] = await rows(`SELECT extract(epoch FROM (SELECT ${deadline}) - now())::int AS seconds`, [
          id,
        ]);
        return Number(row?.["seconds"]);
      });
      return Promise.all(found);
    };
    const before = await left();
    await lookUpsAtRest();
    await rows(`UPDATE test_clock.jump SET by = by + make_interval(days => ${String(days)})`);
    const jumps = await eventually(
      () =>
        rows("SELECT round(milliseconds / 1000.0)::int AS seconds FROM ramp.clock_jumps ORDER BY id DESC"),
      (found) => found.length > 0 && Math.sign(Number(found[0]?.["seconds"])) === days,
    );
    const count = await lookUps();
    expect(await lookUpsAtRest()).toBeLessThan(MOST_LOOK_UPS);
    await expect.poll(lookUps).toBeGreaterThan(count);
    expect(await statusOf(unpaid)).toBe("PENDING_PAYMENT");
    const after = await left();
    expect(after.map((seconds, at) => Math.abs(seconds - (before[at] ?? NaN)) < 120)).toEqual(
      before.map(() => true),
    );
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

it("a machine that was suspended sees no jump, and one beside it does", () => {
  const hours = 6 * 60 * 60_000;
  const last = { at: 1_000_000, recorded: 0, before: 500, after: 510, upBefore: 9_500, upAfter: 9_510 };
  const next = {
    ...last,
    at: last.at + 1_000,
    before: 1_500,
    after: 1_510,
    upBefore: 10_500,
    upAfter: 10_510,
  };
  expect(jumpBetween(last, next)).toBe(0);
  const resumed = { ...next, at: next.at + hours, upBefore: 10_500 + hours, upAfter: 10_510 + hours };
  expect(jumpBetween(last, resumed)).toBe(0);
  // Suspended while the answer was on its way, whenever the database gave it.
  expect(jumpBetween(last, { ...next, upAfter: 10_510 + hours })).toBe(0);
  expect(jumpBetween(last, { ...resumed, upBefore: 10_500 })).toBe(0);
  expect(jumpBetween(last, { ...next, at: next.at + hours })).toBeGreaterThan(hours - 100);
});

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
