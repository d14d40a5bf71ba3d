/** What a provider reports is compared with quote and order: what does not fit never completes an intent silently. */
import { describe, expect, it } from "vitest";
import type { Attention, AttentionReason } from "../../../runtime/ramp/intents/intent.js";
import { listStuckIntents } from "../../../runtime/ramp/intents/attention.js";
import { diagnose, listRecords } from "../../../runtime/ramp/operator/diagnostics.js";
import { reportPostings } from "../../../runtime/ramp/operator/finance.js";
import { refundIntent, resolveIntent } from "../../../runtime/ramp/operator/intent-actions.js";
import type { Receipt } from "../../../runtime/ramp/providers/protocol.js";
import { eachBeside, itBeside } from "../../support/beside.js";
import { CARD_CAPABILITIES, type CardProvider, ownCards } from "../support/card-provider.js";
import {
  eventually,
  FAST,
  made,
  newCustomer,
  onramp,
  ownWorld,
  reached,
  type Reply,
  untilTrue,
} from "../support/world.js";

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

eachBeside(
  ["0.01", "100000"],
  "%s received for a held price of 99 is AMOUNT_MISMATCH until the provider corrects it",
  async (amountReceived) => {
    const execution = { receipt: { amountReceived } };
    const setting = await ownSetting({ status: "SUCCESS", holdMs: 60_000, execution });
    const id = await created(setting);
    const wrong = await until(setting, id, hasStatus("AMOUNT_MISMATCH"));
    expect(wrong.json.transaction.status).toBe("SUCCESS");
    expect(await needsAttention(id, "AMOUNT_MISMATCH")).toBe(
      `delivery ${String(Number(amountReceived))} USDC_POLYGON (expected 99)`,
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

/** The sums of an intent's postings, by account and what they are about. */
async function booked(id: string): Promise<Record<string, string>> {
  const rows = await world.rows(
    `SELECT concat_ws(' ', account, about, currency) AS name, trim_scale(sum(amount))::text AS sum FROM ramp.postings
     WHERE intent_id = $1 GROUP BY account, about, currency HAVING sum(amount) <> 0`,
    [id],
  );
  return Object.fromEntries(rows.map(({ name, sum }) => [String(name), String(sum)]));
}
const refund = (id: string, amount: string | null) =>
  refundIntent(world.database, id, { amount, reason: `refund ${String(amount)}` });
const SHORT = { amountSent: "60", amountReceived: "59", exchangeRate: "1" };

describe("a payment of 60 where 100 were ordered", () => {
  const capabilities = { ...CARD_CAPABILITIES, refunds: true };
  async function paidShort(receipt: Receipt = SHORT) {
    const setting = await ownSetting({ status: "SUCCESS", capabilities, execution: { receipt } });
    const id = await created(setting);
    const wrong = await until(setting, id, hasStatus("AMOUNT_MISMATCH"));
    return { setting, id, wrong };
  }

  itBeside("is booked as 60, needs attention, and at most 60 are refunded", async () => {
    const { id, wrong } = await paidShort();
    expect(wrong.json.transaction.context.receipt).toMatchObject({
      amountSent: "60.00",
      amountReceived: "59.000000",
    });
    expect(await needsAttention(id, "AMOUNT_MISMATCH")).toBe(
      "delivery 59 USDC_POLYGON (expected 99), payment 60 USD (expected 100)",
    );
    expect(await booked(id)).toMatchObject({ "provider payment USD": "60", "suspense payment USD": "-60" });
    expect(await refund(id, "100.00")).toMatchObject({
      ok: false,
      problems: ["Only 60.00 USD are left to refund."],
    });
    expect(made(await refund(id, null)).amount).toBe("60.00");
  });

  itBeside("is completed once the rest arrives", async () => {
    const { setting, id } = await paidShort();
    setting.provider.execution = { receipt: { amountSent: "100.00", amountReceived: "99" } };
    await until(setting, id, hasStatus("COMPLETED"));
    expect(await attention(id)).toBeNull();
    expect(Object.keys(await booked(id)).filter((name) => /^(suspense|write_off)/.test(name))).toEqual([]);
  });

  itBeside("is completed once the provider says that all of it was sent", async () => {
    const { setting, id } = await paidShort({ amountSent: "60", amountReceived: "99" });
    setting.provider.execution = { receipt: { amountSent: "100" } };
    await until(setting, id, hasStatus("COMPLETED"));
    expect(await attention(id)).toBeNull();
  });

  it("resolved as completed makes the order one of 60: nothing is written off that nobody was owed", async () => {
    const { id } = await paidShort();
    made(await resolveIntent(world.database, id, { as: "completed", note: "the customer agrees" }));
    const sums = await booked(id);
    expect(sums).toMatchObject({ "provider payment USD": "60", "customer order USD": "60" });
    expect(Object.keys(sums).filter((name) => /^(suspense|write_off)/.test(name))).toEqual([]);
    const report = made(await reportPostings(world.database, null, { from: null, until: null }));
    expect(report.some(({ writtenOff }) => writtenOff !== "0")).toBe(false);
  });

  itBeside("resolved as failed is owed back as 60", async () => {
    const { id } = await paidShort();
    const ended = made(await resolveIntent(world.database, id, { as: "failed", note: "wants it back" }));
    expect(ended.status).toBe("TRANSACTION_FAILED");
    expect(await booked(id)).toMatchObject({ "customer payment USD": "-60" });
  });

  it("that the receipt does not tell is not refunded before it does, or before the operator decides", async () => {
    const { setting, id } = await paidShort({ amountReceived: "59" });
    expect(await refund(id, "100.00")).toMatchObject({
      ok: false,
      problems: [expect.stringContaining("does not say what the source sent")],
    });
    setting.provider.execution = { receipt: SHORT };
    await until(setting, id, ({ transaction }) => transaction.context.receipt.amountSent === "60.00");
    expect(made(await refund(id, "60.00")).amount).toBe("60.00");
  });
});

eachBeside(
  ["99.60", "100.40"],
  "a payment of %s where 100 were ordered is within the tolerance and settles the order",
  async (amountSent) => {
    const execution = { receipt: { amountSent, amountReceived: "99" } };
    const setting = await ownSetting({ status: "SUCCESS", execution });
    const id = await created(setting);
    await until(setting, id, hasStatus("COMPLETED"));
    expect(await booked(id)).toMatchObject({ "provider payment USD": String(Number(amountSent)) });
    const left =
      "SELECT COALESCE(sum(amount), 0) = 0 FROM ramp.postings WHERE intent_id = $1 AND account = 'customer'";
    expect(await world.holds(left, [id])).toBe(true);
  },
);

it("the sandbox pays short where it is switched so", async () => {
  const project = await world.project();
  const auth = await newCustomer(world, project);
  await world.sandbox.set({ settleMs: 50, sentPercent: 60 });
  const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
  const wrong = await reached(world, `/v1/intent/${json.intent.id}`, { auth }, "AMOUNT_MISMATCH");
  await world.sandbox.set({ sentPercent: 100 });
  expect(wrong.json.transaction.context.receipt.amountSent).toBe("60.00");
  expect(await needsAttention(json.intent.id, "AMOUNT_MISMATCH")).toContain("payment 60 USD");
  expect((await attention(json.intent.id))?.FEE_MISMATCH).toBeUndefined();
});

describe("an offer whose amount does not follow from its own rate and fees", () => {
  eachBeside(
    ["0.500000", "98.000000", "100.000000", "101.000000"],
    "%s for 100.00 at rate 1 with a fee of 1 is not offered, and nothing is ordered at it",
    async (destAmount) => {
      const setting = await ownSetting({
        status: "SUCCESS",
        destAmounts: { CARD: destAmount, WIRE: destAmount },
      });
      const { project, provider } = setting;
      const query = "srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&srcAmount=100.00&countryCode=US";
      const quotes = await world.call("GET", `/v1/intent/quote?${query}`, { auth: project.basic });
      expect(quotes.json).toEqual({
        quotes: [],
        unavailable: [expect.objectContaining({ reason: "INVALID_OFFER" })],
      });
      const reply = await setting.create();
      expect(reply.json.intent ?? {}).not.toHaveProperty("price");
      expect(provider.bodies.has("execution")).toBe(false);
    },
  );

  it("puts the connection under attention until it makes a good one", async () => {
    const setting = await ownSetting({ destAmounts: { CARD: "0.500000", WIRE: "0.500000" } });
    const { project, provider, providerId } = setting;
    // The providers of other tests are gone, and calls to them are repeated.
    await world.rows("UPDATE ramp.provider_connections SET enabled = false WHERE project_id <> $1", [
      project.id,
    ]);
    const ask = () =>
      world.call(
        "GET",
        "/v1/intent/quote?srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&srcAmount=100.00&countryCode=US",
        { auth: project.basic },
      );
    const problem = async () => {
      const findings = await diagnose(world.database, world.vault);
      return findings.find(
        ({ check, ok, detail }) => check === "provider" && !ok && detail.includes(project.id),
      )?.detail;
    };
    const metric = async () => (await world.call("GET", "/metrics")).text;
    await ask();
    expect(await problem()).toContain("destAmount 0.500000 is not 99, which is 100.00 at its rate and fees");
    expect(await metric()).toMatch(/routewright_ramp_providers_attention [1-9]/);
    const listed = await listRecords(world.database, "connections", project.id);
    expect(listed).toMatchObject([{ providerId, attention: expect.stringContaining("0.500000") }]);
    provider.destAmounts = { CARD: "99.000000", WIRE: "99.000000" };
    expect((await ask()).json.quotes).toHaveLength(1);
    expect(await problem()).toBeUndefined();
  });
});

itBeside("without a price nothing is ordered; autoExecute goes on once the provider quotes", async () => {
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

itBeside("a receipt that cannot be an amount of the currency completes nothing", async () => {
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

itBeside("refunds come in parts; more than was paid needs attention", async () => {
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

it.each([
  ["FAILED", "TRANSACTION_FAILED", []],
  ["REFUNDED", "COMPLETED", ["RECEIPT_MISSING"]],
] as const)("a payment that goes back undelivered, reported as %s: %s", async (status, then, reasons) => {
  const setting = await ownSetting({ status: "PROCESSING" });
  const id = await created(setting);
  await until(setting, id, hasStatus("TRANSACTION_IN_PROGRESS"));
  setting.provider.status = status;
  setting.provider.execution = { refunds: [{ id: "r1", amount: "100", reason: "not delivered" }] };
  const { json } = await until(setting, id, hasStatus(then));
  expect(json.transaction).toMatchObject({ status, context: { refunds: [{ amount: "100.00" }] } });
  expect(Object.keys((await attention(id)) ?? {})).toEqual(reasons);
});

itBeside("instructions that do not fit need attention: the customer cannot pay", async () => {
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

eachBeside(
  ["FAILED", "CANCELLED"] as const,
  "an order that is executed after it was %s is seen without a callback",
  async (status) => {
    const setting = await ownSetting({ status });
    const id = await created(setting);
    await until(setting, id, hasStatus(status === "FAILED" ? "TRANSACTION_FAILED" : "CANCELLED"));
    setting.provider.status = "SUCCESS";
    expect(await needsAttention(id, "LATE_PAYMENT")).toBe("payment 100 USD");
  },
);

itBeside("an order is repeated with the very same bytes, also after it was read again", async () => {
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
  // A busy machine repeats it once more.
  expect(sent.length).toBeGreaterThanOrEqual(6);
  expect(new Set(sent).size).toBe(1);
  const [row] = await world.rows("SELECT order_body FROM ramp.transactions WHERE intent_id = $1", [id]);
  expect(row?.["order_body"]).toBe(sent[0]);
});
