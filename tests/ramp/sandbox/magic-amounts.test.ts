/** Each magic amount does what the page says of it (runtime/ramp/docs/sandbox.md), over a real ramp and a real sandbox. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { HttpProvider } from "../../../runtime/ramp/providers/provider.js";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { DEFAULT_SWITCHES, MAGIC_AMOUNTS } from "../../../runtime/ramp/sandbox/behaviour.js";
import { rowsOf } from "../../support/pages.js";
import { documentedCalls } from "../support/documented.js";
import { ownReceiver, type Receiver } from "../support/receiver.js";
import {
  eventually,
  newCustomer,
  onramp,
  ownWorld,
  type Reply,
  untilTrue,
  WALLET,
} from "../support/world.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 100 });
const project = await world.project({ providers: ["sandbox-south"] });
const { call } = await documentedCalls(world);
const get = (path: string): Promise<Reply> => call("GET", path, { auth: project.basic });

interface Seen {
  readonly intent: { readonly id: string; readonly status: string; readonly failureReason?: string };
  readonly attention?: Readonly<Record<string, string>>;
}

async function create(
  srcAmount: string,
  more: object = {},
): Promise<{ id: string; auth: string; reply: Reply }> {
  const auth = await newCustomer(world, project);
  const body = onramp({ srcAmount, autoExecute: true, ...more });
  const reply = await call("POST", "/v1/intent", { auth, body });
  expect(reply.status, reply.text).toBe(201);
  return { id: String(reply.json.intent.id), auth, reply };
}

const until = async (id: string, isSo: (json: Reply["json"]) => boolean): Promise<Reply["json"]> =>
  (
    await eventually(
      () => get(`/v1/intents/${id}`),
      ({ json }) => isSo(json),
    )
  ).json;

async function needs(id: string, reason: string): Promise<void> {
  const seen: Seen = await until(id, (json: Seen) => json.attention !== undefined);
  expect(Object.keys(seen.attention ?? {})).toContain(reason);
}

/** Amounts whose intent comes to a status, or needs attention, for a reason. */
const STATUSES: readonly (readonly [amount: string, status: string, reason: RegExp])[] = [
  ...["44.13", "44.41", "44.42", "44.43", "44.44", "44.51", "44.52", "44.53", "44.54", "44.71", "44.72"].map(
    (amount) => [amount, "COMPLETED", /^$/] as const,
  ),
  ["44.11", "COMPLIANCE_FAILED", /does not serve/],
  ["44.12", "COMPLIANCE_FAILED", /could not be confirmed/],
  ["44.21", "TRANSACTION_FAILED", /does not take this order/],
  ["44.22", "TRANSACTION_FAILED", /was returned/],
  ["44.24", "AMOUNT_MISMATCH", /^$/],
  ["44.25", "AMOUNT_MISMATCH", /^$/],
  ["44.26", "AMOUNT_MISMATCH", /^$/],
  ["44.73", "REFUSED", /beyond the customer's limit/],
  ["44.74", "REFUSED", /does not serve this country/],
  ["44.75", "REFUSED", /does not take this account/],
];

const ATTENTION: readonly (readonly [amount: string, reason: string])[] = [
  ["44.27", "RECEIPT_MISSING"],
  ["44.33", "CONTRADICTION"],
  ["44.34", "REFERENCE_CHANGED"],
  ["44.35", "UNKNOWN_ORDER"],
  ["44.36", "PROVIDER_FAILS"],
];

describe("a magic amount", () => {
  it.concurrent.each(STATUSES)("%s comes to %s", async (amount, status, reason) => {
    const { id } = await create(amount);
    const { intent }: Seen = await until(id, (json: Seen) => json.intent.status === status);
    expect(intent.failureReason ?? "").toMatch(reason);
  });

  it.concurrent.each(ATTENTION)("%s needs attention: %s", async (amount, reason) => {
    await needs((await create(amount)).id, reason);
  });
});

it("a magic amount 44.29 needs attention until it is paid: INVALID_INSTRUCTIONS", async () => {
  await world.sandbox.set({ settleMs: 600_000 });
  await needs((await create("44.29")).id, "INVALID_INSTRUCTIONS");
  await world.sandbox.set({ settleMs: 100 });
});

/** What the database's clock, as a server takes it, may be behind this machine's. */
const CLOCKS_MS = 1_000;

async function advance(seconds: number): Promise<string> {
  const body = JSON.stringify({ advanceSeconds: seconds });
  const moved = await fetch(`${world.sandbox.url}/clock`, { method: "POST", body });
  return ((await moved.json()) as { now: string }).now;
}

describe("a quote for a magic amount", () => {
  const quote = (srcAmount: string): Promise<Reply> =>
    get(
      `/v1/intent/quote?srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&countryCode=US&srcAmount=${srcAmount}`,
    );

  it.each([
    ["44.01", "NOT_OFFERED"],
    ["44.02", "INVALID_OFFER"],
    ["44.03", "PROVIDER_UNAVAILABLE"],
  ])("%s is unavailable: %s", async (amount, reason) => {
    const { json } = await quote(amount);
    expect(json).toMatchObject({ quotes: [], unavailable: [{ providerCode: "sandbox-south", reason }] });
  });

  it("44.04 is held for a second", async () => {
    const isHeld = ({ json: { quotes } }: Reply): boolean => quotes[0]?.id !== undefined;
    const { json } = await eventually(() => quote("44.04"), isHeld);
    const [{ id: quoteId, expiresAt }] = json.quotes as [{ id: string; expiresAt: string }];
    await untilTrue(() => Date.now() > Date.parse(expiresAt) + CLOCKS_MS);
    const auth = await newCustomer(world, project);
    const body = onramp({ srcAmount: "44.04", quoteId });
    const late = await call("POST", "/v1/intent", { auth, body });
    expect([late.status, late.json.error]).toEqual([400, "QUOTE_EXPIRED"]);
  });
});

describe("a price that ends", () => {
  const accept = (id: string, auth: string, quoteId: string): Promise<Reply> =>
    call("POST", `/v1/intent/${id}/quote`, { auth, body: { quoteId } });

  it("44.05 before the payment is offered anew", async () => {
    const { id, auth, reply } = await create("44.05", { autoExecute: false });
    const { expiresAt } = reply.json.intent.price as { expiresAt: string };
    await untilTrue(() => Date.now() > Date.parse(expiresAt) + CLOCKS_MS);
    const execute = (): Promise<Reply> => call("POST", `/v1/intent/${id}/transaction`, { auth });
    expect((await execute()).json.error).toBe("PRICE_CHANGED");
    const { newPrice } = (await get(`/v1/intents/${id}`)).json.intent as { newPrice: Record<string, string> };
    expect((await accept(id, auth, newPrice["quoteId"] ?? "")).status).toBe(202);
    expect((await execute()).status).toBe(202);
    const done = await until(id, ({ intent }) => intent.status === "COMPLETED");
    expect(done.transaction.context.receipt.amountReceived).toBe(newPrice["destAmount"]);
  });

  it("44.06 at the order is offered anew, and the order made once", async () => {
    const { id, auth } = await create("44.06");
    const { intent } = await until(id, (json) => json.intent.newPrice !== undefined);
    expect(intent).toMatchObject({ status: "PENDING_PAYMENT", refusal: { reason: "PRICE" } });
    expect((await accept(id, auth, intent.newPrice.quoteId as string)).status).toBe(202);
    const done = await until(id, (json) => json.intent.status === "COMPLETED");
    expect(done.transaction.context.receipt.amountReceived).toBe(intent.newPrice.destAmount);
  });
});

describe("an identity check", () => {
  /** An intent whose check changes once its first state is seen. */
  async function checked(amount: string, seen: (intent: Reply["json"]) => void): Promise<string> {
    await world.sandbox.set({ settleMs: 600_000 });
    const { id, reply } = await create(amount);
    seen(reply.json.intent);
    await world.sandbox.set({ settleMs: 100 });
    await advance(600);
    return id;
  }
  const approve = (json: Reply["json"]): Promise<Reply> =>
    world.call("POST", new URL(json.onboardingUrl as string).pathname, {
      text: "action=submit&requirement=KYC_VERIFICATION&field.fullName=Ada&field.dateOfBirth=1990-12-31&field.decision=approve",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });

  it("44.14 needs more: PENDING again, with the reason in the intent and in an event", async () => {
    const id = await checked("44.14", ({ requirements }) =>
      expect(requirements).toEqual([
        { code: "KYC_VERIFICATION", title: "Identity check", status: "PENDING" },
      ]),
    );
    const reason = "The photo cannot be read.";
    const json = await until(id, ({ intent }) => intent.requirements[0].reason === reason);
    expect(json.intent).toMatchObject({
      status: "COMPLIANCE_IN_PROGRESS",
      currentRequirementCode: "KYC_VERIFICATION",
      requirements: [{ status: "PENDING" }],
    });
    const events = await get("/v1/events?type=compliance.updated");
    const told = (events.json as { data: { intentId: string; status: string; reason?: string } }[])
      .filter(({ data }) => data.intentId === id)
      .map(({ data }) => [data.status, data.reason])
      .reverse();
    expect(told).toEqual([
      ["PENDING", undefined],
      ["IN_PROGRESS", undefined],
      ["PENDING", reason],
    ]);
    const path = new URL(json.onboardingUrl as string).pathname;
    expect((await world.call("GET", path)).text).toContain(`needs more: ${reason}`);
    await approve(json);
    const done = await until(id, ({ intent }) => intent.status === "COMPLETED");
    expect(done.intent.requirements).toEqual([
      { code: "KYC_VERIFICATION", title: "Identity check", status: "COMPLETED" },
    ]);
  });

  it("44.17 is listed later", async () => {
    const id = await checked("44.17", ({ status, requirements }) =>
      expect([status, requirements]).toEqual(["COMPLIANCE_IN_PROGRESS", []]),
    );
    const json = await until(id, ({ intent }) => intent.requirements[0]?.status === "PENDING");
    expect((await approve(json)).status).toBe(303);
    await until(id, ({ intent }) => intent.status === "COMPLETED");
  });

  it("44.18 leaves the list", async () => {
    const { id } = await create("44.18");
    const { intent } = await until(id, (json) => json.intent.status === "COMPLETED");
    expect(intent.requirements[0].status).toBe("WITHDRAWN");
  });

  it("44.19 is listed twice", async () => {
    const { id, reply } = await create("44.19");
    expect(reply.json.intent.requirements[0].status).toBe("PENDING");
    expect((await approve(reply.json)).status).toBe(303);
    await until(id, ({ intent }) => intent.status === "COMPLETED");
  });

  it("44.16 takes for ever", async () => {
    const { id } = await create("44.16");
    const json = await until(id, ({ intent }) => intent.requirements[0]?.status === "IN_PROGRESS");
    expect(json.intent.status).toBe("COMPLIANCE_IN_PROGRESS");
  });
});

describe("a payment", () => {
  const refund = (id: string): Promise<Reply> =>
    call("POST", `/v1/intents/${id}/refund`, { auth: project.basic, body: { reason: "returned" } });

  it("44.23 that does not arrive fails when it is due, by the sandbox's clock", async () => {
    const { id } = await create("44.23");
    await until(id, ({ transaction }) => transaction?.context.instructions.length === 1);
    const now = await advance(5 * 24 * 60 * 60);
    expect(Date.parse(now) - Date.now()).toBeGreaterThan(4 * 24 * 60 * 60 * 1000);
    const json = await until(id, ({ intent }) => intent.status === "TRANSACTION_FAILED");
    expect(json.intent.failureReason).toBe("The payment did not arrive in time.");
  });

  it("44.31 that the bank takes back is REFUNDED, and its intent stays COMPLETED", async () => {
    const { id } = await create("44.31");
    const json = await until(id, ({ transaction }) => transaction?.status === "REFUNDED");
    expect([json.intent.status, json.transaction.context.refunds[0].amount]).toEqual(["COMPLETED", "44.31"]);
  });

  it("44.32 whose refund is refused needs attention", async () => {
    const { id } = await create("44.32");
    await until(id, ({ intent }) => intent.status === "COMPLETED");
    expect((await refund(id)).status).toBe(202);
    const json = await until(id, ({ attention }) => attention !== undefined);
    expect(Object.keys(json.attention as object)).toEqual(["REFUND_REFUSED"]);
  });

  const refundIn = (id: string, status: string): Promise<Reply["json"]> =>
    eventually(
      () => get(`/v1/intents/${id}/refunds`),
      ({ json }) => json[0]?.status === status,
    ).then(({ json }) => json[0]);

  it.each([
    ["44.61", ["PENDING", "SUCCEEDED"], undefined],
    ["44.62", ["PENDING", "FAILED"], "REFUND_REFUSED"],
    ["44.65", ["SUCCEEDED"], "REFUND_MATCHED"],
  ])("%s has a refund that is %s", async (amount, statuses, reason) => {
    const { id } = await create(amount);
    await until(id, ({ intent }) => intent.status === "COMPLETED");
    expect((await refund(id)).status).toBe(202);
    await refundIn(id, statuses.at(-1) ?? "");
    const { json } = await get("/v1/events?type=refund.updated");
    const told = (json as readonly { data: Record<string, string> }[])
      .filter(({ data }) => data["intentId"] === id)
      .map(({ data }) => data["status"]);
    expect(told).toEqual(expect.arrayContaining(statuses));
    const { attention = {} } = await until(id, () => true);
    expect(Object.keys(attention as object)).toEqual(
      reason === undefined ? [] : expect.arrayContaining([reason]),
    );
  });

  it("44.63 has a refund that waits until it is cancelled", async () => {
    const { id } = await create("44.63");
    await until(id, ({ intent }) => intent.status === "COMPLETED");
    const { json } = await refund(id);
    await refundIn(id, "PENDING");
    const path = `/v1/intents/${id}/refunds/${String(json.id)}/cancel`;
    expect((await call("POST", path, { auth: project.basic, body: {} })).status).toBe(202);
    await refundIn(id, "CANCELLED");
  });

  it("44.64 has a refund that is listed two days later", async () => {
    const { id } = await create("44.64");
    await until(id, ({ intent }) => intent.status === "COMPLETED");
    await refund(id);
    await refundIn(id, "PENDING");
    await advance(2 * 24 * 60 * 60);
    await refundIn(id, "SUCCEEDED");
  });

  it("is carried out once, whatever becomes of the first answers", async () => {
    const ids = await Promise.all(
      ["44.41", "44.42", "44.43"].map(async (amount) => {
        const { id } = await create(amount);
        const { transaction } = await until(id, ({ intent }) => intent.status === "COMPLETED");
        return String(transaction.id);
      }),
    );
    const executed = await world.sandbox.executed();
    expect(ids.map((id) => executed.filter((one) => one === id).length)).toEqual([1, 1, 1]);
  });
});

describe("callbacks of a magic amount", async () => {
  const cases = [
    ["44.51", 0, await ownReceiver()],
    ["44.52", 2, await ownReceiver()],
    ["44.53", 6, await ownReceiver()],
    ["44.54", 2, await ownReceiver()],
  ] as const;

  /** Types of the callbacks about an onboarding that is approved at once and about its payment. */
  async function callbacks(receiver: Receiver, srcAmount: string, count: number): Promise<string[]> {
    const { path, keyId, secret } = SANDBOX_PROVIDERS.find(({ code }) => code === "sandbox-south")!;
    const provider = new HttpProvider({ url: world.sandbox.url + path, keyId, secret });
    const [intentId, id] = [randomUUID(), randomUUID()];
    const side = (currencyCode: string, details: object) => ({ currencyCode, details });
    const common = {
      customerReference: randomUUID(),
      movement: {
        type: "ONRAMP",
        src: side("USD", { countryCode: "US", rail: "ACH" }),
        dest: side("USDC_POLYGON", { address: WALLET }),
        srcAmount,
        rail: "ACH",
      },
      callbackUrl: receiver.url,
    };
    await provider.startOnboarding(intentId, JSON.stringify({ id: intentId, wallets: [], ...common }));
    await provider.execute(id, JSON.stringify({ id, onboardingId: intentId, ...common }));
    await untilTrue(async () => {
      const reply = await provider.execution(id);
      return reply.kind === "answer" && reply.value.status === "SUCCESS" && receiver.received.length >= count;
    });
    return receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
  }

  const updated = (count: number): string[] => Array.from({ length: count }, () => "execution.updated");

  it.concurrent.each(cases)("%s: %i of them", async (amount, count, receiver) => {
    expect(await callbacks(receiver, amount, count)).toEqual(updated(count));
  });
});

it("an order at a held quote of another amount is refused", async () => {
  const { path, keyId, secret } = SANDBOX_PROVIDERS.find(({ code }) => code === "sandbox-south")!;
  const provider = new HttpProvider({ url: world.sandbox.url + path, keyId, secret });
  const pair = { srcCurrencyCode: "USD", destCurrencyCode: "USDC_POLYGON", rail: "ACH", countryCode: "US" };
  const quoted = await provider.quote({ ...pair, srcAmount: "50.00" });
  const quoteId = quoted.kind === "answer" ? quoted.value?.quoteId : undefined;
  const onboard = (more: object) => {
    const id = randomUUID();
    const movement = {
      type: "ONRAMP",
      src: { currencyCode: "USD", details: { countryCode: "US" } },
      dest: { currencyCode: "USDC_POLYGON", details: { address: WALLET } },
      ...{ srcAmount: "50.00", rail: "ACH", quoteId, ...more },
    };
    const order = { id, customerReference: "c", wallets: [], movement, callbackUrl: "http://127.0.0.1:9/" };
    return provider.startOnboarding(id, JSON.stringify(order));
  };
  expect(await onboard({ srcAmount: "60.00" })).toMatchObject({ kind: "refused", code: "QUOTE_MISMATCH" });
  const otherCoin = { currencyCode: "USDC_GNOSIS", details: { address: WALLET } };
  expect(await onboard({ dest: otherCoin })).toMatchObject({ kind: "refused", code: "QUOTE_MISMATCH" });
  expect(await onboard({})).toMatchObject({ kind: "answer" });
});

it("the page has every magic amount", () => {
  const rows = rowsOf("runtime/ramp/docs/sandbox.md", "Magic amounts");
  expect(rows.map(([amount]) => amount)).toEqual([...MAGIC_AMOUNTS.keys()]);
});

it("the page has every switch", () => {
  const rows = rowsOf("runtime/ramp/docs/sandbox.md", "Switches");
  expect(rows.map(([name]) => name)).toEqual(Object.keys(DEFAULT_SWITCHES));
});
