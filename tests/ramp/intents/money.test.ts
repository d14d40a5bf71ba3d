import { expect, it } from "vitest";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { connectProvider } from "../../../runtime/ramp/operator/integrations.js";
import { amountOf } from "../providers/conformance/modes.js";
import { ownConformanceProvider, startProcess } from "../support/processes.js";
import { eventually, FAST, made, newCustomer, onramp, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld({ polling: { ...FAST, attentionAfter: 3 } });
await world.sandbox.set({ settleMs: 50 });
const project = await world.project({ providers: [] });
made(await connectProvider(world.database, world.vault, project.id, await ownConformanceProvider()));

const SRC = { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } };

async function started(mode: string): Promise<{ auth: string; path: string; id: string; created: Reply }> {
  const auth = await newCustomer(world, project);
  const body = onramp({ src: SRC, srcAmount: amountOf(mode), autoExecute: true });
  const created = await world.call("POST", "/v1/intent", { auth, body });
  expect(created.status, created.text).toBe(201);
  const id = String(created.json.intent.id);
  return { auth, id, path: `/v1/intent/${id}`, created };
}

const until = ({ auth, path }: { auth: string; path: string }, isWanted: (json: Reply["json"]) => boolean) =>
  eventually(
    () => world.call("GET", path, { auth }),
    ({ json }) => isWanted(json),
  );

const expire = (id: string) =>
  world.rows("UPDATE ramp.intents SET expires_at = now(), next_poll_at = now() WHERE id = $1", [id]);

const events = async (id: string): Promise<readonly Record<string, unknown>[]> => {
  const rows = await world.rows(
    "SELECT type, body::jsonb -> 'data' AS data FROM ramp.events WHERE body::jsonb -> 'data' ->> 'intentId' = $1 ORDER BY sequence",
    [id],
  );
  return rows.map(({ type, data }) => ({ type, ...(data as object) }));
};

it.concurrent(
  "records a refund after SUCCESS with amount, reason and an event; the intent stays COMPLETED",
  async () => {
    const intent = await started("refund after success");
    const done = await until(intent, ({ transaction }) => transaction?.status === "REFUNDED");
    expect(done.json.intent.status).toBe("COMPLETED");
    const refunds = [{ id: "r1", amount: amountOf("refund after success"), reason: "ACH return R01" }];
    expect(done.json.transaction.context.refunds).toEqual(refunds);
    expect((await events(intent.id)).at(-1)).toMatchObject({
      type: "transaction.updated",
      status: "REFUNDED",
      refunds,
    });
  },
);

it.concurrent("gives a receipt once the payment is complete", async () => {
  const intent = await started("well behaved");
  const done = await until(intent, ({ transaction }) => transaction?.status === "SUCCESS");
  expect(done.json.transaction.context.receipt).toEqual({
    amountReceived: "98.500000",
    fees: {
      currencyCode: "USD",
      totalFee: "1.50",
      networkFee: "0.50",
      processingFee: "1.00",
      partnerFee: "0.00",
    },
    exchangeRate: "1",
    transactionHash: `0x${"ab".repeat(32)}`,
  });
  const booked =
    "SELECT account, amount::float8 AS amount FROM ramp.postings WHERE intent_id = $1 AND about = $2";
  expect(await world.rows(`${booked} ORDER BY account`, [intent.id, "fee"])).toEqual([
    { account: "fees", amount: 1.5 },
    { account: "provider", amount: -1.5 },
  ]);
});

it.concurrent("shows instructions that come after the first answer, and keeps them", async () => {
  const intent = await started("instructions after the first answer");
  expect(intent.created.json.transaction.context.instructions).toEqual([]);
  const done = await until(intent, ({ intent: { status } }) => status === "COMPLETED");
  expect(done.json.transaction.context.instructions).toHaveLength(1);
});

it.concurrent("leaves out instructions for another amount", async () => {
  const intent = await started("instructions for another amount");
  const done = await until(intent, ({ intent: { status } }) => status === "COMPLETED");
  expect(done.json.transaction.context.instructions).toEqual([]);
});

it.concurrent("removes control characters from a provider's texts", async () => {
  const intent = await started("control characters");
  const done = await until(intent, ({ intent: { status } }) => status === "COMPLETED");
  const { providerReference, instructions } = done.json.transaction.context;
  expect(providerReference).toBe("abc\ufffdd");
  expect(instructions[0].details.beneficiary).toBe("Conformance");
});

it.concurrent.each([
  ["200.00", 1],
  ["201.00", 0],
  ["202.00", 0],
  ["203.00", 0],
  ["204.00", 0],
  ["205.00", 0],
])("hands on a quote for %s only if it fits the request", async (srcAmount, count) => {
  const query = `srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&srcAmount=${srcAmount}&countryCode=US`;
  const { json } = await world.call("GET", `/v1/intent/quote?${query}`, { auth: project.basic });
  expect(json.quotes).toHaveLength(count);
});

it.concurrent(
  "hands an intent that stays unclear to the operator: metric, event, and cleared once the provider answers",
  async () => {
    const intent = await started("gateway answers each order with 403");
    const read = () => world.rows("SELECT attention FROM ramp.intents WHERE id = $1", [intent.id]);
    await eventually(read, ([row]) => JSON.stringify(row?.["attention"]) !== "{}");
    expect((await world.call("GET", intent.path, { auth: intent.auth })).json.intent.status).toBe(
      "PENDING_PAYMENT",
    );
    expect((await world.call("GET", "/metrics")).text).toMatch(/routewright_ramp_intents_attention [1-9]/);
    expect((await events(intent.id)).filter(({ type }) => type === "intent.attention")).toHaveLength(1);
    await expire(intent.id);
    await until(intent, ({ intent: { status } }) => status === "EXPIRED");
    expect((await read())[0]?.["attention"]).toEqual({});
  },
);

it.concurrent(
  "keeps an intent at the connection that it was made with when address and credentials change",
  async () => {
    const own = await world.project({ providers: ["sandbox-south"] });
    const auth = await newCustomer(world, own);
    const created = await world.call("POST", "/v1/intent", { auth, body: onramp() });
    const before = await world.sandbox.executed();
    const [, south] = SANDBOX_PROVIDERS;
    const other = await startProcess("./sandbox-process.ts");
    try {
      const { code = "", path = "", keyId = "", secret = "" } = south ?? {};
      await fetch(`${other.said}/switches`, { method: "POST", body: JSON.stringify({ settleMs: 50 }) });
      const live = { provider: code, url: other.said + path, keyId, secret };
      made(await connectProvider(world.database, world.vault, own.id, live));
      // The connections of a project are cached for five seconds.
      const later = await eventually(
        async () => {
          const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
          const rows = await world.rows("SELECT connection_version FROM ramp.intents WHERE id = $1", [
            json.intent.id,
          ]);
          return { id: String(json.intent.id), version: rows[0]?.["connection_version"] };
        },
        ({ version }) => version === 2,
      );
      for (const id of [String(created.json.intent.id), later.id]) {
        expect((await world.call("POST", `/v1/intent/${id}/transaction`, { auth })).status).toBe(202);
        await until({ auth, path: `/v1/intent/${id}` }, ({ intent: { status } }) => status === "COMPLETED");
      }
      expect((await world.sandbox.executed()).length - before.length).toBe(1);
      expect((await (await fetch(`${other.said}/executed`)).json()) as string[]).toHaveLength(1);
    } finally {
      await other.kill();
    }
  },
);
