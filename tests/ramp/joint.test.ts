/**
 * All at once: a provider that misbehaves, one that is frozen and one that is slow, each with its tenants, and three ramp
 * processes that are killed in turn. Checked in the provider's ledger, the report, the reconciliation and the webhooks. The
 * whole size: `JOINT_INTENTS=2000 JOINT_KILLS=40 npx vitest run --config tests/vitest.config.ts tests/ramp/joint.test.ts`.
 */
import { afterAll, expect, it } from "vitest";
import { migrate } from "../../runtime/ramp/database/migrate.js";
import { openDatabase } from "../../runtime/ramp/database/ramp-database.js";
import { reconcile, reportIntents } from "../../runtime/ramp/setup/finance.js";
import { connectProvider } from "../../runtime/ramp/setup/integrations.js";
import { addWebhook } from "../../runtime/ramp/setup/webhooks.js";
import { Vault } from "../../runtime/ramp/vault.js";
import { amountOf } from "./conformance/modes.js";
import { ownBalancer } from "./support/balancer.js";
import { cardOnramp, ownCardProvider } from "./support/card-provider.js";
import { freePort, startProcess } from "./support/processes.js";
import { ownReceiver } from "./support/receiver.js";
import {
  call,
  eventually,
  made,
  newProject,
  onramp,
  ownDatabase,
  ownerRows,
  SECRETS_KEY,
} from "./support/world.js";

const INTENTS = Number(process.env["JOINT_INTENTS"] ?? 60);
const KILLS = Number(process.env["JOINT_KILLS"] ?? 2);
const PATIENCE_MS = 60_000 + INTENTS * 100;
/** Requests under way for the tenants of a provider. */
const CLIENTS = 8;
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

const databaseUrl = await ownDatabase();
await migrate(databaseUrl);
const receiver = await ownReceiver();
const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined, maxConnections: 4 });
const vault = new Vault(SECRETS_KEY);
const misbehaving = await startProcess("../conformance/provider-process.ts");
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
  await Promise.all([misbehaving.kill(), ...ramps.map(({ process: running }) => running.kill())]);
  await database.close();
});

/** A project of a provider's, with a webhook and a customer. */
async function tenant(connection: {
  readonly provider: string;
  readonly url: string;
  readonly keyId: string;
  readonly secret: string;
}) {
  const project = await newProject(
    database,
    vault,
    { url: "", set: unused, executed: unused },
    { providers: [] },
  );
  made(await connectProvider(database, vault, project.id, connection));
  const { secret } = made(
    await addWebhook(database, vault, project.id, { url: receiver.url, allowPrivate: true }),
  );
  const { json } = await persistently("/v1/customers", { auth: project.basic, body: { id: "customer" } });
  return { id: project.id, secret, auth: `Bearer ${String(json.accessToken)}` };
}
const unused = (): Promise<never> => Promise.reject(new Error("not used"));
type Tenant = Awaited<ReturnType<typeof tenant>>;

/** As a client does whose server is killed: repeats under the same key until there is an answer. */
async function persistently(path: string, options: Parameters<typeof call>[3]) {
  const reply = await eventually(
    () => call(balancer.url, "POST", path, options).catch(() => null),
    (answer) => answer !== null && answer.status !== 409 && answer.status < 500,
    PATIENCE_MS,
    100,
  );
  if (reply?.status !== 201) throw new Error(reply?.text);
  return reply;
}

/** Mode of each intent at the misbehaving provider, by id. */
const modes = new Map<string, string>();

/** Creates intents, a few at a time; `modeOf` null: at a provider of one behaviour. */
async function create(
  tenants: readonly Tenant[],
  count: number,
  modeOf: ((n: number) => string) | null,
): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      const { auth } = tenants[n % tenants.length] as Tenant;
      const mode = modeOf?.(n) ?? null;
      const body =
        mode === null
          ? cardOnramp()
          : onramp({ src: CONFORMING, srcAmount: amountOf(mode), autoExecute: true });
      const { json } = await persistently("/v1/intent", { auth, key: `key-${String(++serial)}`, body });
      ids.push(String(json.intent.id));
      if (mode !== null) modes.set(String(json.intent.id), mode);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return ids;
}
let serial = 0;
const CONFORMING = {
  currencyCode: "USD",
  details: { countryCode: "US", rail: "ACH", provider: "conformance" },
};

const OPEN = "status NOT IN ('COMPLETED', 'TRANSACTION_FAILED')";
const noneOpen = (among: readonly string[]): Promise<unknown> =>
  eventually(
    () =>
      ownerRows(
        databaseUrl,
        `SELECT id, status, attention_reason FROM ramp.intents WHERE ${OPEN} AND id = ANY ($1)`,
        [among],
      ),
    (rows) => rows.length === 0,
    PATIENCE_MS,
    500,
  );

/** Prints within how many seconds 90 % of the well-behaved intents were completed. */
async function report(phase: string, among: readonly string[]): Promise<void> {
  const good = among.filter((id) => modes.get(id) === GOOD);
  const [row] = await ownerRows(
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
    // The claim's owner is dead: nothing waits ninety seconds for it here.
    await ownerRows(
      databaseUrl,
      "UPDATE ramp.idempotency_claims SET owned_until = now() WHERE response_status IS NULL",
    );
  }
}

