/** What a provider reports is compared with quote and order: what does not fit never completes an intent silently. */
import { expect, it } from "vitest";
import type { Attention, AttentionReason } from "../../../runtime/ramp/intents/intent.js";
import { listStuckIntents } from "../../../runtime/ramp/intents/attention.js";
import { refundIntent } from "../../../runtime/ramp/operator/intent-actions.js";
import { CARD_CAPABILITIES, type CardProvider, ownCards } from "../support/card-provider.js";
import { eventually, FAST, made, ownWorld, type Reply, untilTrue } from "../support/world.js";

const world = await ownWorld({ polling: FAST });

const ownSetting = (settings: Partial<CardProvider> = {}) => ownCards(world, settings);
type Setting = Awaited<ReturnType<typeof ownSetting>>;

async function created({ create }: Setting, more = {}): Promise<string> {
  const reply = await create(more);
  expect(reply.status, reply.text).toBe(201);
  return String(reply.json.intent.id);
}

const until = ({ auth }: Setting, id: string, isExpected: (json: Reply["json"]) => boolean) =>
  eventually(
    () => world.call("GET", `/v1/intent/${id}`, { auth }),
    ({ json }) => isExpected(json),
  );
const hasStatus =
  (status: string) =>
  ({ intent }: Reply["json"]): boolean =>
    intent.status === status;

const attention = async (id: string): Promise<Attention | null> =>
  (await listStuckIntents(world.database)).find(({ intentId }) => intentId === id)?.attention ?? null;
const needsAttention = async (id: string, code: AttentionReason) => {
  const found = await eventually(
    () => attention(id),
    (reasons) => reasons?.[code] !== undefined,
  );
  return found?.[code];
};

it.each(["0.01", "100000"])(
  "%s received for a held price of 99 is AMOUNT_MISMATCH until the provider corrects it",
  async (amountReceived) => {
    const execution = { receipt: { amountReceived } };
    const setting = await ownSetting({ status: "SUCCESS", holdMs: 60_000, execution });
    const id = await created(setting);
    const wrong = await until(setting, id, hasStatus("AMOUNT_MISMATCH"));
    expect(wrong.json.transaction.status).toBe("SUCCESS");
    expect(await needsAttention(id, "AMOUNT_MISMATCH")).toBe(
      `delivery ${String(Number(amountReceived))} USDC_POLYGON`,
    );
    const cancelled = await world.call("POST", `/v1/intent/${id}/cancel`, { auth: setting.auth });
    expect(cancelled.json.error).toBe("INTENT_CLOSED");
    // Within the tolerance of half a percent; with the decimals of the currency.
    setting.provider.execution = { receipt: { amountReceived: "98.6" } };
    const right = await until(setting, id, hasStatus("COMPLETED"));
    expect(right.json.transaction.context.receipt.amountReceived).toBe("98.600000");
    expect(await attention(id)).toBeNull();
  },
);

it("without a price nothing is ordered; autoExecute goes on once the provider quotes", async () => {
  const setting = await ownSetting({
    status: "SUCCESS",
    quotes: false,
    execution: { receipt: { amountReceived: "0.01" } },
  });
  const id = await created(setting);
  await untilTrue(() => world.holds("SELECT failed_attempts > 1 FROM ramp.intents WHERE id = $1", [id]));
  const waiting = await until(setting, id, () => true);
  expect(waiting.json).toMatchObject({ intent: { status: "PENDING_PAYMENT" } });
  expect(waiting.json.intent).not.toHaveProperty("price");
  expect(waiting.json).not.toHaveProperty("transaction");
  setting.provider.quotes = true;
  const wrong = await until(setting, id, hasStatus("AMOUNT_MISMATCH"));
  expect(wrong.json.intent.price).toMatchObject({ destAmount: "99.000000" });
  // What is received is compared with the recorded price, whatever the provider quotes later.
  setting.provider.quotes = false;
  await needsAttention(id, "AMOUNT_MISMATCH");
  setting.provider.execution = { receipt: { amountReceived: "96" } };
  await until(setting, id, hasStatus("COMPLETED"));
});

it("an explicit order without a price is refused with an error that can be retried with the same key", async () => {
  const setting = await ownSetting({ status: "SUCCESS", quotes: false });
  const id = await created(setting, { autoExecute: false });
  const order = () =>
    world.call("POST", `/v1/intent/${id}/transaction`, { auth: setting.auth, key: "order" });
  const refused = await order();
  expect([refused.status, refused.json.error]).toEqual([503, "PROVIDER_UNAVAILABLE"]);
  expect(setting.provider.bodies.has("execution")).toBe(false);
  setting.provider.quotes = true;
  expect((await order()).status).toBe(202);
  const { json } = await until(setting, id, ({ transaction }) => transaction !== undefined);
  expect(json.intent.price).toMatchObject({ destAmount: "99.000000" });
});

it("a receipt that cannot be an amount of the currency completes nothing", async () => {
  const receipt = { amountReceived: "99.00000001" };
  const setting = await ownSetting({ status: "SUCCESS", execution: { receipt } });
  const id = await created(setting);
  await until(setting, id, hasStatus("AMOUNT_MISMATCH"));
  expect(await needsAttention(id, "AMOUNT_MISMATCH")).toContain("not an amount of USDC_POLYGON");
  setting.provider.execution = {};
  await needsAttention(id, "RECEIPT_MISSING");
  expect((await until(setting, id, () => true)).json.intent.status).toBe("AMOUNT_MISMATCH");
  setting.provider.execution = { receipt: { amountReceived: "99" } };
  await until(setting, id, hasStatus("COMPLETED"));
});

