/**
 * Two ramps on one database, which are killed at any time. `KEY_ROUNDS=100 REFUND_ROUNDS=100 UNDER_KILLS_SEED=7 npx vitest run …` runs so many
 * rounds, and others.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { refundIntent } from "../../../runtime/ramp/operator/intent-actions.js";
import type { Refund } from "../../../runtime/ramp/providers/protocol.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { atEnd } from "../../support/at-end.js";
import { queryKept } from "../../support/database.js";
import { freePort } from "../../support/port.js";
import { seeded } from "../../metrics/random-requests.js";
import {
  CARD_CAPABILITIES,
  type CardProvider,
  cardOnramp,
  ownCardProvider,
} from "../support/card-provider.js";
import { migratedDatabase } from "../support/migrated.js";
import { startProcess } from "../support/processes.js";
import { expireClaims } from "../support/recovery.js";
import {
  call,
  type CallOptions,
  eventually,
  made,
  newProject,
  onramp,
  ownSandbox,
  type Reply,
  SECRETS_KEY,
  untilTrue,
} from "../support/world.js";

const KEY_ROUNDS = Number(process.env["KEY_ROUNDS"] ?? 4);
const REFUND_ROUNDS = Number(process.env["REFUND_ROUNDS"] ?? 4);
const random = seeded(Number(process.env["UNDER_KILLS_SEED"] ?? 1));
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
const AT_ONCE = 20;
const SOME_MS = 400;

const databaseUrl = await migratedDatabase();
const sql = (text: string, values?: readonly unknown[]) => queryKept(databaseUrl, text, values);
const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined, maxConnections: 4 });
atEnd(() => database.close());
const vault = new Vault(SECRETS_KEY);
const sandbox = await ownSandbox();

async function ownRamp() {
  const environment = {
    RAMP_TEST_DATABASE: databaseUrl,
    RAMP_TEST_PORT: String(await freePort()),
    RAMP_TEST_PUBLIC_URL: "http://ramp.example",
  };
  const start = () => startProcess("./ramp-process.ts", environment);
  let running = await start();
  atEnd(() => running.kill());
  return {
    url: running.said,
    async replace(): Promise<void> {
      await running.kill("SIGKILL");
      running = await start();
    },
  };
}
const ramps = [await ownRamp(), await ownRamp()];

/** As a client that repeats its request until it gets an answer to it. */
async function persist(path: string, options: CallOptions): Promise<Reply> {
  const isFinal = (reply: Reply | null): boolean =>
    reply !== null &&
    ![429, 502, 503, 504].includes(reply.status) &&
    !["IDEMPOTENCY_IN_PROGRESS"].includes(String(reply.json?.error));
  const send = () => call(pick(ramps).url, "POST", path, options).catch(() => null);
  return (await eventually(send, isFinal, 120_000, 100)) as Reply;
}

/** Replaces one of the ramps in the midst of something, once or twice; what it was doing is taken over before the 90 s are over. */
async function withKills<T>(work: Promise<T>): Promise<T> {
  const state = { isOver: false };
  const over = work.finally(() => (state.isOver = true));
  over.catch(() => undefined);
  for (let kills = pick([1, 1, 2]); kills > 0; kills--) {
    await sleep(random() * SOME_MS);
    await pick(ramps).replace();
  }
  while (!state.isOver) {
    await expireClaims(sql);
    await Promise.race([over.catch(() => undefined), sleep(500)]);
  }
  return over;
}

const count = async (text: string, value: string): Promise<number> =>
  Number((await sql(`SELECT count(*) AS n FROM ramp.${text}`, [value]))[0]?.["n"]);

const shop = await newProject(database, vault, sandbox);
let serial = 0;

async function ownCustomer(basic = shop.basic) {
  const { json } = await persist("/v1/customers", { auth: basic, body: { id: `own-${String(++serial)}` } });
  const { id, accessToken } = json as { readonly id: string; readonly accessToken: string };
  return { id, auth: `Bearer ${accessToken}` };
}

const REFUNDING = { ...CARD_CAPABILITIES, refunds: true, refundCancels: true };

