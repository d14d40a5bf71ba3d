/**
 * An afternoon's integration from the documents alone: each call is one that the OpenAPI document describes, and each request, answer and event
 * is checked against it. The failures of a provider are in ../sandbox/magic-amounts.test.ts, many intents at once in ../webhooks/feed.test.ts.
 */
import { afterAll, describe, expect, it } from "vitest";
import { documentedCalls } from "../support/documented.js";
import { startProcess } from "../support/processes.js";
import { ownReceiver } from "../support/receiver.js";
import { eventually, ownWorld, type Reply, untilTrue, WALLET } from "../support/world.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 100 });
const project = await world.project({ ttl: 600 });
const { said: issuer, kill } = await startProcess("./oidc-process.ts");
afterAll(() => kill());
await world.identityProvider(project, issuer, "shop");
const receiver = await ownReceiver();
const { secret } = await world.webhook(project, receiver.url);
const { call, document, problems, schemaOfEvent, used } = await documentedCalls(world);

const asProject = { auth: project.basic };
let keys = 0;
const newKey = (): string => `integration-${String(++keys)}`;

/** Asks until an intent of the customer is so. */
const until = async (
  auth: string,
  id: string,
  isSo: (json: Reply["json"]) => boolean,
): Promise<Reply["json"]> =>
  (
    await eventually(
      () => call("GET", `/v1/intent/${id}`, { auth }),
      ({ json }) => isSo(json),
    )
  ).json;
const is = (status: string) => (json: Reply["json"]) => json.intent.status === status;

async function customer(body: object): Promise<{ id: string; auth: string }> {
  const { status, json, text } = await call("POST", "/v1/customers", { ...asProject, key: newKey(), body });
  expect(status, text).toBe(201);
  return { id: String(json.id), auth: `Bearer ${String(json.accessToken)}` };
}

async function intent(auth: string, body: object): Promise<Reply["json"]> {
  const key = newKey();
  const { status, json, text } = await call("POST", "/v1/intent", { auth, key, body });
  expect(status, text).toBe(201);
  const again = await call("POST", "/v1/intent", { auth, key, body });
  expect([again.text, again.headers.get("x-idempotency-replayed")]).toEqual([text, "true"]);
  return json;
}

const bank = { countryCode: "US", rail: "ACH" };
const usd = (details: object = {}) => ({ currencyCode: "USD", details: { ...bank, ...details } });
const usdc = { currencyCode: "USDC_POLYGON", details: { address: WALLET } };

