/**
 * All at once: tenants of a provider that misbehaves, of a frozen one, of a slow one and of a good one, and three ramp
 * processes that all get each request at the same time, and are killed in turn. Checked in the provider's ledger, the report, the reconciliation and the webhooks. Prints
 * how long the good provider's intents take in each phase. The whole size:
 * `JOINT_INTENTS=2000 JOINT_KILLS=40 npx vitest run --config tests/vitest.config.ts tests/ramp/intents/joint.test.ts`.
 */
import Big from "big.js";
import { afterAll, expect, it } from "vitest";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { reconcile, reportPostings } from "../../../runtime/ramp/operator/finance.js";
import type { NewConnection } from "../../../runtime/ramp/operator/integrations.js";
import { amountOf } from "../providers/conformance/modes.js";
import { migratedDatabase } from "../support/migrated.js";
import { ownBalancer } from "../support/balancer.js";
import { cardOnramp, ownCardProvider } from "../support/card-provider.js";
import { ownConformanceProvider, startProcess } from "../support/processes.js";
import { freePort } from "../../support/port.js";
import { ownReceiver } from "../support/receiver.js";
import { deliveredEvents, expireClaims, insist, projectWithWebhook } from "../support/recovery.js";
import { eventually, made, onramp, queryAt } from "../support/world.js";

const INTENTS = Number(process.env["JOINT_INTENTS"] ?? 60);
const KILLS = Number(process.env["JOINT_KILLS"] ?? 2);
const PATIENCE_MS = 240_000 + INTENTS * 100;
/** Time between two intents of the good provider's tenants, and of the others: below what the machine can do, so that its queues are not measured. */
const PACE_MS = 300;
const SIDE_PACE_MS = 600;
/** Shorter than the time limit of a call, and far longer than the others' answers. */
const SLOW_MS = 500;

const GOOD = "well behaved";
/** The ways of the misbehaving provider, with the transaction that each comes to. */
const ENDS: Readonly<Record<string, string>> = {
  [GOOD]: "SUCCESS",
  "execution answer lost, then 409": "SUCCESS",
  "callbacks tenfold": "SUCCESS",
  "no callbacks": "SUCCESS",
  "server errors": "SUCCESS",
  "order refused with 422": "FAILED",
  failure: "FAILED",
  "refund after success": "REFUNDED",
};
const WAYS = Object.keys(ENDS);

const databaseUrl = await migratedDatabase();
const receiver = await ownReceiver();
const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined, maxConnections: 4 });
const misbehaving = await ownConformanceProvider();
const balancer = await ownBalancer();
const ramps = await Promise.all(
  [1, 2, 3].map(async () => {
    const environment = {
      RAMP_TEST_DATABASE: databaseUrl,
      RAMP_TEST_PORT: String(await freePort()),
      RAMP_TEST_PUBLIC_URL: balancer.url,
    };
    const start = () => startProcess("./ramp-process.ts", environment);
    return { start, process: await start() };
  }),
);
balancer.targets = ramps.map(({ process: { said } }) => said);
afterAll(async () => {
  await Promise.all(ramps.map(({ process: running }) => running.kill()));
  await database.close();
});

/** A project of a provider's, with a webhook and a customer. */
async function tenant(connection: NewConnection) {
  const { project, secret } = await projectWithWebhook(databaseUrl, connection, receiver);
  const { json } = await persistently("/v1/customers", { auth: project.basic, body: { id: "customer" } });
  return { id: project.id, secret, auth: `Bearer ${String(json.accessToken)}` };
}
/** Two tenants of a provider. */
const ofProvider = (connection: Parameters<typeof tenant>[0]) =>
  Promise.all([tenant(connection), tenant(connection)]);
type Tenant = Awaited<ReturnType<typeof tenant>>;

async function persistently(path: string, options: Parameters<typeof insist>[3]) {
  const reply = await insist(balancer.url, "POST", path, options, PATIENCE_MS);
  if (reply.status !== 201) throw new Error(reply.text);
  return reply;
}

/** Mode of each intent at the misbehaving provider, by id. */
const modes = new Map<string, string>();

/** What a tenant orders, and the mode in which the misbehaving provider's process handles it. */
interface Order {
  readonly body: Record<string, unknown>;
  readonly mode: string | null;
}

/** Sends a request to all servers at once. */
const atAll = (path: string, options: Parameters<typeof insist>[3]) =>
  Promise.all(ramps.map(({ process: { said } }) => insist(said, "POST", path, options, PATIENCE_MS)));

async function createOne({ auth }: Tenant, { body, mode }: Order): Promise<string> {
  const replies = await atAll("/v1/intent", { auth, key: `key-${String(++serial)}`, body });
  const [first] = replies;
  expect(replies.map(({ status, text }) => [status, text])).toEqual(replies.map(() => [201, first?.text]));
  const id = String(first?.json.intent.id);
  if (mode !== null) modes.set(id, mode);
  return id;
}