/** A payment over 100.00 at a bank of its own. */
async function paid(settings: Partial<CardProvider> = {}) {
  const execution = { receipt: { amountReceived: "99" } };
  const bank = await ownCardProvider({ status: "SUCCESS", execution, capabilities: REFUNDING, ...settings });
  const project = await newProject(database, vault, null, { providers: [] });
  made(await bank.connect({ database, vault }, project));
  const { auth } = await ownCustomer(project.basic);
  const { json } = await persist("/v1/intent", { auth, body: cardOnramp() });
  const id = String(json.intent.id);
  await untilTrue(async () => (await count("intents WHERE id = $1 AND status = 'COMPLETED'", id)) === 1);
  return { id, bank, auth: project.basic };
}

/** A request, and how many effects it has had. */
const KINDS = {
  customer() {
    const name = `customer-${String(++serial)}`;
    const effects = () => count("customers WHERE external_id = $1", name);
    const options = { auth: shop.basic, body: { id: name } };
    return Promise.resolve({ path: "/v1/customers", options, effects });
  },
  async intent() {
    const { id, auth } = await ownCustomer();
    const effects = () => count("intents WHERE customer_id = $1", id);
    return { path: "/v1/intent", options: { auth, body: onramp() }, effects };
  },
  async "automatic execution"() {
    const { auth } = await ownCustomer();
    const before = (await sandbox.executed()).length;
    const effects = async () => (await sandbox.executed()).length - before;
    return { path: "/v1/intent", options: { auth, body: onramp({ autoExecute: true }) }, effects };
  },
  async execution() {
    const { auth } = await ownCustomer();
    const { json } = await persist("/v1/intent", { auth, body: onramp() });
    const before = (await sandbox.executed()).length;
    const effects = async () => (await sandbox.executed()).length - before;
    return { path: `/v1/intent/${String(json.intent.id)}/transaction`, options: { auth }, effects };
  },
  async refund() {
    const { id, bank, auth } = await paid();
    const effects = () => Promise.resolve(bank.execution.refunds?.length ?? 0);
    const body = { amount: "40.00", reason: "goods" };
    return { path: `/v1/intents/${id}/refund`, options: { auth, body }, effects };
  },
  webhook() {
    const url = `https://93.184.216.34/${String(++serial)}`;
    const effects = () => count("webhook_endpoints WHERE url = $1", url);
    const options = { auth: shop.basic, body: { url } };
    return Promise.resolve({ path: "/v1/webhooks", options, effects });
  },
} as const;

it("twenty requests with one key have one effect and one answer", async () => {
  const names = Object.keys(KINDS) as (keyof typeof KINDS)[];
  for (let round = 0; round < KEY_ROUNDS; round++) {
    const kind = names[(round + Number(process.env["UNDER_KILLS_SEED"] ?? 1)) % names.length] ?? "intent";
    const { path, options, effects } = await KINDS[kind]();
    const key = `key-${String(round)}`;
    const sent = Array.from({ length: AT_ONCE }, () => persist(path, { ...options, key }));
    const replies = await withKills(Promise.all(sent));
    const answers = [...new Set(replies.map(({ status, text }) => `${String(status)} ${text}`))];
    expect([kind, answers.length, answers]).toEqual([kind, 1, [expect.stringMatching(/^20[12] /)]]);
    await untilTrue(async () => (await effects()) > 0);
    // Whatever is still under way has its time.
    await sleep(700);
    expect([kind, await effects()]).toEqual([kind, 1]);
  }
}, 3_600_000);

const gone = (list: readonly Refund[]): number =>
  list
    .filter(({ status = "SUCCEEDED" }) => status === "SUCCEEDED")
    .reduce((sum, { amount }) => sum + Number(amount), 0);
const onItsWay = (list: readonly Refund[]): number =>
  gone(list) +
  gone(
    list.filter(({ status }) => status === "PENDING").map((refund) => ({ ...refund, status: "SUCCEEDED" })),
  );

