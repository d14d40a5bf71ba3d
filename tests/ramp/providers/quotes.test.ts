/** Quotes that a provider holds, and the price that an intent was made at. */
import { describe, expect, it } from "vitest";
import { ownCardProvider } from "../support/card-provider.js";
import { eventually, made, newCustomer, onramp, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();
const cards = await ownCardProvider();
const project = await world.project({ providers: [] });
made(await cards.connect(world, project));
const auth = await newCustomer(world, project);

const quotes = async (holdMs: number | null, basic = project.basic): Promise<Record<string, unknown>[]> => {
  cards.holdMs = holdMs;
  const query = "srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&srcAmount=100.00&countryCode=US";
  const { status, json, text } = await world.call("GET", `/v1/intent/quote?${query}`, { auth: basic });
  expect(status, text).toBe(200);
  return json.quotes as Record<string, unknown>[];
};
const create = (more: Readonly<Record<string, unknown>>, bearer = auth): Promise<Reply> =>
  world.call("POST", "/v1/intent", {
    auth: bearer,
    body: onramp({ src: { currencyCode: "USD", details: { countryCode: "US" } }, ...more }),
  });

describe("a quote", () => {
  it("has an id and an expiry while its provider holds the price", async () => {
    const [held] = await quotes(60_000);
    expect(held).toMatchObject({ rail: "CARD", destAmount: "99.000000", hasIndicativePrice: false });
    expect(held?.["quoteId"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(Date.parse(String(held?.["expiresAt"]))).toBeGreaterThan(Date.now());
  });

  it.each([
    ["is not held", null],
    ["is held until a time that has passed", -1_000],
  ])("that %s has none", async (_, holdMs) => {
    const [open] = await quotes(holdMs);
    expect(open).toMatchObject({ destAmount: "99.000000" });
    expect(open).not.toHaveProperty("quoteId");
    expect(open).not.toHaveProperty("expiresAt");
  });
});

describe("an intent", () => {
  it("is made at the price of the quote that it names, which its orders name to the provider", async () => {
    const [held] = await quotes(60_000);
    const { status, json, text } = await create({ quoteId: held?.["quoteId"], autoExecute: true });
    expect(status, text).toBe(201);
    const price = {
      quoteId: held?.["quoteId"],
      destAmount: "99.000000",
      exchangeRate: "1",
      fees: held?.["fees"],
      hasIndicativePrice: false,
    };
    expect(json.intent.price).toEqual(price);
    const read = await world.call("GET", `/v1/intent/${json.intent.id}`, { auth });
    expect(read.json.intent.price).toEqual(price);
    const [onboarding, execution] = cards.ordered.slice(-2);
    expect(onboarding).toMatchObject({ rail: "CARD", quoteId: "held-CARD" });
    expect(execution).toEqual(onboarding);
  });

  it("carries the price of the best quote when it named none and there was a choice", async () => {
    cards.holdMs = null;
    const { json, text } = await create({});
    expect(json.intent?.price, text).toMatchObject({ destAmount: "99.000000", hasIndicativePrice: true });
    expect(cards.ordered.at(-1)).not.toHaveProperty("quoteId");
  });

  it("is refused with a quote that has expired", async () => {
    const [held] = await quotes(700);
    const expired = await eventually(
      () => create({ quoteId: held?.["quoteId"] }),
      ({ json }) => json.error === "QUOTE_EXPIRED",
    );
    expect(expired.status).toBe(400);
  });

  it("is refused with a quote for another payment, another project's, or none", async () => {
    const [held] = await quotes(60_000);
    const quoteId = held?.["quoteId"];
    const other = await world.project({ providers: [] });
    made(await cards.connect(world, other));
    const [foreign] = await quotes(60_000, other.basic);
    for (const wrong of [
      { quoteId, srcAmount: "101.00" },
      { quoteId, src: { currencyCode: "USD", details: { countryCode: "US", rail: "WIRE" } } },
      { quoteId: foreign?.["quoteId"] },
      { quoteId: crypto.randomUUID() },
    ]) {
      const { status, json } = await create(wrong);
      expect([status, json.error], JSON.stringify(wrong)).toEqual([400, "INVALID_QUOTE"]);
    }
    const malformed = await create({ quoteId: "x" });
    expect(malformed.json.error).toBe("INVALID_REQUEST");
  });
});

describe("the sandbox", () => {
  it("holds the quotes of one of its providers", async () => {
    const own = await world.project();
    const bearer = await newCustomer(world, own);
    const found = await quotes(null, own.basic);
    const held = found.find(({ quoteId }) => quoteId !== undefined);
    expect(found).toHaveLength(2);
    const { status, json, text } = await create({ quoteId: held?.["quoteId"] }, bearer);
    expect(status, text).toBe(201);
    expect(json.intent).toMatchObject({
      provider: "Sandbox South",
      price: { destAmount: held?.["destAmount"], hasIndicativePrice: false },
    });
  });
});