/** Creates intents at a fixed pace, however long each takes. */
async function create(
  tenants: readonly Tenant[],
  count: number,
  paceMs: number,
  orderOf: (n: number) => Order,
): Promise<string[]> {
  const started: Promise<string>[] = [];
  for (let n = 0; n < count; n++) {
    started.push(createOne(tenants[n % tenants.length] as Tenant, orderOf(n)));
    await new Promise((resolve) => setTimeout(resolve, paceMs));
  }
  return Promise.all(started);
}
let serial = 0;
const CONFORMING = {
  currencyCode: "USD",
  details: { countryCode: "US", rail: "ACH", provider: "conformance" },
};

const inMode = (mode: string, autoExecute = true): Order => ({
  mode,
  body: onramp({ src: CONFORMING, srcAmount: amountOf(mode), autoExecute }),
});

/** A transaction without a key is opened once, and refused by the other servers. */
async function executeOnce(tenant: Tenant): Promise<string> {
  const id = await createOne(tenant, inMode(GOOD, false));
  const replies = await atAll(`/v1/intent/${id}/transaction`, { auth: tenant.auth });
  expect(replies.map(({ status }) => status).sort(), replies[0]?.text).toEqual([202, 400, 400]);
  return id;
}
const wellBehaved = (): Order => inMode(GOOD);
const inAllModes = (n: number): Order => inMode(WAYS[n % WAYS.length] ?? GOOD);
const byCard = (): Order => ({ mode: null, body: cardOnramp() });

const noneOpen = (among: readonly string[]): Promise<readonly unknown[]> =>
  eventually(
    () =>
      queryAt(
        databaseUrl,
        `SELECT id, connection_id, status, attention, failed_attempts, lease_owner IS NOT NULL AS leased, poll_requested,
           next_poll_at - now() AS due, now() - updated_at AS unchanged FROM ramp.intents WHERE NOT is_ended AND id = ANY ($1)`,
        [among],
      ).then((rows) => rows.map((row) => ({ mode: modes.get(String(row["id"])), ...row }))),
    (rows) => rows.length === 0,
    PATIENCE_MS,
    500,
  );

/** Prints within how many seconds 90 % of the intents were completed. */
async function report(phase: string, good: readonly string[]): Promise<void> {
  const [row] = await queryAt(
    databaseUrl,
    `SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY extract(epoch FROM e.created_at - i.created_at))::float AS seconds
     FROM ramp.intents i JOIN ramp.events e ON e.intent_id = i.id AND e.body::jsonb #>> '{data,status}' = 'COMPLETED' AND e.type = 'intent.status_changed'
     WHERE i.id = ANY ($1)`,
    [good],
  );
  console.log(`p90, ${phase}: ${Number(row?.["seconds"]).toFixed(2)} s of ${String(good.length)} intents`);
}

/** Kills a process every few seconds, each in turn, and starts it again. */
async function kill(times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const ramp = ramps[n % ramps.length]!;
    await ramp.process.kill("SIGKILL");
    ramp.process = await ramp.start();
    await expireClaims((text) => queryAt(databaseUrl, text));
  }
}

it(
  "keeps its invariants under kills, a provider that misbehaves, one that is frozen and one that is slow",
  { timeout: 900_000 + INTENTS * 600 },
  async () => {
    const [good, bad] = await Promise.all([ofProvider(misbehaving), ofProvider(misbehaving)]);
    const [frozen, slow] = await Promise.all([ownCardProvider(), ownCardProvider()]);
    const [ofFrozen, ofSlow] = [await tenant(frozen.connection), await tenant(slow.connection)];
    let thaw = (): void => undefined;
    const frozenUntil = new Promise<void>((resolve) => (thaw = resolve));
    frozen.answerOrder = frozen.answerLookUp = () => frozenUntil;
    slow.answerOrder = slow.answerLookUp = () => new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    slow.status = frozen.status = "SUCCESS";

    const share = (part: number): number => Math.max(Math.round(INTENTS * part), 8);
    const quiet = await create(good, share(0.1), PACE_MS, wellBehaved);
    quiet.push(await executeOnce(good[0]));
    await noneOpen(quiet);
    await report("quiet", quiet);
    const sides = [
      create([ofFrozen], share(0.15), SIDE_PACE_MS, byCard),
      create([ofSlow], share(0.15), SIDE_PACE_MS, byCard),
    ];
    const misbehave = create(bad, share(0.4), PACE_MS, inAllModes);
    const beside = await create(good, share(0.1), PACE_MS, wellBehaved);
    await noneOpen(beside);
    await report("beside a misbehaving, a frozen and a slow provider", beside);
    const killing = kill(KILLS);
    const killed = await create(good, share(0.1), PACE_MS, wellBehaved);
    const others = (await Promise.all([...sides, misbehave])).flat();
    await killing;
    thaw();
    const all = [...quiet, ...beside, ...killed, ...others];
    await noneOpen(all);
    await report("and under kills", killed);

    const tenants = [...good, ...bad];
    await checkLedger([...tenants.map(({ id }) => id)]);
    await checkReport(all);
    await checkAccounts();
    await checkWebhooks([...tenants, ofFrozen, ofSlow]);
  },
);

