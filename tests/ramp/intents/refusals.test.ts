/** A provider refuses an onboarding: what follows by its reason (runtime/ramp/docs/intents.md, Refusals). */
import { describe, expect, it } from "vitest";
import { REFUSALS } from "../../../runtime/ramp/intents/refusal.js";
import { connectProvider } from "../../../runtime/ramp/operator/integrations.js";
import { REFUSAL_REASONS } from "../../../runtime/ramp/providers/refusal-reasons.js";
import {
  CARD_CAPABILITIES,
  type CardProvider,
  FEES,
  ownCardProvider,
  ownCards,
} from "../support/card-provider.js";
import { eventually, made, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();

/** Cards that refuse for a reason, and, with `two`, another provider that pays less. */
async function begin(
  refusesOnboarding: CardProvider["refusesOnboarding"],
  { two = false, ...settings }: Partial<CardProvider> & { readonly two?: boolean } = {},
) {
  const cards = await ownCards(world, { refusesOnboarding, ...settings });
  const { project, auth } = cards;
  const other = await ownCardProvider({
    capabilities: { ...CARD_CAPABILITIES, code: "other", name: "Other" },
    destAmounts: { CARD: "98.000000" },
    fees: { ...FEES, totalFee: "2.00", processingFee: "2.00" },
  });
  const connection = { ...other.connection, provider: "other" };
  if (two) made(await connectProvider(world.database, world.vault, project.id, connection));
  const read = (id: string): Promise<Reply> =>
    world.call("GET", `/v1/intents/${id}`, { auth: project.basic });
  const until = (id: string, isSo: (json: Reply["json"]) => boolean): Promise<Reply> =>
    eventually(
      () => read(id),
      ({ json }) => isSo(json),
    );
  const told = async (): Promise<readonly string[]> => {
    const { json } = await world.call("GET", "/v1/events?order=asc", { auth: project.basic });
    return (json as { type: string; data: Record<string, string> }[]).map(
      ({ type, data }) => `${type} ${String(data["reason"] ?? data["status"])}`,
    );
  };
  return { ...cards, other, auth, read, until, told };
}

const pageOf = async ({ json }: Reply): Promise<string> =>
  (await world.call("GET", new URL(String(json.onboardingUrl)).pathname)).text;

const ENDS = {
  waits: "PENDING",
  "next candidate": "REFUSED",
  COMPLIANCE_FAILED: "COMPLIANCE_FAILED",
} as const;

describe("a refusal of the only provider", () => {
  it.each(REFUSAL_REASONS)("for %s comes to what the table says", async (reason) => {
    const { create, provider, told, project } = await begin({ error: "NO", reason });
    const created = await create();
    const status = ENDS[REFUSALS[reason].then];
    expect(created.json.intent).toMatchObject({ status, refusal: { reason, message: "Not here." } });
    expect(created.json.intent.failureReason).toBe(status === "PENDING" ? undefined : "Not here.");
    const events = await told();
    expect(events[1]).toBe(`intent.refused ${reason}`);
    expect(events[2]).toBe(status === "PENDING" ? undefined : `intent.status_changed ${status}`);
    expect(provider.received.size).toBe(0);
    const list = await world.call("GET", `/v1/intents?status=${status}`, { auth: project.basic });
    expect(list.json).toHaveLength(1);
  });

  it.each([
    ["QUOTE_EXPIRED", "PRICE"],
    ["QUOTE_USED", "PRICE"],
    ["ANY_OTHER", "IDENTITY"],
  ])("without a reason, with the error %s, is one for %s", async (error, reason) => {
    const { create } = await begin({ error });
    expect((await create()).json.intent.refusal).toEqual({ reason, message: "Not here." });
  });

  it("that is none of the protocol holds the intent", async () => {
    const { create, until } = await begin({ error: "NO", reason: "WEATHER" });
    const id = String((await create()).json.intent.id);
    const { json } = await until(id, ({ attention }) => attention !== undefined);
    expect(json.attention.INVALID_ANSWER).toContain("/reason");
    expect(json.intent).not.toHaveProperty("refusal");
  });
});

describe("a refusal that waits", () => {
  it("for a maintenance goes on with the same order, and its page says so", async () => {
    const { create, provider, until } = await begin({ error: "NO", reason: "MAINTENANCE" });
    const created = await create();
    const id = String(created.json.intent.id);
    expect(await pageOf(created)).toContain(REFUSALS.MAINTENANCE.words);
    provider.refusesOnboarding = null;
    const { json } = await until(id, ({ transaction }) => transaction !== undefined);
    expect(json.intent).not.toHaveProperty("refusal");
    const orders = provider.bodies.get(`onboarding:${id}`) ?? [];
    expect(orders.length).toBeGreaterThan(1);
    expect(new Set(orders).size).toBe(1);
  });

  it("ends with the intent: EXPIRED, or CANCELLED, with the refusal and without attention", async () => {
    const { create, auth, until } = await begin({ error: "NO", reason: "MAINTENANCE" });
    const [late, left] = [await create(), await create()];
    const expired = String(late.json.intent.id);
    await world.rows("UPDATE ramp.intents SET expires_at = now(), next_poll_at = now() WHERE id = $1", [
      expired,
    ]);
    const ended = await until(expired, ({ intent }) => intent.status === "EXPIRED");
    expect(ended.json.intent.refusal.reason).toBe("MAINTENANCE");
    expect(ended.json).not.toHaveProperty("attention");
    const cancelled = String(left.json.intent.id);
    await world.call("POST", `/v1/intent/${cancelled}/cancel`, { auth });
    await until(cancelled, ({ intent }) => intent.status === "CANCELLED");
  });

  it("for its price goes on at a new one that is not worse, under another key", async () => {
    const { create, provider, until, told } = await begin({ error: "QUOTE_EXPIRED" }, { holdMs: 60_000 });
    const id = String((await create()).json.intent.id);
    provider.refusesOnboarding = null;
    provider.offer = { quoteId: "renewed" };
    const { json } = await until(id, ({ transaction }) => transaction !== undefined);
    expect(json.intent).not.toHaveProperty("refusal");
    const [order] = [...provider.bodies].filter(([key]) => key.startsWith(`onboarding:${id}:`)).slice(-1);
    expect(JSON.parse(order?.[1][0] ?? "")).toMatchObject({ id, movement: { quoteId: expect.any(String) } });
    for (const bodies of provider.bodies.values()) expect(new Set(bodies).size).toBe(1);
    const refused = (await told()).filter((line) => line === "intent.refused PRICE");
    expect(refused.length).toBeGreaterThan(0);
  });

  it("with the reason PRICE waits while the new price is lower, and sends one event", async () => {
    const { create, provider, until, told } = await begin({ error: "QUOTE_EXPIRED" }, { holdMs: 60_000 });
    const created = await create();
    const id = String(created.json.intent.id);
    provider.destAmounts = { CARD: "97.000000" };
    provider.fees = { ...FEES, totalFee: "3.00", processingFee: "3.00" };
    provider.refusesOnboarding = null;
    const { json } = await until(id, ({ intent }) => intent.newPrice !== undefined);
    expect(json.intent).toMatchObject({ status: "PENDING", price: { destAmount: "99.000000" } });
    expect(json).not.toHaveProperty("attention");
    const page = await pageOf(created);
    for (const words of ["The price has changed", "97.00", "99.00", "Accept the new price"])
      expect(page).toContain(words);
    expect((await told()).filter((line) => line === "intent.refused PRICE")).toHaveLength(1);
    expect(provider.received.size).toBe(0);
  });
});

describe("the next candidate", () => {
  it.each(["LIMIT", "COUNTRY", "ACCOUNT"])("takes what was refused for %s", async (reason) => {
    const { create, provider, other, told, providerId } = await begin({ error: "NO", reason }, { two: true });
    const { json } = await create({ maxSlippage: "2" });
    expect(json.intent).toMatchObject({
      provider: "Other",
      providerCode: "other",
      price: { destAmount: "98.000000" },
    });
    expect(json.intent.providerId).not.toBe(providerId);
    expect(json.intent).not.toHaveProperty("refusal");
    expect([provider.received.size, other.received.size]).toEqual([0, 1]);
    expect(await told()).toContain(`intent.refused ${reason}`);
  });

  it("that pays less than was accepted is offered, and asked once it is accepted", async () => {
    const { create, other, provider, auth, until } = await begin(
      { error: "NO", reason: "LIMIT" },
      { two: true },
    );
    const { json } = await create();
    const id = String(json.intent.id);
    expect(json.intent).toMatchObject({
      ...{ status: "PENDING", provider: "Cards", price: { destAmount: "99.000000" } },
      newPrice: { provider: "Other", providerCode: "other", destAmount: "98.000000" },
    });
    expect([provider.bodies.size, other.bodies.size]).toEqual([1, 0]);
    const { quoteId } = json.intent.newPrice as { quoteId: string };
    await world.call("POST", `/v1/intent/${id}/quote`, { auth, body: { quoteId } });
    const ordered = await until(id, ({ transaction }) => transaction !== undefined);
    expect(ordered.json.intent).toMatchObject({ provider: "Other", price: { destAmount: "98.000000" } });
    expect([provider.received.size, other.received.size]).toEqual([0, 1]);
  });

  it("refuses too: REFUSED, and the page says why", async () => {
    const { create, other, auth, told } = await begin({ error: "NO", reason: "LIMIT" }, { two: true });
    other.refusesOnboarding = { error: "NO", reason: "COUNTRY" };
    const { json } = await create({ maxSlippage: "2" });
    expect(json.intent).toMatchObject({
      status: "REFUSED",
      refusal: { reason: "COUNTRY" },
      provider: "Other",
    });
    expect(json.onboardingUrl).toBeNull();
    expect((await told()).filter((line) => line.startsWith("intent.refused"))).toEqual([
      "intent.refused LIMIT",
      "intent.refused COUNTRY",
    ]);
    const cancel = await world.call("POST", `/v1/intent/${String(json.intent.id)}/cancel`, { auth });
    expect(cancel.json.error).toBe("INTENT_CLOSED");
  });

  it("may wait: a maintenance there is one of the intent", async () => {
    const { create, other, until } = await begin({ error: "NO", reason: "LIMIT" }, { two: true });
    other.refusesOnboarding = { error: "NO", reason: "MAINTENANCE" };
    const { json } = await create({ maxSlippage: "2" });
    expect(json.intent).toMatchObject({
      status: "PENDING",
      refusal: { reason: "MAINTENANCE" },
      provider: "Other",
    });
    other.refusesOnboarding = null;
    await until(String(json.intent.id), ({ transaction }) => transaction !== undefined);
  });

  it("is not tried where the request names the provider, by id, by code or by a quote", async () => {
    const { create, other, provider, providerId, auth } = await begin(
      { error: "NO", reason: "LIMIT" },
      { two: true, holdMs: 60_000 },
    );
    const src = {
      currencyCode: "USD",
      details: { countryCode: "US", rail: "CARD", cardToken: "tok_abcd", provider: "cards" },
    };
    const { json } = await world.call(
      "GET",
      "/v1/intent/quote?srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&countryCode=US&srcAmount=100.00",
      { auth },
    );
    const quote = (json.quotes as { id?: string; providerId: string; rail: string }[]).find(
      (one) => one.providerId === providerId && one.rail === "CARD",
    );
    for (const named of [{ providerId }, { src }, { quoteId: quote?.id }])
      expect((await create(named)).json.intent).toMatchObject({ status: "REFUSED", providerId });
    expect([provider.received.size, other.bodies.size]).toEqual([0, 0]);
  });
});
