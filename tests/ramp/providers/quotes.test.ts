/** Quotes that a provider holds, and the intents that name them. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { CARD_CAPABILITIES, cardOnramp, ownCards } from "../support/card-provider.js";
import { atEnd } from "../../support/at-end.js";
import { insist } from "../support/recovery.js";
import {
  eventually,
  expectRefused,
  made,
  newCustomer,
  ownWorld,
  reached,
  type Reply,
  WALLET,
} from "../support/world.js";

const world = await ownWorld();
const DAY_MS = 24 * 60 * 60_000;

interface Quote {
  readonly id?: string;
  readonly expiresAt?: string;
  readonly providerCode: string;
  readonly destAmount: string;
  readonly srcAmount: string;
  readonly hasIndicativePrice: boolean;
  readonly fees: unknown;
}

async function quotesOf(auth: string, amount = "srcAmount=100.00"): Promise<readonly Quote[]> {
  const query = `srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&countryCode=US&${amount}`;
  const { status, json, text } = await world.call("GET", `/v1/intent/quote?${query}`, { auth });
  expect(status, text).toBe(200);
  return json.quotes as Quote[];
}

/** The id of a quote that the first provider holds. */
async function held(auth: string, amount?: string): Promise<string> {
  const [quote] = await quotesOf(auth, amount);
  expect(quote?.id).toMatch(/^[0-9a-f-]{36}$/);
  return String(quote?.id);
}

/** A provider of whom a quote expires while the other tests run. */
const brief = await ownCards(world, { holdMs: 10_000 });
const [soon] = await quotesOf(brief.project.basic);