interface Ledger {
  readonly carriedOut: readonly { readonly id: string; readonly onboardingId: string }[];
  /** Status of each execution, by the intent's id. */
  readonly statuses: Readonly<Record<string, string>>;
  /** What its account received and paid, by day and currency. */
  readonly ledger: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const readLedger = (): Promise<Ledger> =>
  fetch(`${misbehaving.url}/truth`).then((response) => response.json() as Promise<Ledger>);

/** Each order was carried out once, and both sides agree on what became of it. */
async function checkLedger(projects: readonly Tenant["id"][]): Promise<void> {
  const expected = (id: string): string => ENDS[modes.get(id) ?? ""] ?? "";
  // A refund comes after the end.
  const { carriedOut, statuses } = await eventually(
    readLedger,
    (read) => Object.entries(read.statuses).every(([id, status]) => status === expected(id)),
    PATIENCE_MS,
    500,
  );
  expect(new Set(carriedOut.map(({ onboardingId }) => onboardingId)).size).toBe(carriedOut.length);
  const paid = carriedOut.filter(({ onboardingId }) => statuses[onboardingId] !== "FAILED");
  const rows = await eventually(
    () =>
      queryAt(
        databaseUrl,
        "SELECT i.id, i.project_id, t.status FROM ramp.intents i JOIN ramp.transactions t ON t.intent_id = i.id WHERE i.id = ANY ($1)",
        [[...modes.keys()]],
      ),
    (read) => read.every(({ id, status }) => status === expected(String(id))),
    PATIENCE_MS,
    500,
  );
  expect(rows).toHaveLength(modes.size);
  for (const project of projects) {
    const own = new Set(rows.filter((row) => row["project_id"] === project).map(({ id }) => id));
    const lines = paid
      .filter(({ onboardingId }) => own.has(onboardingId))
      .map(
        ({ id, onboardingId }) =>
          `${id},${statuses[onboardingId] ?? ""},${amountOf(modes.get(onboardingId) ?? "")}`,
      );
    const statement = ["id,status,srcAmount", ...lines].join("\n");
    const period = { from: null, until: null };
    expect(await reconcile(database, project, { provider: "conformance", statement, ...period })).toEqual({
      ok: true,
      value: [],
    });
  }
}

/** The report has each intent once, and none is open. */
async function checkReport(all: readonly string[]): Promise<void> {
  const rows = made(await reportPostings(database, null, { from: null, until: null }));
  const sum = (field: "orders" | "payments" | "underAttention"): number =>
    rows.reduce((total, row) => total + Number(row[field]), 0);
  const failed = [...modes.values()].filter((mode) => ENDS[mode] === "FAILED").length;
  expect([sum("orders"), sum("payments"), sum("underAttention")]).toEqual([
    all.length,
    all.length - failed,
    0,
  ]);
}

/** By day and currency the report is what the misbehaving provider's own account says. */
async function checkAccounts(): Promise<void> {
  const { ledger } = await readLedger();
  const rows = made(await reportPostings(database, null, { from: null, until: null }));
  const reported: Record<string, Record<string, string>> = {};
  for (const row of rows.filter(({ provider }) => provider === "conformance")) {
    const line = (reported[`${String(row["day"])} ${String(row["currency"])}`] ??= {});
    for (const name of ["received", "delivered", "fees", "refunded", "chargedBack"]) {
      const amount = new Big(String(row[name]));
      if (!amount.eq(0)) line[name] = amount.plus(line[name] ?? 0).toFixed();
    }
  }
  console.log(`by the report: ${JSON.stringify(reported)}\nby the provider: ${JSON.stringify(ledger)}`);
  expect(reported).toEqual(ledger);
}

/** Each event was recorded once and delivered. */
async function checkWebhooks(tenants: readonly Tenant[]): Promise<void> {
  const events = await deliveredEvents((text) => queryAt(databaseUrl, text), PATIENCE_MS);
  const moves = events.map(({ move }) => move).filter((move) => move.includes(" intent.status_changed "));
  expect(new Set(moves).size).toBe(moves.length);
  const ofGood = events
    .map(({ move }) => move)
    .filter((move) => modes.get(move.split(" ")[0] ?? "") === GOOD);
  expect(new Set(ofGood).size).toBe(ofGood.length);
  const ofTenants = receiver.received.map(({ headers }) => String(headers["webhook-id"]));
  expect(new Set(ofTenants)).toEqual(new Set(events.map(({ id }) => id)));
  expect(new Set(events.map(({ project }) => project))).toEqual(new Set(tenants.map(({ id }) => id)));
}
