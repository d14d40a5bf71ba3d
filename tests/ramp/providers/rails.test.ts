/** Rails come with the capabilities of a provider: the ramp serves some that its code does not name. */
import { describe, expect, it } from "vitest";
import { CARD_CAPABILITIES, ownCards } from "../support/card-provider.js";
import { ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();
const { project, provider: cards, auth, create: createWith } = await ownCards(world);
const create = (details: Readonly<Record<string, unknown>>): Promise<Reply> =>
  createWith({
    src: { currencyCode: "USD", details: { countryCode: "US", ...details } },
    autoExecute: false,
  });

describe("a rail that a provider brings", () => {
  it("has its account fields in the requirements", async () => {
    const ask = (query: string): Promise<Reply> =>
      world.call("GET", `/v1/intent/requirements?srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON${query}`, {
        auth: project.basic,
      });
    expect((await ask("&rail=WIRE")).json.src.schema).toMatchObject({
      title: "Bank account (Wire)",
      required: ["bic", "accountNumber"],
      properties: { bic: { type: "string" }, rail: { const: "WIRE" } },
    });
    expect((await ask("")).json.src.schema.anyOf).toHaveLength(2);
    expect((await ask("&rail=ACH")).json.error).toBe("UNSUPPORTED_PATH");
  });

  it("takes an intent with its account fields, and hands them to the provider", async () => {
    const { status, json, text } = await create({ rail: "CARD", cardToken: "tok_1234" });
    expect(status, text).toBe(201);
    expect(json.intent.status).toBe("PENDING_PAYMENT");
    expect(cards.ordered.at(-1)).toMatchObject({ rail: "CARD", src: { details: { cardToken: "tok_1234" } } });
    const wrong = await create({ rail: "CARD", cardToken: "4111 1111 1111 1111" });
    expect([wrong.status, wrong.json.error, wrong.json.details[0].path]).toEqual([
      400,
      "INVALID_ACCOUNT_DETAILS",
      "/src/details/cardToken",
    ]);
    expect((await create({ rail: "SEPA" })).json.error).toBe("UNSUPPORTED_PATH");
    expect((await create({ rail: 7 })).json.error).toBe("INVALID_ACCOUNT_DETAILS");
  });

  it("is chosen by the details, not by the best price of a rail that they do not fit", async () => {
    const { status, text } = await create({ bic: "COBADEFF", accountNumber: "12345678" });
    expect(status, text).toBe(201);
    expect(cards.ordered.at(-1)?.rail).toBe("WIRE");
    expect((await create({})).status).toBe(201);
    expect(cards.ordered.at(-1)?.rail).toBe("CARD");
  });
});

describe("the price of an intent", () => {
  it("is that of the best quote, which its orders name to a provider that holds it", async () => {
    cards.holdMs = 60_000;
    const { json, text } = await create({});
    expect(json.intent?.price, text).toMatchObject({ destAmount: "99.000000", hasIndicativePrice: false });
    const order = await world.call("POST", `/v1/intent/${json.intent.id}/transaction`, { auth });
    expect(order.status, order.text).toBe(202);
    const [onboarding, execution] = cards.ordered.slice(-2);
    expect(onboarding).toMatchObject({ rail: "CARD", quoteId: "held-CARD" });
    expect(execution).toEqual(onboarding);
  });

  it.each([
    ["is not held", null],
    ["is held until a time that has passed", -1_000],
  ])("that %s has no quote that orders name", async (_, holdMs) => {
    cards.holdMs = holdMs;
    const { json, text } = await create({});
    expect(json.intent?.price, text).toMatchObject({ destAmount: "99.000000" });
    expect(cards.ordered.at(-1)).not.toHaveProperty("quoteId");
  });
});

it.each([
  [
    "with a schema that is none",
    { rails: [{ ...CARD_CAPABILITIES.rails[0], properties: { x: { type: 1 } } }] },
  ],
  ["with a pair on a rail that is not described", { rails: CARD_CAPABILITIES.rails.slice(1) }],
])("capabilities are refused %s", async (_, change) => {
  cards.capabilities = { ...CARD_CAPABILITIES, ...change } as typeof CARD_CAPABILITIES;
  const result = await cards.connect(world, await world.project({ providers: [] }));
  cards.capabilities = CARD_CAPABILITIES;
  expect(result).toMatchObject({ ok: false, problem: expect.stringContaining("rail") });
});
