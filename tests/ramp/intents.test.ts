import { describe, expect, it } from "vitest";
import { eventually, newCustomer, onramp, ownerRows, ownWorld, type Reply, WALLET } from "./support/world.js";

const world = await ownWorld();
const project = await world.project();

const north = (more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> =>
  onramp({ src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH", provider: "sandbox-north" } }, ...more });

const statusIs = (wanted: string) => ({ json }: Reply): boolean => json.intent.status === wanted;

describe("an intent", () => {
  it("has every field of the specification when it is created", async () => {
    const auth = await newCustomer(world, project);
    const redirects = { onboardingRedirectUrl: "https://shop.example.com/a?b=c", checkoutRedirectUrl: null };
    const { status, json } = await world.call("POST", "/v1/intent", { auth, body: north(redirects) });
    expect(status).toBe(201);
    expect(json).toEqual({
      intent: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        src: {
          type: "BANK_ACCOUNT",
          currency: { ticker: "USD", name: "US Dollar", code: "USD", type: "FIAT" },
          details: { countryCode: "US", rail: "ACH", provider: "sandbox-north" },
        },
        dest: {
          type: "CRYPTO_ADDRESS",
          currency: { ticker: "USDC", name: "USD Coin", code: "USDC_POLYGON", type: "CRYPTO" },
          details: { address: WALLET },
        },
        status: "COMPLIANCE_IN_PROGRESS",
        createdAt: expect.stringMatching(/Z$/),
        updatedAt: expect.stringMatching(/Z$/),
        srcAmount: "100.00",
        currentRequirementCode: "KYC_VERIFICATION",
        expiredAt: expect.stringMatching(/Z$/),
        type: "ONRAMP",
        provider: "Sandbox North",
        onboardingRedirectUrl: "https://shop.example.com/a?b=c",
        checkoutRedirectUrl: null,
      },
      onboardingUrl: expect.stringContaining(`${world.url}/onboarding/`),
    });
    expect(Date.parse(json.intent.expiredAt) - Date.parse(json.intent.createdAt)).toBe(24 * 3600 * 1000);
  });

  it("looks the same in the answer to its creation, in the list and by its id", async () => {
    const auth = await newCustomer(world, project);
    const created = await world.call("POST", "/v1/intent", { auth, body: north() });
    const got = await world.call("GET", `/v1/intent/${created.json.intent.id}`, { auth });
    const list = await world.call("GET", "/v1/intent", { auth });
    expect(got.json).toEqual(created.json);
    expect(list.json).toEqual([created.json]);
  });

  it("executes by itself when nothing is outstanding and that is wanted", async () => {
    const auth = await newCustomer(world, project);
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
    expect(json).toMatchObject({ intent: { status: "TRANSACTION_IN_PROGRESS" }, onboardingUrl: null, transaction: { status: "IN_PROGRESS" } });
    await eventually(() => world.call("GET", `/v1/intent/${json.intent.id}`, { auth }), statusIs("COMPLETED"));
  });

  it("executes by itself once the identity check is passed, and that is wanted", async () => {
    const auth = await newCustomer(world, project);
    await world.sandbox.set({ onboarding: "approve" });
    const { json } = await world.call("POST", "/v1/intent", { auth, body: north({ autoExecute: true }) });
    expect(json.transaction).toBeUndefined();
    await eventually(() => world.call("GET", `/v1/intent/${json.intent.id}`, { auth }), statusIs("COMPLETED"));
    await world.sandbox.set({ onboarding: "wait" });
  });

  it("waits for the customer when that is not wanted, and cannot be executed before the check is passed", async () => {
    const auth = await newCustomer(world, project);
    const { json } = await world.call("POST", "/v1/intent", { auth, body: north() });
    const path = `/v1/intent/${json.intent.id}`;
    const early = await world.call("POST", `${path}/transaction`, { auth });
    expect([early.status, early.json.error]).toEqual([400, "COMPLIANCE_NOT_COMPLETE"]);
    expect((await world.call("GET", `${path}/transaction`, { auth })).status).toBe(404);
    const [row] = await ownerRows(world.databaseUrl, "SELECT attend_at FROM ramp.intents WHERE id = $1", [json.intent.id]);
    expect(row?.["attend_at"]).toBeInstanceOf(Date);
  });

  it("fails when the identity check is failed, with the reason", async () => {
    const auth = await newCustomer(world, project);
    await world.sandbox.set({ onboarding: "reject" });
    const { json } = await world.call("POST", "/v1/intent", { auth, body: north() });
    const path = `/v1/intent/${json.intent.id}`;
    const failed = await eventually(() => world.call("GET", path, { auth }), statusIs("COMPLIANCE_FAILED"));
    expect(failed.json).toMatchObject({ intent: { failureReason: "The identity could not be confirmed." }, onboardingUrl: null });
    const late = await world.call("POST", `${path}/transaction`, { auth });
    expect([late.status, late.json.error]).toEqual([400, "INTENT_CLOSED"]);
    await world.sandbox.set({ onboarding: "wait" });
  });

  it("fails when the provider refuses the customer, or the order", async () => {
    const auth = await newCustomer(world, project);
    await world.sandbox.set({ onboarding: "refuse" });
    const refused = await world.call("POST", "/v1/intent", { auth, body: north() });
    expect(refused.json.intent).toMatchObject({ status: "COMPLIANCE_FAILED", failureReason: "The provider does not serve this customer." });
    await world.sandbox.set({ onboarding: "wait", execution: "refuse" });
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
    expect(json).toMatchObject({ intent: { status: "TRANSACTION_FAILED" }, transaction: { status: "FAILED" } });
    await world.sandbox.set({ execution: "settle" });
  });

  it("fails when the transfer comes back", async () => {
    const auth = await newCustomer(world, project);
    await world.sandbox.set({ execution: "fail" });
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
    const failed = await eventually(() => world.call("GET", `/v1/intent/${json.intent.id}`, { auth }), statusIs("TRANSACTION_FAILED"));
    expect(failed.json).toMatchObject({ intent: { failureReason: "The transfer was returned." }, transaction: { status: "FAILED" } });
    await world.sandbox.set({ execution: "settle" });
  });

  it("sells tokens for bank money too", async () => {
    const auth = await newCustomer(world, project);
    const body = {
      src: { currencyCode: "usdc_gnosis", details: { address: WALLET } },
      dest: { currencyCode: "brl", details: { countryCode: "BR", rail: "PIX", key: "12345678901" } },
      srcAmount: "20.5",
      autoExecute: true,
    };
    const { status, json, text } = await world.call("POST", "/v1/intent", { auth, body });
    expect(status, text).toBe(201);
    expect(json).toMatchObject({
      intent: { type: "OFFRAMP", srcAmount: "20.500000", src: { type: "CRYPTO_ADDRESS" }, dest: { type: "BANK_ACCOUNT" } },
      transaction: { context: { instructions: [{ type: "CRYPTO", details: { chain: "GNOSIS", amount: "20.500000" } }] } },
    });
    await eventually(() => world.call("GET", `/v1/intent/${json.intent.id}`, { auth }), statusIs("COMPLETED"));
  });
});

describe("expiry", () => {
  const makeOld = (id: string): Promise<unknown> =>
    ownerRows(world.databaseUrl, "UPDATE ramp.intents SET expires_at = now(), attend_at = now() WHERE id = $1", [id]);

  it("ends an intent that waits for its customer", async () => {
    const auth = await newCustomer(world, project);
    for (const body of [north(), onramp()]) {
      const { json } = await world.call("POST", "/v1/intent", { auth, body });
      await makeOld(json.intent.id);
      await eventually(() => world.call("GET", `/v1/intent/${json.intent.id}`, { auth }), statusIs("EXPIRED"));
    }
  });

  it("ends an intent whose deposit never came, and cancels its transaction at the provider", async () => {
    const auth = await newCustomer(world, project);
    await world.sandbox.set({ execution: "stall" });
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
    await makeOld(json.intent.id);
    const ended = await eventually(() => world.call("GET", `/v1/intent/${json.intent.id}`, { auth }), statusIs("EXPIRED"));
    expect(ended.json.transaction.status).toBe("CANCELLED");
    await world.sandbox.set({ execution: "settle" });
  });

  it("does not end an intent whose money has arrived", async () => {
    const auth = await newCustomer(world, project);
    await world.sandbox.set({ settleMs: 700 });
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
    await new Promise((resolve) => setTimeout(resolve, 900));
    await makeOld(json.intent.id);
    await eventually(() => world.call("GET", `/v1/intent/${json.intent.id}`, { auth }), statusIs("COMPLETED"));
    await world.sandbox.set({ settleMs: 50 });
  });
});

describe("lists", () => {
  it("come newest first, in pages that link to the next", async () => {
    const own = await world.project();
    const auth = await newCustomer(world, own);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await world.call("POST", "/v1/intent", { auth, body: onramp() })).json.intent.id);
    const seen: string[] = [];
    let path: string | undefined = "/v1/intent?limit=2";
    for (let pages = 0; path !== undefined && pages < 9; pages++) {
      const page: Reply = await world.call("GET", path, { auth });
      expect(page.status).toBe(200);
      seen.push(...page.json.map(({ intent }: { intent: { id: string } }) => intent.id));
      path = /^<(.+)>; rel="next"$/.exec(page.headers.get("link") ?? "")?.[1];
    }
    expect(seen).toEqual(ids);
  });

  it("of customers leave their tokens out", async () => {
    const own = await world.project();
    for (const id of ["a", "b", "c"]) await newCustomer(world, own, id);
    const { json, headers } = await world.call("GET", "/v1/customers?limit=2", { auth: own.basic });
    expect(json.map(({ id }: { id: string }) => id)).toEqual(["c", "b"]);
    expect(headers.get("link")).toBe('</v1/customers?limit=2&starting_after=b>; rel="next"');
    expect(json[0]).toEqual({
      id: "c",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      organizationId: expect.any(String),
      projectId: own.projectId,
    });
  });

  it.each(["limit=0", "limit=101", "limit=x", "limit=1&limit=2", "starting_after=nobody", "sort=asc", "limit=1.5"])(
    "refuse ?%s",
    async (query) => {
      const auth = await newCustomer(world, project);
      const replies = [
        await world.call("GET", `/v1/intent?${query}`, { auth }),
        await world.call("GET", `/v1/customers?${query}`, { auth: project.basic }),
      ];
      expect(replies.map(({ status, json }) => [status, json.error])).toEqual(replies.map(() => [400, "INVALID_REQUEST"]));
    },
  );
});

