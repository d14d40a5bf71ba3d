import { describe, expect, it } from "vitest";
import { newestFirst } from "../support/lists.js";
import {
  eventually,
  expectRefused,
  newCustomer,
  north,
  onramp,
  ownWorld,
  type Reply,
  WALLET,
} from "../support/world.js";

const world = await ownWorld();
const project = await world.project();

const statusIs =
  (wanted: string) =>
  ({ json }: Reply): boolean =>
    json.intent.status === wanted;

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
        requirements: [{ code: "KYC_VERIFICATION", title: "Identity check", status: "PENDING" }],
        expiredAt: expect.stringMatching(/Z$/),
        type: "ONRAMP",
        provider: "Sandbox North",
        providerId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        providerCode: "sandbox-north",
        price: expect.objectContaining({ destAmount: "98.800000", hasIndicativePrice: true }),
        sandbox: true,
        onboardingRedirectUrl: "https://shop.example.com/a?b=c",
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

  it("waits for the customer when that is not wanted, and cannot be executed before the check is passed", async () => {
    const auth = await newCustomer(world, project);
    const { json } = await world.call("POST", "/v1/intent", { auth, body: north() });
    const path = `/v1/intent/${json.intent.id}`;
    const early = await world.call("POST", `${path}/transaction`, { auth });
    expect([early.status, early.json.error]).toEqual([400, "COMPLIANCE_NOT_COMPLETE"]);
    expect((await world.call("GET", `${path}/transaction`, { auth })).status).toBe(404);
    const [row] = await world.rows("SELECT next_poll_at FROM ramp.intents WHERE id = $1", [json.intent.id]);
    expect(row?.["next_poll_at"]).toBeInstanceOf(Date);
  });

  it("fails when the identity check is failed, with the reason", async () => {
    const auth = await newCustomer(world, project);
    await world.sandbox.set({ onboarding: "reject" });
    const { json } = await world.call("POST", "/v1/intent", { auth, body: north() });
    const path = `/v1/intent/${json.intent.id}`;
    const failed = await eventually(() => world.call("GET", path, { auth }), statusIs("COMPLIANCE_FAILED"));
    expect(failed.json).toMatchObject({
      intent: { failureReason: "The identity could not be confirmed." },
      onboardingUrl: null,
    });
    const late = await world.call("POST", `${path}/transaction`, { auth });
    expect([late.status, late.json.error]).toEqual([400, "INTENT_CLOSED"]);
    await world.sandbox.set({ onboarding: "wait" });
  });

  it("fails when the provider refuses the customer, or the order", async () => {
    const auth = await newCustomer(world, project);
    await world.sandbox.set({ onboarding: "refuse" });
    const refused = await world.call("POST", "/v1/intent", { auth, body: north() });
    expect(refused.json.intent).toMatchObject({
      status: "COMPLIANCE_FAILED",
      failureReason: "The provider does not serve this customer.",
    });
    await world.sandbox.set({ onboarding: "wait", execution: "refuse" });
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
    expect(json).toMatchObject({
      intent: { status: "TRANSACTION_FAILED" },
      transaction: { status: "FAILED" },
    });
    await world.sandbox.set({ execution: "settle" });
  });

  it.each([
    ["nothing but a country", "USD", { countryCode: "US" }, ["routingNumber", "accountNumber"]],
    [
      "half an account",
      "USD",
      { countryCode: "US", rail: "ACH", accountNumber: "000123456789" },
      ["routingNumber"],
    ],
    ["no IBAN", "EUR", { countryCode: "DE", rail: "SEPA", accountHolderName: "A" }, ["iban"]],
    ["no key", "BRL", { countryCode: "BR", rail: "PIX" }, ["key"]],
  ])(
    "is refused where the account that receives the money is %s",
    async (_, currencyCode, details, missing) => {
      const auth = await newCustomer(world, project);
      const src = { currencyCode: "USDC_POLYGON", details: { address: WALLET } };
      const body = { src, dest: { currencyCode, details }, srcAmount: "50", autoExecute: true };
      const { status, json } = await world.call("POST", "/v1/intent", { auth, body });
      expect([status, json.error]).toEqual([400, "INVALID_ACCOUNT_DETAILS"]);
      const told = (json.details as { message: string }[]).map(({ message }) => message);
      for (const field of missing) expect(told.join()).toContain(field);
      expect((await world.call("GET", "/v1/intent", { auth })).json).toEqual([]);
    },
  );

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
      intent: {
        type: "OFFRAMP",
        srcAmount: "20.500000",
        src: { type: "CRYPTO_ADDRESS" },
        dest: { type: "BANK_ACCOUNT" },
      },
      transaction: {
        context: { instructions: [{ type: "CRYPTO", details: { chain: "GNOSIS", amount: "20.500000" } }] },
      },
    });
    await eventually(
      () => world.call("GET", `/v1/intent/${json.intent.id}`, { auth }),
      statusIs("COMPLETED"),
    );
  });
});