it(
  "keeps its invariants under kills, a provider that misbehaves, one that is frozen and one that is slow",
  { timeout: 120_000 + INTENTS * 600 },
  async () => {
    const tenants = await Promise.all(
      [1, 2, 3, 4].map(() => tenant(JSON.parse(misbehaving.said) as Parameters<typeof tenant>[0])),
    );
    const [frozen, slow] = await Promise.all([ownCardProvider(), ownCardProvider()]);
    const card = ({ url, keyId }: typeof slow) => tenant({ provider: "cards", url, keyId, secret: "secret" });
    const [ofFrozen, ofSlow] = [await card(frozen), await card(slow)];
    let thaw = (): void => undefined;
    const frozenUntil = new Promise<void>((resolve) => (thaw = resolve));
    frozen.answerOrder = frozen.answerLookUp = () => frozenUntil;
    slow.answerOrder = slow.answerLookUp = () => new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    slow.status = frozen.status = "SUCCESS";

    const share = (part: number): number => Math.max(Math.round(INTENTS * part), 8);
    const quiet = await create(tenants, share(0.1), () => GOOD);
    await noneOpen(quiet);
    await report("quiet", quiet);
    const sides = [create([ofFrozen], share(0.15), null), create([ofSlow], share(0.15), null)];
    const beside = await create(tenants, share(0.2), (n) =>
      n % 2 === 0 ? GOOD : (WAYS[n % WAYS.length] ?? GOOD),
    );
    await noneOpen(beside);
    await report("beside a frozen and a slow tenant", beside);
    const killing = kill(KILLS);
    const killed = await create(tenants, share(0.4), (n) =>
      n % 2 === 0 ? GOOD : (WAYS[n % WAYS.length] ?? GOOD),
    );
    const cards = (await Promise.all(sides)).flat();
    await killing;
    thaw();
    const all = [...quiet, ...beside, ...killed, ...cards];
    await noneOpen(all);
    await report("and under kills", killed);

    await checkLedger([...tenants.map(({ id }) => id)]);
    await checkReport(all);
    await checkWebhooks([...tenants, ofFrozen, ofSlow]);
  },
);

interface Ledger {
  readonly carriedOut: readonly { readonly id: string; readonly onboardingId: string }[];
  /** Status of each execution, by the intent's id. */
  readonly statuses: Readonly<Record<string, string>>;
}

/** Each order was carried out once, and both sides agree on what became of it. */
async function checkLedger(projects: readonly Tenant["id"][]): Promise<void> {
  const { url } = JSON.parse(misbehaving.said) as { url: string };
  const ledger = (): Promise<Ledger> =>
    fetch(`${url}/truth`).then((response) => response.json() as Promise<Ledger>);
  const expected = (id: string): string => ENDS[modes.get(id) ?? ""] ?? "";
  // A refund comes after the end.
  const { carriedOut, statuses } = await eventually(
    ledger,
    (read) => Object.entries(read.statuses).every(([id, status]) => status === expected(id)),
    PATIENCE_MS,
    500,
  );
  expect(new Set(carriedOut.map(({ onboardingId }) => onboardingId)).size).toBe(carriedOut.length);
  const paid = carriedOut.filter(({ onboardingId }) => statuses[onboardingId] !== "FAILED");
  const rows = await eventually(
    () =>
      ownerRows(
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
  const rows = made(await reportIntents(database, null, { from: null, until: null }));
  const sum = (field: "intents" | "completed" | "open" | "mismatched"): number =>
    rows.reduce((total, row) => total + row[field], 0);
  const failed = [...modes.values()].filter((mode) => ENDS[mode] === "FAILED").length;
  expect([sum("intents"), sum("completed"), sum("open"), sum("mismatched")]).toEqual([
    all.length,
    all.length - failed,
    0,
    0,
  ]);
}

/** Each event was recorded once and delivered. */
async function checkWebhooks(tenants: readonly Tenant[]): Promise<void> {
  // What a killed process was sending is due after minutes: not waited for here.
  await ownerRows(
    databaseUrl,
    "UPDATE ramp.webhook_deliveries SET attempt_at = now(), attempted_until = NULL WHERE status = 'PENDING'",
  );
  const events = await eventually(
    () =>
      ownerRows(
        databaseUrl,
        "SELECT v.id, v.project_id, v.type, v.body::jsonb -> 'data' AS data, d.status FROM ramp.events v JOIN ramp.webhook_deliveries d ON d.event_id = v.id",
      ),
    (rows) => rows.every(({ status }) => status === "DELIVERED"),
    PATIENCE_MS,
    500,
  );
  const moves = events
    .filter(({ type }) => type === "intent.status_changed")
    .map(({ data }) => {
      const { intentId, status } = data as { intentId: string; status: string };
      return `${intentId} ${status}`;
    });
  expect(new Set(moves).size).toBe(moves.length);
  const ofTenants = receiver.received.map(({ headers }) => String(headers["webhook-id"]));
  expect(new Set(ofTenants)).toEqual(new Set(events.map(({ id }) => String(id))));
  expect(new Set(events.map((event) => event["project_id"]))).toEqual(new Set(tenants.map(({ id }) => id)));
}
