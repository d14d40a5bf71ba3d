import { describe, expect, it } from "vitest";
import { ownWorld, type Reply } from "../support/world.js";

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
      providerId: expect.any(String),
      type: "ONRAMP",
      rail: "ACH",
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
  });

  it("leave out a provider that fails, and are empty where no provider offers the path", async () => {
    await world.sandbox.set({ failNext: 1 });
    expect((await quote(USD)).json.quotes).toHaveLength(1);
    await world.sandbox.set({ failNext: 0 });
    expect(
      (await quote("srcCurrencyCode=JPY&destCurrencyCode=USDC_POLYGON&srcAmount=1000&countryCode=JP")).json,
    ).toEqual({ quotes: [] });
    expect(
      (await quote("srcCurrencyCode=USD&destCurrencyCode=EUR&srcAmount=1000&countryCode=US")).json,
    ).toEqual({ quotes: [] });
  });

  it.each([
    ["srcAmount=1000&countryCode=US&srcCurrencyCode=USD", "INVALID_REQUEST"],
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

  it("list supported pairs and providers", async () => {
    const pairs = await world.call("GET", "/v1/currencies/supported", { auth: project.basic });
    const providers = await world.call("GET", "/v1/providers", { auth: project.basic });
    expect(providers.json).toMatchObject([
      { name: "Sandbox North", code: "sandbox-north", logo: null },
      { code: "sandbox-south" },
    ]);
    const both = providers.json.map(({ id }: { id: string }) => id);
    expect(pairs.json).toContainEqual({ from: "USD", to: "USDC_POLYGON", providerIds: both });
    expect(pairs.json).toContainEqual({ from: "USDC_GNOSIS", to: "BRL", providerIds: [both[1]] });
  });
});