const makeOld = (id: string): Promise<unknown> =>
  world.rows("UPDATE ramp.intents SET expires_at = now(), next_poll_at = now() WHERE id = $1", [id]);

it("expiry ends an intent that waits for its customer", async () => {
  const auth = await newCustomer(world, project);
  for (const body of [north(), onramp()]) {
    const { json } = await world.call("POST", "/v1/intent", { auth, body });
    await makeOld(json.intent.id);
    await eventually(() => world.call("GET", `/v1/intent/${json.intent.id}`, { auth }), statusIs("EXPIRED"));
  }
});

describe("lists", () => {
  it("come newest first, in pages that link to the next", async () => {
    const own = await world.project();
    const auth = await newCustomer(world, own);
    const made = [];
    for (let i = 0; i < 5; i++)
      made.push((await world.call("POST", "/v1/intent", { auth, body: onramp() })).json.intent);
    const seen: string[] = [];
    let path: string | undefined = "/v1/intent?limit=2";
    for (let pages = 0; path !== undefined && pages < 9; pages++) {
      const page: Reply = await world.call("GET", path, { auth });
      expect(page.status).toBe(200);
      seen.push(...page.json.map(({ intent }: { intent: { id: string } }) => intent.id));
      path = /^<(.+)>; rel="next"$/.exec(page.headers.get("link") ?? "")?.[1];
    }
    expect(seen).toEqual(newestFirst(made));
  });

  it("of customers leave their tokens out", async () => {
    const own = await world.project();
    for (const id of ["a", "b", "c"]) await newCustomer(world, own, id);
    const { json: all } = await world.call("GET", "/v1/customers", { auth: own.basic });
    const externalIds = (all as { externalId: string }[]).map(({ externalId }) => externalId);
    expect(externalIds.toSorted()).toEqual(["a", "b", "c"]);
    const { json, headers } = await world.call("GET", "/v1/customers?limit=2", { auth: own.basic });
    expect(json.map(({ id }: { id: string }) => id)).toEqual(newestFirst(all).slice(0, 2));
    expect(headers.get("link")).toBe(
      `</v1/customers?limit=2&starting_after=${String(json[1].id)}>; rel="next"`,
    );
    expect(json[0]).toEqual({
      id: expect.any(String),
      externalId: externalIds[0],
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      organizationId: expect.any(String),
      projectId: own.projectId,
    });
  });

  it.each([
    "limit=0",
    "limit=101",
    "limit=x",
    "limit=1&limit=2",
    "starting_after=nobody",
    "sort=asc",
    "limit=1.5",
  ])("refuse ?%s", async (query) => {
    const auth = await newCustomer(world, project);
    const replies = [
      await world.call("GET", `/v1/intent?${query}`, { auth }),
      await world.call("GET", `/v1/customers?${query}`, { auth: project.basic }),
    ];
    expectRefused(replies, 400, "INVALID_REQUEST");
  });
});