describe("an integration", () => {
  it("looks at what is offered", async () => {
    const providers = (await call("GET", "/v1/providers", asProject)).json as { code: string }[];
    expect(providers.map(({ code }) => code).sort()).toEqual(["sandbox-north", "sandbox-south"]);
    const pairs = (await call("GET", "/v1/currencies/supported", asProject)).json as {
      from: string;
      to: string;
    }[];
    expect(pairs).toContainEqual(expect.objectContaining({ from: "USD", to: "USDC_POLYGON" }));
    const needs = await call(
      "GET",
      "/v1/intent/requirements?srcCurrencyCode=USDC_POLYGON&destCurrencyCode=USD",
      asProject,
    );
    expect(needs.json.dest.schema.required).toContain("routingNumber");
  });

  it("takes an on-ramp at a held price, through the provider's check, to COMPLETED", async () => {
    const claims = { iss: issuer, aud: "shop", sub: "ada", iat: seconds(), exp: seconds() + 300 };
    const token = await fetch(`${issuer}/token`, { method: "POST", body: JSON.stringify(claims) });
    const { id, auth } = await customer({
      id: "ada",
      subject_token: await token.text(),
      metadata: { plan: "pro" },
    });
    expect((await call("GET", `/v1/customers/${id}`, asProject)).json.metadata).toEqual({ plan: "pro" });
    const query = "srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&destAmount=100&countryCode=US";
    const quotes = (await call("GET", `/v1/intent/quote?${query}`, { auth })).json.quotes as Record<
      string,
      string
    >[];
    const held = quotes.find(({ id: quoteId }) => quoteId !== undefined);
    expect(held).toMatchObject({ hasIndicativePrice: false, destAmount: "100.000000" });
    const body = {
      src: usd(),
      dest: usdc,
      srcAmount: held?.["srcAmount"],
      quoteId: held?.["id"],
      metadata: { order: "A-1" },
    };
    const made = await intent(auth, body);
    const page = new URL(String(made.onboardingUrl)).pathname;
    // The customer fills in the hosted page.
    const text =
      "action=submit&requirement=KYC_VERIFICATION&field.fullName=Ada&field.dateOfBirth=1990-12-31&field.decision=approve";
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect((await world.call("POST", page, { text, headers })).status).toBe(303);
    const ready = await until(auth, made.intent.id as string, is("PENDING_PAYMENT"));
    expect(ready.checkoutUrl).toBe(made.onboardingUrl);
    const path = `/v1/intent/${String(made.intent.id)}/transaction`;
    const ordered = await call("POST", path, { auth, key: newKey(), body: {} });
    expect([ordered.status, ordered.json.context.instructions[0].details.amount]).toEqual([
      202,
      held?.["srcAmount"],
    ]);
    const done = await until(auth, made.intent.id as string, is("COMPLETED"));
    expect(done.transaction.context.receipt.amountReceived).toBe("100.000000");
    expect((await call("GET", path, { auth })).json.status).toBe("SUCCESS");
    expect((await call("GET", "/v1/intent?limit=1", { auth })).json[0].intent.id).toBe(made.intent.id);
  });

  it("takes an off-ramp to a registered account, and refunds a part of it", async () => {
    const { auth } = await customer({ id: "grace" });
    const source = { address: WALLET };
    const destination = { ...bank, routingNumber: "021000021", accountNumber: "000987654321" };
    const accounts = await call("POST", "/v1/customers/external-accounts", {
      auth,
      key: newKey(),
      body: { src: "USDC_POLYGON", dest: "USD", source, destination },
    });
    expect(accounts.status, accounts.text).toBe(201);
    const listed = (await call("GET", "/v1/customers/external-accounts", { auth })).json as { id: string }[];
    expect(listed).toHaveLength(2);
    const made = await intent(auth, {
      src: { currencyCode: "USDC_POLYGON", externalAccountId: accounts.json.source.id },
      dest: {
        currencyCode: "USD",
        externalAccountId: accounts.json.destination.id,
        details: { provider: "sandbox-south" },
      },
      srcAmount: "50",
      autoExecute: true,
    });
    expect(made).toMatchObject({
      intent: { type: "OFFRAMP" },
      onboardingUrl: null,
      checkoutUrl: expect.any(String),
    });
    const id = String(made.intent.id);
    await until(auth, id, is("COMPLETED"));
    const refund = { ...asProject, key: newKey(), body: { amount: "20", reason: "returned goods" } };
    expect((await call("POST", `/v1/intents/${id}/refund`, refund)).status).toBe(202);
    const refunded = await until(auth, id, ({ transaction }) => transaction.context.refunds?.length === 1);
    expect(refunded.transaction.context.refunds[0]).toMatchObject({
      amount: "20.000000",
      reason: "returned goods",
    });
    const gone = await call("DELETE", `/v1/customers/external-accounts/${String(accounts.json.source.id)}`, {
      auth,
    });
    expect(gone.status).toBe(204);
  });

  it("cancels, as the customer and as the project", async () => {
    const { auth } = await customer({ id: "alan" });
    const body = { src: usd({ provider: "sandbox-south" }), dest: usdc, srcAmount: "60.00" };
    const [mine, ours] = [await intent(auth, body), await intent(auth, body)];
    const cancel = `/v1/intent/${String(mine.intent.id)}/cancel`;
    expect((await call("POST", cancel, { auth, key: newKey(), body: {} })).status).toBe(202);
    const back = `/v1/intents/${String(ours.intent.id)}/cancel`;
    expect((await call("POST", back, { ...asProject, key: newKey(), body: {} })).status).toBe(202);
    for (const { intent: one } of [mine, ours]) await until(auth, String(one.id), is("CANCELLED"));
    const cancelled = await call("GET", "/v1/intents?status=CANCELLED&order=asc", asProject);
    expect((cancelled.json as Reply["json"][]).map((one) => one.intent.id)).toEqual([
      mine.intent.id,
      ours.intent.id,
    ]);
  });

  it("is refused with documented errors", async () => {
    const { auth } = await customer({ id: "kurt" });
    const body = { src: usd(), dest: usdc, srcAmount: "60.00" };
    const refused = [
      await call("POST", "/v1/customers", { auth: "Basic eDp5", body: { id: "x" } }),
      await call("POST", "/v1/customers", { ...asProject, body: { id: "x", subject_token: "x" } }),
      await call("GET", "/v1/intent", { auth: "Bearer x" }),
      await call("POST", "/v1/intent", { auth, body: { ...body, srcAmount: "0" } }),
      await call("POST", "/v1/intent", { auth, body: { ...body, quoteId: "x" } }),
      await call("GET", "/v1/intent/x", { auth }),
      await call("GET", "/v1/intent/quote?srcCurrencyCode=USD", { auth }),
      await call("GET", "/v1/events?starting_after=x", asProject),
    ];
    expect(refused.map(({ status }) => status)).toEqual([401, 400, 401, 400, 400, 404, 400, 400]);
  });

  it("has every event once in the feed, and at its webhook, as the document says", async () => {
    const feed: { id: string; type: string }[] = [];
    await untilTrue(async () => {
      const after = feed.at(-1)?.id;
      const start = after === undefined ? "" : `&starting_after=${after}`;
      const page = await call("GET", `/v1/events?order=asc&limit=100${start}`, asProject);
      feed.push(...(page.json as typeof feed));
      return (
        after !== undefined &&
        (page.json as typeof feed).length === 0 &&
        receiver.received.length >= feed.length
      );
    });
    const ids = feed.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const delivered = receiver.verified(secret);
    expect([...new Set(delivered.map(({ id }) => id))].sort()).toEqual([...ids].sort());
    for (const event of [...feed, ...delivered])
      expect(problems(schemaOfEvent(event.type).schema, event), JSON.stringify(event)).toBe("");
    const deliveries = await call("GET", `/v1/events/${String(ids[0])}/deliveries`, asProject);
    expect(deliveries.json).toMatchObject([{ status: "DELIVERED", lastResult: "204" }]);
  });

  it("reads and repeats one event, and keeps its webhooks", async () => {
    const [event] = (await call("GET", "/v1/events?limit=1", asProject)).json as [{ id: string }];
    expect((await call("GET", `/v1/events/${event.id}`, asProject)).json).toEqual(event);
    const replay = await call("POST", `/v1/events/${event.id}/replay`, {
      ...asProject,
      key: newKey(),
      body: {},
    });
    expect(replay.status, replay.text).toBe(202);
    const url = "https://shop.example/events";
    const added = await call("POST", "/v1/webhooks", { ...asProject, key: newKey(), body: { url } });
    const path = `/v1/webhooks/${String(added.json.id)}`;
    const calls = [
      await call("GET", "/v1/webhooks", asProject),
      await call("GET", path, asProject),
      await call("PATCH", path, { ...asProject, body: { eventTypes: ["transaction.updated"] } }),
      await call("POST", `${path}/rotate-secret`, { ...asProject, key: newKey(), body: {} }),
      await call("POST", `${path}/test`, { ...asProject, key: newKey(), body: {} }),
      await call("DELETE", path, asProject),
    ];
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 200, 202, 204]);
  });

  it("erases a customer, whose intent stays", async () => {
    const [found] = (await call("GET", "/v1/customers?externalId=alan", asProject)).json as [{ id: string }];
    const [mine] = (await call("GET", `/v1/intents?customerId=${found.id}&limit=1`, asProject)).json as [
      Reply["json"],
    ];
    expect((await call("DELETE", `/v1/customers/${found.id}`, asProject)).status).toBe(204);
    const kept = await call("GET", `/v1/intents/${String(mine.intent.id)}`, asProject);
    expect([kept.json.intent.status, kept.json.intent.dest.details]).toEqual(["CANCELLED", {}]);
  });

  it("used all operations but these, which other tests call", () => {
    const all = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(all.filter((operation) => !used.has(operation))).toEqual([
      "POST /v1/intent/{id}/quote",
      "POST /v1/intents/{id}/quote",
      "GET /v1/intents/{id}/refunds",
      "POST /v1/intents/{id}/refunds/{refundId}/cancel",
      "POST /v1/intents/{id}/resolve",
      "POST /v1/customers/deposit-accounts",
      "GET /v1/customers/deposit-accounts",
      "GET /v1/customers/deposit-accounts/{id}",
      "POST /v1/customers/deposit-accounts/{id}/close",
      "GET /v1/deposit-accounts",
      "POST /v1/deposit-accounts/{id}/close",
      "GET /v1/auth/wallet/nonce",
      "POST /v1/auth/wallet/challenge",
      "POST /v1/provider-callbacks/{projectId}/{connectionId}",
    ]);
  });
});

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
