/** Rails come with the capabilities of a provider: the ramp serves some that its code does not name. */
import { describe, expect, it } from "vitest";
import { CARD_CAPABILITIES, ownCards } from "../support/card-provider.js";
import {
  eventually,
  expectRefused,
  made,
  newCustomer,
  onramp,
  ownWorld,
  type Reply,
} from "../support/world.js";

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

it("pairs that every other call refuses are not listed as supported", async () => {
  const own = await world.project({ providers: [] });
  const pairOf = (change: object) => ({ ...CARD_CAPABILITIES.pairs[0], ...change });
  const refused = [
    pairOf({ destCurrencyCode: "DOGE_MOON" }),
    pairOf({ destCurrencyCode: "usdc_POLYGON" }),
    pairOf({ destCurrencyCode: "EUR" }),
    pairOf({ srcCurrencyCode: "USDC_POLYGON", destCurrencyCode: "USDC_BASE" }),
    pairOf({ destCurrencyCode: "USDC_BASE", countries: [] }),
    pairOf({ destCurrencyCode: "USDC_ETHEREUM", countries: ["XX"] }),
    pairOf({ destCurrencyCode: "USDT_POLYGON", minSrcAmount: "10", maxSrcAmount: "1" }),
  ];
  cards.capabilities = {
    ...CARD_CAPABILITIES,
    pairs: [...refused, ...CARD_CAPABILITIES.pairs],
  } as typeof CARD_CAPABILITIES;
  made(await cards.connect(world, own));
  cards.capabilities = CARD_CAPABILITIES;
  const listed = await world.call("GET", "/v1/currencies/supported", { auth: own.basic });
  const offer = { countries: ["US"], minimum: "1.00", maximum: "1000.00" };
  const offers = ["CARD", "WIRE"].map((rail) => expect.objectContaining({ ...offer, rail }) as unknown);
  const pair = { from: "USD", to: "USDC_POLYGON", providerIds: [expect.any(String)], offers };
  expect(listed.json).toEqual([pair]);
});

/** Doubles with each level. */
const DOUBLING = Object.fromEntries(
  Array.from({ length: 30 }, (_, n) => {
    const next = { $ref: `#/properties/x/$defs/d${String(n + 1)}` };
    return [`d${String(n)}`, { allOf: [next, next] }];
  }),
);

it.each([
  ["a look-ahead", { pattern: "^(?=a)b" }],
  ["a look-behind", { pattern: "(?<!a)b" }],
  ["a back-reference", { pattern: "(a+)\\1" }],
  ["a named back-reference", { pattern: "(?<n>a+)\\k<n>" }],
  ["repetitions of repetitions", { pattern: "((a{100}){100}){100}" }],
  ["one pattern that is large", { pattern: `^${"a{900}".repeat(5)}$` }],
  [
    "many patterns",
    { allOf: Array.from({ length: 500 }, (_, n) => ({ pattern: `^[a-z]{${String(n)},900}$` })) },
  ],
  ["a look-ahead in the name of a property", { type: "object", patternProperties: { "(?=a)": {} } }],
  ["a look-ahead deep inside", { items: { anyOf: [{ not: { propertyNames: { pattern: "(?!a)" } } }] } }],
  ["a reference to itself", { $ref: "#" }],
  ["references that double", { $ref: "#/properties/x/$defs/d0", $defs: DOUBLING }],
  ["a dynamic reference", { $dynamicRef: "#x" }],
  ["an id", { $id: "https://json-schema.org/draft/2020-12/schema" }],
  ["an answer that is a promise", { $async: true, type: "string" }],
  ["a comparison of all items", { type: "array", uniqueItems: true }],
  ["many levels", JSON.parse(`${'{"not":'.repeat(40)}{}${"}".repeat(40)}`)],
  ["a long schema", { description: "x".repeat(70_000) }],
])("capabilities are refused whose fields have %s", async (_, x) => {
  const [rail, ...others] = CARD_CAPABILITIES.rails;
  const properties = { ...rail?.properties, x };
  cards.capabilities = {
    ...CARD_CAPABILITIES,
    rails: [{ ...rail, properties }, ...others],
  } as typeof CARD_CAPABILITIES;
  const result = await cards.connect(world, await world.project({ providers: [] }));
  cards.capabilities = CARD_CAPABILITIES;
  expect(result).toMatchObject({ ok: false, problems: [expect.stringContaining("cannot be checked")] });
});

it("patterns of providers take linear time, and their values are bounded", async () => {
  const own = await world.project({ providers: [] });
  const [rail, ...others] = CARD_CAPABILITIES.rails;
  const cardToken = { type: "string", pattern: "^([a-zA-Z0-9]+\\s?)+$" };
  const named = { id: { type: "string" }, $ref: { type: "string", pattern: "^\\p{L}+$" } };
  const properties = {
    ...rail?.properties,
    ...named,
    cardToken,
    names: { type: "object", patternProperties: { "^(a+)+$": {} } },
  };
  cards.capabilities = {
    ...CARD_CAPABILITIES,
    rails: [{ ...rail, properties }, ...others],
  } as typeof CARD_CAPABILITIES;
  made(await cards.connect(world, own));
  const customer = await newCustomer(world, own);
  const pay = (more: object): Promise<Reply> =>
    world.call("POST", "/v1/intent", {
      auth: customer,
      body: onramp({ src: { currencyCode: "USD", details: { countryCode: "US", rail: "CARD", ...more } } }),
    });
  const refused = [
    await pay({ cardToken: `${"a".repeat(2_000)}!` }),
    await pay({ names: { [`${"a".repeat(2_000)}!`]: 1 }, $ref: "1" }),
    await pay({ cardToken: "a".repeat(5_000) }),
    await pay({ names: { list: Array.from({ length: 100_000 }, () => 1) } }),
  ];
  expectRefused(refused, 400, "INVALID_ACCOUNT_DETAILS");
  const good = await pay({ cardToken: "tok 1234", id: "x", $ref: "Zoë", names: { aaa: 1 } });
  expect(good.status, good.text).toBe(201);
  // A version of before may have stored what this one refuses: the rail is not offered.
  await world.rows(
    `UPDATE ramp.provider_connections SET capabilities = jsonb_set(capabilities, '{rails,0,properties,cardToken}', '{"pattern": "(?=a)"}') WHERE project_id = $1`,
    [own.id],
  );
  await eventually(
    () => pay({ cardToken: "tok 1234" }),
    ({ json }) => json.error === "UNSUPPORTED_PATH",
  );
  cards.capabilities = CARD_CAPABILITIES;
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
  expect(result).toMatchObject({ ok: false, problems: [expect.stringContaining("rail")] });
});
