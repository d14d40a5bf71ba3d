import { describe, expect, it } from "vitest";
import { newCustomer, onramp, ownWorld, type Reply, WALLET } from "../support/world.js";

const world = await ownWorld();
const project = await world.project();

describe("quotes and requirements", () => {
  const quote = (query: string): Promise<Reply> =>
    world.call("GET", `/v1/intent/quote?${query}`, { auth: project.basic });
  const USD = "srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&srcAmount=1000&countryCode=US";

  it("come from every provider of the path, best first, with all fields", async () => {
    const { status, json } = await quote(USD);
    expect(status).toBe(200);
    expect(json.quotes).toHaveLength(2);
    expect(json.quotes[0]).toEqual({
      id: expect.any(String),
      expiresAt: expect.any(String),
      providerId: expect.any(String),
      providerCode: "sandbox-south",
      type: "ONRAMP",
      rail: "ACH",
      srcAmount: "1000.00",
      hasIndicativePrice: false,
      destAmount: "993.950000",
      exchangeRate: "1.00000000",
      fees: {
        currencyCode: "USD",
        totalFee: "6.05",
        networkFee: "0.05",
        processingFee: "6.00",
        partnerFee: "0.00",
      },
    });
    expect(Number(json.quotes[1].destAmount)).toBeLessThan(993.95);
    expect(json.unavailable).toEqual([]);
  });

  it("an amount beyond what every provider takes is refused as such, with the limit", async () => {
    const auth = await newCustomer(world, project);
    const create = async (srcAmount: string) => {
      const { status, json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ srcAmount }) });
      return [status, json.error, json.message];
    };
    expect(await create("0.50")).toEqual([400, "AMOUNT_TOO_SMALL", "The least that is taken is 1.00 USD."]);
    expect(await create("50000.01")).toEqual([
      400,
      "AMOUNT_TOO_LARGE",
      "The most that is taken is 50000.00 USD.",
    ]);
  });

  it("are of every provider, or say why it has none", async () => {
    const asked = async (query: string) => {
      const { json } = await quote(query);
      expect([...json.quotes, ...json.unavailable]).toHaveLength(2);
      return json.unavailable.map((why: object) => ({ ...why, providerId: undefined }));
    };
    const [north, south] = [{ providerCode: "sandbox-north" }, { providerCode: "sandbox-south" }];
    await world.sandbox.set({ failNext: 1 });
    expect(await asked(USD)).toMatchObject([{ reason: "PROVIDER_UNAVAILABLE" }]);
    await world.sandbox.set({ failNext: 0 });
    const neither = [north, south].map((provider) => ({ ...provider, reason: "PAIR_NOT_SUPPORTED" }));
    expect(
      await asked("srcCurrencyCode=JPY&destCurrencyCode=USDC_POLYGON&srcAmount=1000&countryCode=JP"),
    ).toEqual(neither);
    expect(await asked("srcCurrencyCode=USD&destCurrencyCode=EUR&srcAmount=1000&countryCode=US")).toEqual(
      neither,
    );
    expect(await asked(USD.replace("countryCode=US", "countryCode=BR"))).toEqual([
      { ...north, reason: "COUNTRY_NOT_SUPPORTED" },
    ]);
    const [small, large] = [
      { minimum: "10.00", maximum: "50000.00" },
      { minimum: "1.00", maximum: "10000.00" },
    ];
    expect(await asked(USD.replace("1000", "5"))).toEqual([
      { ...north, reason: "AMOUNT_TOO_SMALL", ...small },
    ]);
    expect(await asked(USD.replace("1000", "10000.01"))).toEqual([
      { ...south, reason: "AMOUNT_TOO_LARGE", ...large },
    ]);
    expect(await asked(USD.replace("1000", "1.01"))).toEqual([
      { ...south, reason: "NOT_OFFERED" },
      { ...north, reason: "AMOUNT_TOO_SMALL", ...small },
    ]);
  });

  it.each([
    ["100.000000", ["101.22", "101.56"]],
    ["0.1", ["1.16"]],
    ["993.950000", ["1000.00", "1004.20"]],
  ])("of what is received cost the least that pays for it: %s", async (destAmount, srcAmounts) => {
    const query = (amount: string) =>
      `srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&countryCode=US&${amount}`;
    const { json } = await quote(query(`destAmount=${destAmount}`));
    expect(json.quotes.map(({ srcAmount }: { srcAmount: string }) => srcAmount).sort()).toEqual(
      srcAmounts.sort(),
    );
    for (const { srcAmount, destAmount: received, providerCode } of json.quotes as Record<string, string>[]) {
      expect(Number(received)).toBe(Number(destAmount));
      const same = await quote(query(`srcAmount=${String(srcAmount)}`));
      const paid = same.json.quotes.find(
        (other: Record<string, string>) => other["providerCode"] === providerCode,
      );
      expect(Number(paid.destAmount)).toBeGreaterThanOrEqual(Number(destAmount));
      const less = await quote(query(`srcAmount=${(Number(srcAmount) - 0.01).toFixed(2)}`));
      const unpaid = less.json.quotes.find(
        (other: Record<string, string>) => other["providerCode"] === providerCode,
      );
      expect(Number(unpaid.destAmount)).toBeLessThan(Number(destAmount));
    }
  });

  it("of what is received keep the provider's limits", async () => {
    const { json } = await quote(
      "srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&countryCode=US&destAmount=20000",
    );
    expect(json.quotes).toHaveLength(1);
    expect(json.unavailable).toMatchObject([
      { providerCode: "sandbox-south", reason: "AMOUNT_TOO_LARGE", maximum: "10000.00" },
    ]);
  });

  it.each([
    ["srcAmount=1000&countryCode=US&srcCurrencyCode=USD", "INVALID_REQUEST"],
    [USD.replace("&srcAmount=1000", ""), "INVALID_REQUEST"],
    [`${USD}&destAmount=1000`, "INVALID_REQUEST"],
    [USD.replace("srcAmount=1000", "destAmount=0"), "INVALID_AMOUNT"],
    [USD.replace("srcAmount=1000", "destAmount=1.0000001"), "INVALID_AMOUNT"],
    [USD.replace("1000", "1e3"), "INVALID_REQUEST"],
    [USD.replace("1000", "-1"), "INVALID_REQUEST"],
    [USD.replace("1000", "1."), "INVALID_REQUEST"],
    [USD.replace("1000", "9".repeat(500)), "INVALID_REQUEST"],
    [USD.replace("1000", "00"), "INVALID_AMOUNT"],
    [USD.replace("1000", "1.001"), "INVALID_AMOUNT"],
    [USD.replace("=US&", "=XX&").replace("countryCode=US", "countryCode=XX"), "UNKNOWN_COUNTRY"],
    [USD.replace("countryCode=US", "countryCode=USA"), "INVALID_REQUEST"],
    [USD.replace("USDC_POLYGON", "NOPE_POLYGON"), "UNKNOWN_CURRENCY"],
    [USD.replace("USDC_POLYGON", "U-S"), "INVALID_REQUEST"],
    [USD.replace("USDC_POLYGON", "U"), "INVALID_REQUEST"],
  ])("refuse %s as %s", async (query, code) => {
    const { status, json } = await quote(query);
    expect([status, json.error]).toEqual([400, code]);
  });

  it("give the JSON Schemas of both accounts", async () => {
    const ask = (query: string): Promise<Reply> =>
      world.call("GET", `/v1/intent/requirements?${query}`, { auth: project.basic });
    const { status, json } = await ask("srcCurrencyCode=EUR&destCurrencyCode=EURe_GNOSIS");
    expect(status).toBe(200);
    expect(json).toMatchObject({
      src: {
        currencyCode: "EUR",
        schema: { $schema: "https://json-schema.org/draft/2020-12/schema", required: ["iban"] },
      },
      dest: {
        currencyCode: "EURe_GNOSIS",
        schema: { properties: { address: { pattern: "^0x[a-fA-F0-9]{40}$" } } },
      },
    });
    expect((await ask("srcCurrencyCode=EUR&destCurrencyCode=EURe_GNOSIS&rail=PIX")).json.error).toBe(
      "UNSUPPORTED_PATH",
    );
    expect((await ask("srcCurrencyCode=EUR&destCurrencyCode=EURe_GNOSIS&providerId=nobody")).json.error).toBe(
      "PROVIDER_NOT_AVAILABLE",
    );
  });

  it("say which fields of a bank each call needs, and the calls need those", async () => {
    const ask = async (src: string, dest: string) =>
      (
        await world.call(
          "GET",
          `/v1/intent/requirements?srcCurrencyCode=${src}&destCurrencyCode=${dest}&rail=ACH`,
          { auth: project.basic },
        )
      ).json;
    const { src: paying } = await ask("USD", "USDC_POLYGON");
    const { dest: receiving } = await ask("USDC_POLYGON", "USD");
    for (const { schema } of [paying, receiving]) {
      expect(schema.required).toEqual(["routingNumber", "accountNumber"]);
      expect(schema.description).toContain("POST /v1/intent needs countryCode too");
      expect(schema.description).toContain("the bank that pays needs countryCode alone");
    }
    const auth = await newCustomer(world, project);
    const whole = { countryCode: "US", routingNumber: "021000021", accountNumber: "123456789" };
    const pays = (details: object) => onramp({ src: { currencyCode: "USD", details } });
    const receives = (details: object) => ({
      src: { currencyCode: "USDC_POLYGON", details: { address: WALLET } },
      dest: { currencyCode: "USD", details },
      srcAmount: "100",
    });
    const status = async (body: object) => (await world.call("POST", "/v1/intent", { auth, body })).status;
    expect(await status(pays({ countryCode: "US" }))).toBe(201);
    expect(await status(receives(whole))).toBe(201);
    expect(await status(pays({}))).toBe(400);
    for (const field of Object.keys(whole))
      expect(await status(receives({ ...whole, [field]: undefined })), field).toBe(400);
  });

  it("list supported pairs and providers", async () => {
    const pairs = await world.call("GET", "/v1/currencies/supported", { auth: project.basic });
    const providers = await world.call("GET", "/v1/providers", { auth: project.basic });
    expect(providers.json).toMatchObject([
      { name: "Sandbox North", code: "sandbox-north", logo: null },
      { code: "sandbox-south" },
    ]);
    const both = providers.json.map(({ id }: { id: string }) => id);
    const [north, south] = ["sandbox-north", "sandbox-south"].map((providerCode, at) => ({
      providerId: both[at],
      providerCode,
    }));
    expect(pairs.json).toContainEqual({
      from: "USD",
      to: "USDC_POLYGON",
      providerIds: both,
      offers: [
        {
          ...north,
          rail: "ACH",
          countries: ["US"],
          minimum: "10.00",
          maximum: "50000.00",
          travelRuleFrom: "1000.00",
        },
        {
          ...south,
          rail: "ACH",
          countries: ["US", "BR"],
          minimum: "1.00",
          maximum: "10000.00",
          travelRuleFrom: "1000.00",
        },
      ],
    });
    expect(pairs.json).toContainEqual({
      from: "USDC_GNOSIS",
      to: "BRL",
      providerIds: [both[1]],
      offers: [
        {
          ...south,
          rail: "PIX",
          countries: ["BR"],
          minimum: "1.000000",
          maximum: "10000.000000",
          travelRuleFrom: "1000.000000",
        },
      ],
    });
  });
});