describe("a quote", () => {
  it("has an id and an expiry while its provider holds the price", async () => {
    const { project } = await ownCards(world, { holdMs: 60_000 });
    const [quote] = await quotesOf(project.basic);
    expect(quote).toMatchObject({ rail: "CARD", destAmount: "99.000000", hasIndicativePrice: false });
    expect(quote?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(Date.parse(String(quote?.expiresAt))).toBeGreaterThan(Date.now());
  });

  it.each([
    ["is not held", null],
    ["is held until a time that has passed", -1_000],
  ])("that %s has neither", async (_, holdMs) => {
    const { project } = await ownCards(world, { holdMs });
    const [quote] = await quotesOf(project.basic);
    expect(quote).toMatchObject({ destAmount: "99.000000" });
    expect(quote).not.toHaveProperty("id");
    expect(quote).not.toHaveProperty("expiresAt");
  });

  it.each([
    [{ srcAmount: "100.01" }, "srcAmount=100.00"],
    [{}, "destAmount=99.000000"],
    [{ srcAmount: "100.001" }, "destAmount=99.000000"],
    [{ srcAmount: "100.00" }, "destAmount=99.100000"],
    [{ srcAmount: "200.00" }, "destAmount=99.000000"],
  ])("that says %j to %s is no offer", async (offer, amount) => {
    const capabilities = { ...CARD_CAPABILITIES, destAmounts: true };
    const { project } = await ownCards(world, { capabilities, offer });
    expect(await quotesOf(project.basic, amount)).toEqual([]);
  });

  it("of what is received is asked only of providers that say so", async () => {
    const { project, auth } = await ownCards(world, { offer: { srcAmount: "100.00" } });
    const query = "srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&countryCode=US&destAmount=99";
    for (const caller of [project.basic, auth]) {
      const { json } = await world.call("GET", `/v1/intent/quote?${query}`, { auth: caller });
      expect(json).toMatchObject({ quotes: [], unavailable: [{ reason: "DEST_AMOUNT_NOT_SUPPORTED" }] });
    }
  });
});

describe("an intent", () => {
  it("is made at the price of the quote that it names, which its orders name to the provider", async () => {
    const { project, provider, auth, create } = await ownCards(world, { holdMs: 60_000 });
    const [quote] = await quotesOf(project.basic);
    provider.destAmounts = { CARD: "98.900000", WIRE: "97.000000" };
    const { status, json, text } = await create({ quoteId: quote?.id, srcAmount: "100" });
    expect(status, text).toBe(201);
    const price = {
      quoteId: quote?.id,
      destAmount: "99.000000",
      exchangeRate: "1",
      fees: quote?.fees,
      hasIndicativePrice: false,
    };
    expect(json.intent.price).toEqual(price);
    const read = await world.call("GET", `/v1/intent/${String(json.intent.id)}`, { auth });
    expect(read.json.intent.price).toEqual(price);
    const [onboarding, execution] = provider.ordered.slice(-2);
    expect(onboarding).toMatchObject({ rail: "CARD", quoteId: "held-CARD", srcAmount: "100.00" });
    expect(execution).toEqual(onboarding);
  });

  it("asks its provider for no other price, and is refused where the provider refuses the quote", async () => {
    const project = await world.project({ providers: ["sandbox-south"] });
    const auth = await newCustomer(world, project);
    const quoteId = await held(auth);
    await world.sandbox.set({ onboarding: "refuse" });
    const body = {
      src: { currencyCode: "USD", details: { countryCode: "US" } },
      dest: { currencyCode: "USDC_POLYGON", details: { address: WALLET } },
      srcAmount: "100.00",
      autoExecute: true,
      quoteId,
    };
    const { json, text } = await world.call("POST", "/v1/intent", { auth, body });
    await world.sandbox.set({ onboarding: "wait" });
    expect(json.intent?.status, text).toBe("COMPLIANCE_FAILED");
    expect(json.transaction).toBeUndefined();
    expectRefused([await world.call("POST", "/v1/intent", { auth, body })], 400, "QUOTE_USED");
  });

  it.each(["srcAmount=100", "destAmount=91.951234"])(
    "at the sandbox is paid exactly as its quote of %s says",
    async (amount) => {
      const project = await world.project({ providers: ["sandbox-south"] });
      const auth = await newCustomer(world, project);
      const [quote] = await quotesOf(auth, amount);
      const body = {
        src: { currencyCode: "USD", details: { countryCode: "US" } },
        dest: { currencyCode: "USDC_POLYGON", details: { address: WALLET } },
        srcAmount: quote?.srcAmount,
        quoteId: quote?.id,
        autoExecute: true,
      };
      const { json, text } = await world.call("POST", "/v1/intent", { auth, body });
      expect(json.intent?.price, text).toMatchObject({ quoteId: quote?.id, destAmount: quote?.destAmount });
      const path = `/v1/intent/${String(json.intent.id)}`;
      const done = await reached(world, path, { auth }, "COMPLETED");
      expect(done.json.transaction.context.receipt).toMatchObject({
        amountSent: quote?.srcAmount,
        amountReceived: quote?.destAmount,
      });
    },
  );

  it("alone has its quote, however many name it at once", async () => {
    const { project, provider, create } = await ownCards(world, { holdMs: 60_000 });
    const quoteId = await held(project.basic);
    const replies = await Promise.all(Array.from({ length: 20 }, () => create({ quoteId })));
    const [made201, others] = [
      replies.filter(({ status }) => status === 201),
      replies.filter(({ status }) => status !== 201),
    ];
    expect(made201).toHaveLength(1);
    expectRefused(others, 400, "QUOTE_USED");
    expect(provider.received.size).toBe(1);
  });

  it("is the same one for a repeated key, also after the quote has expired", async () => {
    const { project, provider, auth } = await ownCards(world, { holdMs: 60_000 });
    const quoteId = await held(project.basic);
    const create = (): Promise<Reply> =>
      insist(world.url, "POST", "/v1/intent", { auth, key: quoteId, body: cardOnramp({ quoteId }) });
    const replies = await Promise.all([create(), create(), create()]);
    await world.rows("UPDATE ramp.quotes SET expires_at = now() - interval '1 s' WHERE id = $1", [quoteId]);
    const all = [...replies, await create()];
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 201));
    expect(new Set(all.map(({ json }) => String(json.intent.id))).size).toBe(1);
    expect(provider.received.size).toBe(1);
  });

  it("is refused after the quote has expired, by the database's clock", async () => {
    const { project, create } = brief;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + DAY_MS });
    atEnd(() => void vi.useRealTimers());
    expect((await create({ quoteId: await held(project.basic) })).status).toBe(201);
    vi.useRealTimers();
    expect(soon?.id).toBeDefined();
    await sleep(Math.max(0, Date.parse(soon?.expiresAt ?? "") + 2_000 - Date.now()));
    expectRefused([await create({ quoteId: soon?.id })], 400, "QUOTE_EXPIRED");
    const late = await held(project.basic);
    await world.rows("UPDATE ramp.quotes SET expires_at = now() WHERE id = $1", [late]);
    expectRefused([await create({ quoteId: late })], 400, "QUOTE_EXPIRED");
  });

  it("is refused at a provider that has got other credentials, or is disconnected, since", async () => {
    const { project, provider, create } = await ownCards(world, { holdMs: 60_000 });
    const quoteId = await held(project.basic);
    provider.keyId = "other";
    made(await provider.connect(world, project));
    // Until then the server knows the old credentials, which the provider refuses.
    await eventually(
      () => quotesOf(project.basic),
      ({ length }) => length > 0,
    );
    expectRefused([await create({ quoteId })], 400, "QUOTE_EXPIRED");
  });

  it.each([
    [{ srcAmount: "100.01" }, "/srcAmount"],
    [{ providerId: "nobody" }, "/providerId"],
    [{ src: { currencyCode: "USD", details: { countryCode: "US", rail: "WIRE" } } }, "/src/details/rail"],
    [{ src: { currencyCode: "USD", details: { countryCode: "BR" } } }, "/src/details/countryCode"],
    [{ src: { currencyCode: "EUR", details: { countryCode: "US" } } }, "/src/currencyCode"],
    [{ dest: { currencyCode: "USDC_GNOSIS", details: { address: WALLET } } }, "/dest/currencyCode"],
  ])("is refused with a quote for another payment: %j", async (other, path) => {
    const { project, create } = await ownCards(world, { holdMs: 60_000 });
    const reply = await create({ quoteId: await held(project.basic), ...other });
    expectRefused([reply], 400, "QUOTE_MISMATCH");
    expect(reply.json.details.map((detail: { path: string }) => detail.path)).toEqual([path]);
  });

  it("does not find a quote of another project or customer, nor one that there never was", async () => {
    const { project, auth, create } = await ownCards(world, { holdMs: 60_000 });
    const other = await ownCards(world, { holdMs: 60_000 });
    const neighbour = await newCustomer(world, project);
    const own = await held(auth);
    for (const quoteId of [await held(other.project.basic), await held(neighbour), crypto.randomUUID()])
      expectRefused([await create({ quoteId })], 404, "NOT_FOUND");
    expectRefused([await create({ quoteId: "x" })], 400, "INVALID_REQUEST");
    expect((await create({ quoteId: own })).status).toBe(201);
  });

  it("may name no quote by null", async () => {
    const { create } = await ownCards(world);
    expect((await create({ quoteId: null })).status).toBe(201);
  });
});

it("the quotes that a customer requested go with an erasure", async () => {
  const { project } = await ownCards(world, { holdMs: 60_000 });
  const id = crypto.randomUUID();
  await held(await newCustomer(world, project, id));
  const erased = await world.call("DELETE", `/v1/customers/${id}`, { auth: project.basic });
  expect(erased.status, erased.text).toBe(204);
  expect(await world.rows("SELECT FROM ramp.quotes WHERE customer_id = $1", [id])).toEqual([]);
});