it("a receipt that changes after COMPLETED needs attention; the difference is in suspense until it is resolved", async () => {
  const setting = await ownSetting({ status: "SUCCESS", execution: { receipt: { amountReceived: "99" } } });
  const id = await created(setting);
  await until(setting, id, hasStatus("COMPLETED"));
  setting.provider.execution = { receipt: { amountReceived: "98", transactionHash: "0x1" } };
  expect(await needsAttention(id, "RECEIPT_CHANGED")).toBe("delivery 1 USDC_POLYGON");
  const { json } = await until(setting, id, () => true);
  expect(json.transaction.context.receipt).toEqual({ amountReceived: "98.000000", transactionHash: "0x1" });
  expect(json.intent.status).toBe("COMPLETED");
  // A receipt without an amount erases none.
  setting.provider.execution = { receipt: { transactionHash: "0x2" } };
  const later = await until(
    setting,
    id,
    ({ transaction }) => transaction.context.receipt.transactionHash === "0x2",
  );
  expect(later.json.transaction.context.receipt.amountReceived).toBe("98.000000");
});

it("refunds come in parts; more than was paid needs attention", async () => {
  const receipt = { amountReceived: "99" };
  const setting = await ownSetting({ status: "SUCCESS", execution: { receipt } });
  const id = await created(setting);
  await until(setting, id, hasStatus("COMPLETED"));
  const part = { id: "r1", amount: "30", reason: "first" };
  setting.provider.execution = { receipt, refunds: [part] };
  const first = await until(setting, id, ({ transaction }) => transaction.context.refunds?.length === 1);
  expect(first.json.transaction).toMatchObject({
    status: "SUCCESS",
    context: { refunds: [{ amount: "30.00" }] },
  });
  setting.provider.status = "REFUNDED";
  setting.provider.execution = { receipt, refunds: [part, { id: "r2", amount: "70", reason: "rest" }] };
  const last = await until(setting, id, ({ transaction }) => transaction.context.refunds.length === 2);
  expect(last.json.transaction.status).toBe("REFUNDED");
  setting.provider.execution = { receipt, refunds: [part, { id: "r3", amount: "170", reason: "too much" }] };
  await needsAttention(id, "REFUND_MISMATCH");
});

it("a refund that the provider accepts and does not list needs attention", async () => {
  const execution = { receipt: { amountReceived: "99" } };
  const setting = await ownSetting({
    status: "SUCCESS",
    execution,
    capabilities: { ...CARD_CAPABILITIES, refunds: true },
  });
  const id = await created(setting);
  await until(setting, id, hasStatus("COMPLETED"));
  Object.defineProperty(setting.provider, "execution", { get: () => execution, set: () => undefined });
  made(await refundIntent(world.database, id, { amount: "40.00", reason: "lost" }));
  expect(await needsAttention(id, "REFUND_MISMATCH")).toBe("40 accepted, 0 listed");
});

it("instructions that do not fit need attention: the customer cannot pay", async () => {
  const details = { rail: "CARD", currency: "USD", amount: "999.00" };
  const setting = await ownSetting({
    status: "AWAITING_FUNDS",
    execution: { instructions: [{ encoding: "DISPLAY", type: "BANK", details }] },
  });
  const id = await created(setting);
  expect(await needsAttention(id, "INVALID_INSTRUCTIONS")).toContain("amount is not 100.00");
  setting.provider.execution = {
    instructions: [{ encoding: "DISPLAY", type: "BANK", details: { ...details, amount: "100.00" } }],
  };
  await until(setting, id, ({ transaction }) => transaction.context.instructions.length === 1);
  expect(await attention(id)).toBeNull();
});

it.each(["FAILED", "CANCELLED"] as const)(
  "an order that is executed after it was %s is seen without a callback",
  async (status) => {
    const setting = await ownSetting({ status });
    const id = await created(setting);
    await until(setting, id, hasStatus(status === "FAILED" ? "TRANSACTION_FAILED" : "CANCELLED"));
    setting.provider.status = "SUCCESS";
    expect(await needsAttention(id, "LATE_PAYMENT")).toBe("payment 100 USD");
  },
);

it("an order is repeated with the very same bytes, also after it was read again", async () => {
  const setting = await ownSetting({ dropOrders: 5, status: "PROCESSING" });
  const src = {
    currencyCode: "USD",
    details: { rail: "CARD", label: "z", countryCode: "US", cardToken: "tok_abcd", accountHolderName: "A" },
  };
  const id = await created(setting, { src });
  await until(setting, id, ({ transaction }) => transaction?.status === "IN_PROGRESS");
  const bodies = [...setting.provider.bodies].filter(([key]) => key.startsWith("execution:"));
  expect(bodies).toHaveLength(1);
  const [sent = []] = bodies.map(([, all]) => all);
  expect(sent.length).toBe(6);
  expect(new Set(sent).size).toBe(1);
  const [row] = await world.rows("SELECT order_body FROM ramp.transactions WHERE intent_id = $1", [id]);
  expect(row?.["order_body"]).toBe(sent[0]);
});
