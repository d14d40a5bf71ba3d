/** The price of an intent is renewed where its provider no longer holds it (runtime/ramp/docs/intents.md, Refusals). */
import { describe, expect, it } from "vitest";
import { FEES, ownCards } from "../support/card-provider.js";
import { eventually, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();

interface PriceChange {
  readonly type: string;
  readonly data: { readonly price: { destAmount: string }; readonly previousPrice: { destAmount: string } };
}

/** An intent whose price of 99 has expired, at a provider that asks `fee` for a new one. */
async function expired(fee: string, more: Readonly<Record<string, unknown>> = {}) {
  const cards = await ownCards(world, { refusesOnboarding: { error: "QUOTE_EXPIRED" }, holdMs: 60_000 });
  const { create, provider, project } = cards;
  const created = await create(more);
  const id = String(created.json.intent.id);
  const reprice = (total: string): void => {
    provider.destAmounts = { CARD: `${(100 - Number(total)).toFixed(2)}0000` };
    provider.fees = { ...FEES, totalFee: total, processingFee: total };
  };
  reprice(fee);
  const read = (): Promise<Reply> => world.call("GET", `/v1/intents/${id}`, { auth: project.basic });
  const changes = async (): Promise<readonly string[]> => {
    const { json } = await world.call("GET", "/v1/events?order=asc", { auth: project.basic });
    return (json as PriceChange[])
      .filter(({ type }) => type === "intent.price_changed")
      .map(({ data: { price, previousPrice } }) => `${previousPrice.destAmount} ${price.destAmount}`);
  };
  const offered = (): Promise<Reply> => eventually(read, ({ json }) => json.intent.newPrice !== undefined);
  const ordered = (): Promise<Reply> => eventually(read, ({ json }) => json.transaction !== undefined);
  return { ...cards, created, read, changes, reprice, offered, ordered };
}

describe("a renewed price", () => {
  it.each([
    ["0.50", {}, "99.500000"],
    ["1.50", { maxSlippage: "1" }, "98.500000"],
    ["1.99", { maxSlippage: "1" }, "98.010000"],
  ])("at a fee of %s with %o is taken and told", async (fee, more, destAmount) => {
    const { provider, changes, ordered } = await expired(fee, more);
    provider.refusesOnboarding = null;
    const { json } = await ordered();
    expect(json.intent.price.destAmount).toBe(destAmount);
    expect(json.intent.maxSlippage).toBe((more as { maxSlippage?: string }).maxSlippage);
    expect(await changes()).toEqual([`99.000000 ${destAmount}`]);
  });

  it.each([
    ["1.01", {}],
    ["2.00", { maxSlippage: "1" }],
  ])("at a fee of %s with %o is not: nothing is ordered", async (fee, more) => {
    const { provider, changes, offered } = await expired(fee, more);
    provider.refusesOnboarding = null;
    expect((await offered()).json.intent).toMatchObject({
      status: "PENDING",
      price: { destAmount: "99.000000" },
    });
    expect(await changes()).toEqual([]);
    expect(provider.received.size).toBe(0);
  });

  it("that expires too is compared with the accepted one: slippages do not add up", async () => {
    const { provider, changes, reprice, offered } = await expired("1.90", { maxSlippage: "1" });
    await eventually(changes, (told) => told.length === 1);
    reprice("2.80");
    provider.refusesOnboarding = { error: "QUOTE_EXPIRED" };
    expect((await offered()).json.intent.price.destAmount).toBe("98.100000");
    expect(await changes()).toEqual(["99.000000 98.100000"]);
    expect(provider.received.size).toBe(0);
  });
});

describe("a worse price", () => {
  async function worse() {
    const set = await expired("3.00");
    set.provider.refusesOnboarding = null;
    const { json } = await set.offered();
    return { ...set, id: String(json.intent.id), newPrice: json.intent.newPrice as Record<string, string> };
  }

  it.each(["customer", "project"])("is offered and, accepted by the %s, ordered", async (who) => {
    const { auth, project, id, newPrice, provider, changes, ordered } = await worse();
    expect(newPrice).toMatchObject({ destAmount: "97.000000", previousDestAmount: "99.000000" });
    expect(provider.received.size).toBe(0);
    const [path, as] = who === "customer" ? ["intent", auth] : ["intents", project.basic];
    const { quoteId } = newPrice;
    const reply = await world.call("POST", `/v1/${path}/${id}/quote`, { auth: as, body: { quoteId } });
    expect(reply.status).toBe(202);
    expect(reply.json.intent).not.toHaveProperty("newPrice");
    const { json } = await ordered();
    expect(json.intent.price.destAmount).toBe("97.000000");
    expect(await changes()).toEqual(["99.000000 97.000000"]);
    const again = await world.call("POST", `/v1/${path}/${id}/quote`, { auth: as, body: { quoteId } });
    expect(again.status).toBeGreaterThanOrEqual(400);
  });

  it("is accepted by its own id alone, and only while it is held", async () => {
    const { auth, id, newPrice, provider } = await worse();
    const accept = (quoteId: unknown) =>
      world.call("POST", `/v1/intent/${id}/quote`, { auth, body: { quoteId } });
    expect((await accept("00000000-0000-4000-8000-000000000000")).json.error).toBe("NOT_FOUND");
    provider.quotes = false;
    await world.rows(
      'UPDATE ramp.intents SET new_price = new_price || \'{"expiresAt": "2020-01-01T00:00:00Z"}\' WHERE id = $1',
      [id],
    );
    expect((await accept(newPrice["quoteId"])).json.error).toBe("QUOTE_EXPIRED");
    expect(provider.received.size).toBe(0);
  });
});

it.each(["-1", "100.01", "1.234", "1%", ""])("maxSlippage is no percentage: %s", async (maxSlippage) => {
  const { create } = await ownCards(world);
  const { status, json } = await create({ maxSlippage });
  expect([status, json.details[0].path]).toEqual([400, "/maxSlippage"]);
});