/** A bank that takes what is left of a payment, at once or later, and does with it what banks do. */
function bankActs(bank: CardProvider) {
  const list = (): readonly Refund[] => bank.execution.refunds ?? [];
  const set = (refunds: readonly Refund[]): void => {
    bank.status = gone(refunds) === 100 ? "REFUNDED" : "SUCCESS";
    bank.execution = { ...bank.execution, refunds: [...refunds] };
  };
  bank.listRefund = (order) => ({
    ...order,
    status:
      Number(order.amount) + onItsWay(list()) > 100 ? "FAILED" : pick(["PENDING", "SUCCEEDED"] as const),
  });
  const end = (from: Refund["status"], to: NonNullable<Refund["status"]>) => (): void => {
    const found = list().find(({ status }) => status === from);
    if (found) set(list().map((refund) => (refund === found ? { ...refund, status: to } : refund)));
  };
  const acts = [
    end("PENDING", "SUCCEEDED"),
    end("PENDING", "FAILED"),
    end("PENDING", "CANCELLED"),
    end("SUCCEEDED", "FAILED"),
    () => {
      const amount = pick(["1.00", "15.50", "60.00"]);
      const id = `return-${String(list().length)}`;
      if (Number(amount) + onItsWay(list()) <= 100)
        set([...list(), { id, amount, reason: "returned", status: "SUCCEEDED" }]);
    },
  ];
  const settle = (): void => {
    set(list().map((refund) => (refund.status === "PENDING" ? { ...refund, status: "SUCCEEDED" } : refund)));
  };
  return { list, act: () => pick(acts)(), settle };
}

it("refunds of two operators and the bank's own are as the bank has them, each once, at most what was paid", async () => {
  for (let round = 0; round < REFUND_ROUNDS; round++) {
    const { id, bank, auth } = await paid();
    const { list, act, settle } = bankActs(bank);
    const wish = () => ({
      amount: pick(["10", "30.00", "60", "99.99", "100.01"]),
      reason: pick(["a", "b", "c", "d"]),
    });
    const byProject = async (): Promise<void> => {
      for (let n = 0; n < 5; n++) {
        const { status, text } = await persist(`/v1/intents/${id}/refund`, { auth, body: wish() });
        expect([202, 400, 409, 422], text).toContain(status);
        await sleep(random() * 100);
      }
    };
    const byOperator = async (): Promise<void> => {
      for (let n = 0; n < 5; n++) {
        await refundIntent(database, id, wish());
        await sleep(random() * 100);
      }
    };
    const byBank = async (): Promise<void> => {
      for (let n = 0; n < 8; n++) {
        act();
        await sleep(random() * 150);
      }
    };
    await withKills(Promise.all([byProject(), byOperator(), byBank()]));
    const settled = `SELECT NOT EXISTS (SELECT FROM ramp.refund_requests WHERE intent_id = $1 AND state IN ('REQUESTED', 'PENDING')) AS so`;
    await untilTrue(async () => {
      settle();
      await sql("UPDATE ramp.intents SET next_poll_at = now() WHERE id = $1", [id]);
      return (await sql(settled, [id]))[0]?.["so"] === true;
    });
    const [posted] = await sql(
      "SELECT COALESCE(sum(-amount), 0)::float AS sum FROM ramp.postings WHERE intent_id = $1 AND account = 'provider' AND about LIKE 'refund%'",
      [id],
    );
    const known = await sql(
      "SELECT COALESCE(provider_id, id::text) AS id, COALESCE(listed_amount, amount)::float AS amount, state FROM ramp.refund_requests WHERE intent_id = $1 ORDER BY 1",
      [id],
    );
    const listed = list().map(({ id: of, amount, status }) => ({
      id: of,
      amount: Number(amount),
      state: status,
    }));
    const unlisted = known.filter(({ id: of }) => !listed.some((refund) => refund.id === of));
    expect(unlisted.filter(({ state }) => state !== "FAILED" && state !== "CANCELLED")).toEqual([]);
    expect(known.filter((refund) => !unlisted.includes(refund))).toEqual(
      listed.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
    expect(posted?.["sum"]).toBeCloseTo(gone(list()), 10);
    expect(gone(list())).toBeLessThanOrEqual(100);
    for (const [key, bodies] of bank.bodies) expect([key, new Set(bodies).size]).toEqual([key, 1]);
  }
}, 3_600_000);