describe("quotes and requirements", () => {
  const quote = (query: string): Promise<Reply> => world.call("GET", `/v1/intent/quote?${query}`, { auth: project.basic });
  const USD = "srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&srcAmount=1000&countryCode=US";

  it("come from every provider of the path, best first, with all fields", async () => {
    const { status, json } = await quote(USD);
    expect(status).toBe(200);
    expect(json.quotes).toHaveLength(2);
    expect(json.quotes[0]).toEqual({
      providerId: expect.any(String),
      type: "ONRAMP",
      rail: "ACH",
      hasIndicativePrice: true,
      destAmount: "993.950000",
      exchangeRate: "1.00000000",
      fees: { currencyCode: "USD", totalFee: "6.05", networkFee: "0.05", processingFee: "6.00", partnerFee: "0.00" },
    });
    expect(Number(json.quotes[1].destAmount)).toBeLessThan(993.95);
  });

  it("leave out a provider that fails, and are empty where nobody offers the path", async () => {
    await world.sandbox.set({ failNext: 1 });
    expect((await quote(USD)).json.quotes).toHaveLength(1);
    await world.sandbox.set({ failNext: 0 });
    expect((await quote("srcCurrencyCode=JPY&destCurrencyCode=USDC_POLYGON&srcAmount=1000&countryCode=JP")).json).toEqual({ quotes: [] });
    expect((await quote("srcCurrencyCode=USD&destCurrencyCode=EUR&srcAmount=1000&countryCode=US")).json).toEqual({ quotes: [] });
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

  it("tell the JSON Schemas of both accounts", async () => {
    const ask = (query: string): Promise<Reply> => world.call("GET", `/v1/intent/requirements?${query}`, { auth: project.basic });
    const { status, json } = await ask("srcCurrencyCode=EUR&destCurrencyCode=EURe_GNOSIS");
    expect(status).toBe(200);
    expect(json).toMatchObject({
      src: { currencyCode: "EUR", schema: { $schema: "https://json-schema.org/draft/2020-12/schema", required: ["iban"] } },
      dest: { currencyCode: "EURe_GNOSIS", schema: { properties: { address: { pattern: "^0x[a-fA-F0-9]{40}$" } } } },
    });
    expect((await ask("srcCurrencyCode=EUR&destCurrencyCode=EURe_GNOSIS&rail=PIX")).json.error).toBe("UNSUPPORTED_PATH");
    expect((await ask("srcCurrencyCode=EUR&destCurrencyCode=EURe_GNOSIS&providerId=nobody")).json.error).toBe("PROVIDER_NOT_AVAILABLE");
  });

  it("list supported pairs and providers", async () => {
    const pairs = await world.call("GET", "/v1/currencies/supported", { auth: project.basic });
    const providers = await world.call("GET", "/v1/providers", { auth: project.basic });
    expect(providers.json).toMatchObject([{ name: "Sandbox North", code: "sandbox-north", logo: null }, { code: "sandbox-south" }]);
    const both = providers.json.map(({ id }: { id: string }) => id);
    expect(pairs.json).toContainEqual({ from: "USD", to: "USDC_POLYGON", providerIds: both });
    expect(pairs.json).toContainEqual({ from: "USDC_GNOSIS", to: "BRL", providerIds: [both[1]] });
  });
});

describe("external accounts", () => {
  const pair = { src: "EUR", dest: "EURe_GNOSIS", source: { iban: "DE89370400440532013000" }, destination: { address: WALLET } };
  const register = async (body: unknown): Promise<Reply> =>
    world.call("POST", "/v1/customers/external-accounts", { auth: await newCustomer(world, project), body });

  it("are registered as a pair, each with its currency", async () => {
    const { status, json, text } = await register(pair);
    expect(status, text).toBe(201);
    expect(json.source).toMatchObject({
      type: "BANK_ACCOUNT",
      metadata: pair.source,
      label: "EUR …3000",
      currency: { code: "EUR", decimals: 2, type: "FIAT" },
    });
    expect(json.destination).toMatchObject({
      type: "CRYPTO_ADDRESS",
      currency: { code: "EURe_GNOSIS", decimals: 6, type: "CRYPTO", blockchain: { code: "GNOSIS" } },
    });
    expect(json.source.currencyId).toBe(json.source.currency.id);
    expect(json.destination.currency.blockchainId).toBe(json.destination.currency.blockchain.id);
  });

  it.each([
    ["wrong check digits", { source: { iban: "DE89370400440532013001" } }],
    ["no account number", { source: {} }],
    ["an unknown field", { source: { ...pair.source, x: 1 } }],
    ["a short address", { destination: { address: "0x123" } }],
    ["a nested address", { destination: { address: { value: WALLET } } }],
  ])("are refused with %s", async (_, change) => {
    const before = await ownerRows(world.databaseUrl, "SELECT FROM ramp.external_accounts");
    const { status, json } = await register({ ...pair, ...change });
    expect([status, json.error]).toEqual([400, "INVALID_ACCOUNT_DETAILS"]);
    expect(await ownerRows(world.databaseUrl, "SELECT FROM ramp.external_accounts")).toHaveLength(before.length);
  });
});
