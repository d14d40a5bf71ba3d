/** Receipts, fees and refunds as providers write them: what cannot be read is not taken for what was ordered. */
import { describe, expect } from "vitest";
import { listStuckIntents } from "../../../runtime/ramp/intents/attention.js";
import { refundIntent, resolveIntent } from "../../../runtime/ramp/operator/intent-actions.js";
import { eachBeside } from "../../support/beside.js";
import type { Receipt } from "../../../runtime/ramp/providers/protocol.js";
import { CARD_CAPABILITIES, type CardProvider, FEES, ownCards } from "../support/card-provider.js";
import { FAST, made, ownWorld, reached, untilTrue } from "../support/world.js";

const world = await ownWorld({ polling: FAST });
const capabilities = { ...CARD_CAPABILITIES, refunds: true };

/** An intent over 100.00 USD at a price of 99 whose order is in a status. */
async function paid(settings: Partial<CardProvider>, status: string) {
  const setting = await ownCards(world, { status: "SUCCESS", capabilities, ...settings });
  const { json, text } = await setting.create();
  expect(json.intent, text).toBeDefined();
  const id = String(json.intent.id);
  const reply = await reached(world, `/v1/intent/${id}`, { auth: setting.auth }, status);
  return { id, provider: setting.provider, shown: reply.json };
}

const refund = (id: string, amount: string) =>
  refundIntent(world.database, id, { amount, reason: `refund ${amount}` });
const attentionOf = async (id: string) =>
  (await listStuckIntents(world.database)).find(({ intentId }) => intentId === id)?.attention;
/** What is posted at an account about something, as a decimal. */
const postedTo = async (id: string, account: string, about: string): Promise<string> => {
  const [row] = await world.rows(
    "SELECT COALESCE(sum(amount), 0)::float8::text AS sum FROM ramp.postings WHERE intent_id = $1 AND account = $2 AND about LIKE $3",
    [id, account, about],
  );
  return String(row?.["sum"]);
};

const UNREADABLE: readonly [string, Receipt][] = [
  ["too many decimals", { amountSent: "60.001", amountReceived: "59" }],
  ["zero", { amountSent: "0", amountReceived: "59" }],
  ["a delivery with too many decimals", { amountSent: "60", amountReceived: "59.1234567" }],
  [
    "a fee that is no sum of its parts",
    { amountSent: "60", amountReceived: "59", fees: { ...FEES, totalFee: "9.00" } },
  ],
];

eachBeside(
  UNREADABLE,
  "a receipt that cannot be read (%s) is not a payment of all that was ordered",
  async ([, receipt]) => {
    const { id, provider } = await paid({ execution: { receipt } }, "AMOUNT_MISMATCH");
    expect(await refund(id, "100.00")).toMatchObject({
      ok: false,
      problems: [expect.stringContaining("does not say what the source sent")],
    });
    expect(await postedTo(id, "suspense", "payment")).toBe("-100");
    provider.execution = { receipt: { amountSent: "60", amountReceived: "59" } };
    await untilTrue(async () => (await postedTo(id, "provider", "payment")) === "60");
    expect(await refund(id, "100.00")).toMatchObject({
      ok: false,
      problems: ["Only 60.00 USD are left to refund."],
    });
    expect(made(await refund(id, "60.00")).amount).toBe("60.00");
  },
);

eachBeside(
  ["unlisted", "refund", "payment", "%", "a b"],
  "a refund whose id is %j is posted as any other",
  async (name) => {
    const receipt = { amountReceived: "99" };
    const { id, provider } = await paid({ execution: { receipt } }, "COMPLETED");
    provider.execution = { receipt, refunds: [{ id: name, amount: "30", reason: "" }] };
    await untilTrue(async () => (await postedTo(id, "provider", "refund%")) === "-30");
    expect(await refund(id, "70.01")).toMatchObject({
      ok: false,
      problems: ["Only 70.00 USD are left to refund."],
    });
    provider.status = "REFUNDED";
    await untilTrue(async () => (await postedTo(id, "provider", "refund%")) === "-100");
    expect(Object.keys((await attentionOf(id)) ?? {})).toEqual(["REFUND_MISMATCH"]);
  },
);

describe("an offer with fewer digits than its currency", () => {
  eachBeside(["99", "99.0", "99.000000"], "%s is a price with all of them", async (destAmount) => {
    const fees = { ...FEES, totalFee: "1", networkFee: "0", processingFee: "1.0", partnerFee: "0" };
    const setting = { destAmounts: { CARD: destAmount, WIRE: destAmount }, fees };
    const receipt = { amountSent: "60.55", amountReceived: "59.55", exchangeRate: "1" };
    const { id, shown } = await paid({ ...setting, execution: { receipt } }, "AMOUNT_MISMATCH");
    expect(shown.intent.price).toMatchObject({
      destAmount: "99.000000",
      fees: { totalFee: "1.00", networkFee: "0.00" },
    });
    made(await resolveIntent(world.database, id, { as: "completed", note: "the customer agrees" }));
    expect(await postedTo(id, "write_off", "%")).toBe("0");
    expect(await postedTo(id, "customer", "%")).toBe("0");
  });
});

eachBeside(
  ["0.33", "0.34", "1.00"],
  "a fee of %s for a third of what was ordered at a fee of 1.00 is its share, rounded, or all of it",
  async (totalFee) => {
    const fees = { ...FEES, totalFee, processingFee: totalFee };
    const receipt = { amountSent: "33.33", amountReceived: "32.33", fees };
    const { id } = await paid({ holdMs: 60_000, execution: { receipt } }, "AMOUNT_MISMATCH");
    expect(Object.keys((await attentionOf(id)) ?? {})).toEqual(["AMOUNT_MISMATCH"]);
  },
);
