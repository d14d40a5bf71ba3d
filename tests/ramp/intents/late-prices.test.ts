/** The price of an intent ends between its checks and its payment (runtime/ramp/docs/intents.md, New prices). */
import { describe, expect, it } from "vitest";
import { showIntent } from "../../../runtime/ramp/operator/diagnostics.js";
import { FEES, ownCards } from "../support/card-provider.js";
import { eventually, made, ownWorld, type Reply, untilTrue } from "../support/world.js";

const world = await ownWorld();

type Order = { readonly id: string; readonly movement: { readonly quoteId?: string } };

const PAST = "2020-01-01T00:00:00.000Z";

/** An intent whose price ends at `untilOver`, at a provider that quotes another one from now on. */
async function late(fee: string, more: Readonly<Record<string, unknown>> = {}) {
  const priceExpiresAt = new Date(Date.now() + 60_000).toISOString();
  const cards = await ownCards(world, { holdMs: 60_000, onboarding: { priceExpiresAt } });
  const { create, provider, project, auth } = cards;
  const created = await create({ autoExecute: false, ...more });
  const id = String(created.json.intent.id);
  reprice(cards, fee, "new-quote");
  const read = (): Promise<Reply> => world.call("GET", `/v1/intents/${id}`, { auth: project.basic });
  const untilOver = async (): Promise<void> => {
    provider.onboarding = { priceExpiresAt: PAST };
    const ended = JSON.stringify({ expiresAt: PAST });
    await world.rows("UPDATE ramp.intents SET price = price || $2::jsonb WHERE id = $1", [id, ended]);
  };
  const execute = (key?: string): Promise<Reply> =>
    world.call("POST", `/v1/intent/${id}/transaction`, {
      auth,
      ...(key !== undefined && { key }),
    });
  const accept = (quoteId: unknown, key?: string): Promise<Reply> =>
    world.call("POST", `/v1/intent/${id}/quote`, {
      ...{ auth, body: { quoteId } },
      ...(key !== undefined && { key }),
    });
  const told = async (): Promise<readonly string[]> => {
    const { json } = await world.call("GET", "/v1/events?order=asc", { auth: project.basic });
    return (json as { type: string }[]).map(({ type }) => type).filter((type) => type.includes("price"));
  };
  const offered = (): Promise<Reply> => eventually(read, ({ json }) => json.intent.newPrice !== undefined);
  const ordered = (): Promise<Reply> =>
    eventually(read, ({ json }) => json.intent.status === "TRANSACTION_IN_PROGRESS");
  /** The orders of the payment, by key. */
  const orders = (): readonly (readonly [string, Order])[] =>
    [...provider.bodies]
      .filter(([key]) => key.startsWith("execution:"))
      .map(([key, [body = ""]]) => [key.replace(/^execution:[^:]*/, ""), JSON.parse(body) as Order]);
  const page = String(created.json.checkoutUrl ?? created.json.onboardingUrl);
  return {
    ...{ ...cards, created, id, read, untilOver, execute, accept, told, offered, ordered, orders },
    path: page === "null" ? "" : new URL(page).pathname,
  };
}

function reprice(
  { provider }: Pick<Awaited<ReturnType<typeof ownCards>>, "provider">,
  fee: string,
  quoteId: string,
) {
  provider.destAmounts = { CARD: `${(100 - Number(fee)).toFixed(2)}0000` };
  provider.fees = { ...FEES, totalFee: fee, processingFee: fee };
  provider.offer = { quoteId };
}

const show = async (path: string): Promise<string> => (await world.call("GET", path)).text;
const send = (path: string, fields: Readonly<Record<string, string>>): Promise<Reply> =>
  world.call("POST", path, {
    text: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });

describe("a price that the provider holds until a time", () => {
  it("is the intent's `price.expiresAt`, and paid at before it", async () => {
    const { created, execute, orders } = await late("3.00");
    expect(created.json.intent.price.expiresAt).toMatch(/^20.*Z$/);
    expect((await execute()).status).toBe(202);
    expect(orders()).toMatchObject([["", { movement: { quoteId: "held-CARD" } }]]);
  });

  it("that ended is renewed where the new one is not worse, and the payment made at it", async () => {
    const { execute, untilOver, orders, read, told } = await late("1.00");
    await untilOver();
    expect((await execute()).status).toBe(202);
    expect(orders()).toMatchObject([["", { movement: { quoteId: "new-quote" } }]]);
    expect((await read()).json.intent.price.destAmount).toBe("99.000000");
    // The same terms again are no change.
    expect(await told()).toEqual([]);
  });

  it("is asked for with the bank's country, whatever the wallet's details say", async () => {
    const details = { address: `0x${"12".repeat(20)}`, countryCode: "FR" };
    const { execute, untilOver, provider } = await late("1.00", {
      dest: { currencyCode: "USDC_POLYGON", details },
    });
    await untilOver();
    expect((await execute()).status).toBe(202);
    expect([provider.quotedFor.length, new Set(provider.quotedFor)]).toEqual([2, new Set(["US"])]);
  });

  it("is within maxSlippage too", async () => {
    const { execute, untilOver, read, told } = await late("1.50", { maxSlippage: "1" });
    await untilOver();
    expect((await execute()).status).toBe(202);
    expect((await read()).json.intent.price.destAmount).toBe("98.500000");
    expect(await told()).toEqual(["intent.price_changed"]);
  });

  it("with autoExecute waits for the acceptance once the check is met, then goes on", async () => {
    const form = { type: "object", properties: {} };
    const check = { code: "KYC", title: "Check", failureReason: null, form };
    const set = await late("3.00", { autoExecute: true });
    expect(set.orders()).toHaveLength(1);
    const { provider, create, project, auth } = set;
    provider.offer = {};
    provider.requirements = [{ ...check, status: "PENDING" }];
    provider.onboarding = { priceExpiresAt: PAST };
    const id = String((await create()).json.intent.id);
    reprice(set, "5.00", "another");
    provider.requirements = [{ ...check, status: "COMPLETED", form: null }];
    const read = () => world.call("GET", `/v1/intents/${id}`, { auth: project.basic });
    await world.rows("UPDATE ramp.intents SET next_poll_at = now() WHERE id = $1", [id]);
    const { json } = await eventually(read, (reply) => reply.json.intent.newPrice !== undefined);
    expect(json.intent.status).toBe("PENDING_PAYMENT");
    expect(json).not.toHaveProperty("transaction");
    const { quoteId } = json.intent.newPrice as { quoteId: string };
    await world.call("POST", `/v1/intent/${id}/quote`, { auth, body: { quoteId } });
    await eventually(read, (reply) => reply.json.intent.status === "TRANSACTION_IN_PROGRESS");
  });
});

describe("a worse price at the payment", () => {
  it("is a 409 and `newPrice`, is not stored with the key, and paid at once accepted", async () => {
    const { execute, untilOver, accept, read, orders, told, provider } = await late("3.00");
    await untilOver();
    const refused = await execute("pay");
    expect([refused.status, refused.json.error]).toEqual([409, "PRICE_CHANGED"]);
    const { newPrice, status } = (await read()).json.intent;
    expect(status).toBe("PENDING_PAYMENT");
    expect(newPrice).toMatchObject({ destAmount: "97.000000", previousDestAmount: "99.000000" });
    expect((await execute("pay")).json.error).toBe("PRICE_CHANGED");
    expect((await read()).json.intent.newPrice).toEqual(newPrice);
    expect(provider.received.size).toBe(0);
    const { quoteId } = newPrice as { quoteId: string };
    const accepted = await accept(quoteId, "accept");
    expect(accepted.status).toBe(202);
    const again = await accept(quoteId, "accept");
    expect([again.status, again.headers.get("X-Idempotency-Replayed"), again.text]).toEqual([
      ...[202, "true", accepted.text],
    ]);
    expect((await accept("00000000-0000-4000-8000-000000000000", "accept")).json.error).toBe(
      "IDEMPOTENCY_KEY_REUSED",
    );
    const paid = await execute("pay");
    expect(paid.status).toBe(202);
    expect(orders()).toMatchObject([["", { movement: { quoteId: "new-quote" } }]]);
    expect(await told()).toEqual(["intent.price_offered", "intent.price_changed"]);
    expect((await execute("pay")).text).toBe(paid.text);
    expect((await accept(quoteId)).json.error).toBe("NOT_FOUND");
  });

  it("is on the page, which shows both amounts and makes the payment once accepted", async () => {
    const { path, untilOver, orders, read, ordered } = await late("3.00");
    expect(await show(path)).toContain("holds the price until");
    await untilOver();
    expect(await show(path)).toContain("no longer holds the price");
    expect((await send(path, { action: "execute" })).status).toBe(303);
    const shown = await show(path);
    for (const words of ["The price has changed", "97.00", "99.00"]) expect(shown).toContain(words);
    expect(orders()).toEqual([]);
    const wrong = { action: "accept", quoteId: "00000000-0000-4000-8000-000000000000" };
    expect((await send(path, wrong)).status).toBe(303);
    expect((await read()).json.intent.newPrice).toBeDefined();
    const [, quoteId = ""] = /name="quoteId" value="([^"]+)"/.exec(shown) ?? [];
    expect((await send(path, { action: "accept", quoteId })).status).toBe(303);
    expect((await ordered()).json.intent.price.destAmount).toBe("97.000000");
    expect(orders()).toMatchObject([["", { movement: { quoteId: "new-quote" } }]]);
    expect(await show(path)).not.toContain("The price has changed");
  });

  it("that the provider does not hold is offered for a minute, as indicative", async () => {
    const { execute, untilOver, accept, read, orders, provider } = await late("3.00");
    provider.holdMs = null;
    provider.offer = {};
    await untilOver();
    expect((await execute()).json.error).toBe("PRICE_CHANGED");
    const { newPrice } = (await read()).json.intent as { newPrice: Record<string, string> };
    expect(newPrice["hasIndicativePrice"]).toBe(true);
    const left = Date.parse(newPrice["expiresAt"] ?? "") - Date.now();
    expect(left).toBeLessThanOrEqual(60_000);
    expect((await accept(newPrice["quoteId"])).status).toBe(202);
    expect((await execute()).status).toBe(202);
    expect(orders()[0]?.[1].movement).not.toHaveProperty("quoteId");
  });

  it("is gone with the intent, and none is accepted of one that is cancelled", async () => {
    const { execute, untilOver, accept, read, id, auth, provider } = await late("3.00");
    await untilOver();
    await execute();
    const { quoteId } = (await read()).json.intent.newPrice as { quoteId: string };
    provider.answerLookUp = () => new Promise((done) => setTimeout(done, 300));
    await world.call("POST", `/v1/intent/${id}/cancel`, { auth });
    expect((await accept(quoteId)).json.error).toBe("INTENT_CLOSED");
    const { json } = await eventually(read, (reply) => reply.json.intent.status === "CANCELLED");
    expect(json.intent).not.toHaveProperty("newPrice");
  });

  it("without an answer of the provider is a 503 that changes nothing", async () => {
    const { execute, untilOver, read, provider, path } = await late("3.00");
    await untilOver();
    provider.quotes = false;
    expect((await execute("again")).status).toBe(503);
    expect((await send(path, { action: "execute" })).status).toBe(503);
    expect((await read()).json.intent).not.toHaveProperty("newPrice");
    provider.quotes = true;
    expect((await execute("again")).json.error).toBe("PRICE_CHANGED");
  });
});

describe("an order that is refused for its price", () => {
  it.each([{ error: "QUOTE_EXPIRED" }, { error: "NO", reason: "PRICE" }])(
    "(%o) is sent again at the accepted price, under the same id and another key; the journal follows",
    async (refusal) => {
      const { execute, provider, offered, accept, orders, ordered, read, id, path } = await late("3.00");
      provider.refusesExecution = refusal;
      const first = await execute();
      expect([first.status, first.json.status]).toEqual([202, "PENDING"]);
      const { json } = await offered();
      expect(json.intent).toMatchObject({ status: "PENDING_PAYMENT", refusal: { reason: "PRICE" } });
      expect(json).not.toHaveProperty("attention");
      expect(await show(path)).toContain("The price has changed");
      provider.refusesExecution = null;
      const { quoteId } = json.intent.newPrice as { quoteId: string };
      expect((await accept(quoteId)).status).toBe(202);
      await ordered();
      const [[, one], [key, two]] = orders() as [[string, Order], [string, Order]];
      expect([key, two.id]).toEqual([":2", one.id]);
      expect([one.movement.quoteId, two.movement.quoteId]).toEqual(["held-CARD", "new-quote"]);
      expect((await read()).json.intent).not.toHaveProperty("refusal");
      const [owed] = await world.rows(
        "SELECT sum(amount)::text AS sum FROM ramp.postings WHERE intent_id = $1 AND account = 'customer' AND currency = 'USDC_POLYGON'",
        [id],
      );
      expect(Number(owed?.["sum"])).toBe(-97);
    },
  );

  it("is sent again by itself at a price that is not worse", async () => {
    const { execute, provider, ordered, orders } = await late("1.00");
    provider.refusesExecution = { error: "QUOTE_EXPIRED" };
    await execute();
    provider.refusesExecution = null;
    await ordered();
    expect(orders().at(-1)?.[1].movement.quoteId).toBe("new-quote");
  });

  it("but was taken after all, as the cancel tells, has no offer any more", async () => {
    const { execute, provider, offered, id, auth, ordered } = await late("3.00");
    provider.refusesExecution = { error: "QUOTE_EXPIRED" };
    await execute();
    await offered();
    await world.call("POST", `/v1/intent/${id}/cancel`, { auth });
    const { json } = await ordered();
    expect(json.intent).not.toHaveProperty("newPrice");
    expect(json.intent).not.toHaveProperty("refusal");
    expect(json.intent.price.destAmount).toBe("99.000000");
  });

  it.each(["CANCELLED", "EXPIRED"])(
    "is offered no longer once it is to be %s: a provider that fails is asked again after growing pauses, not at the offer's end",
    async (end) => {
      const { execute, untilOver, provider, id, auth, read } = await late("3.00");
      await untilOver();
      await execute();
      expect((await read()).json.intent.newPrice).toBeDefined();
      provider.keyId = "rotated";
      if (end === "CANCELLED") await world.call("POST", `/v1/intent/${id}/cancel`, { auth });
      else
        await world.rows("UPDATE ramp.intents SET expires_at = now(), next_poll_at = now() WHERE id = $1", [
          id,
        ]);
      const planned = "next_poll_at > now() AND next_poll_at < now() + interval '10 s'";
      await untilTrue(() =>
        world.holds(
          `SELECT lease_owner IS NULL AND failed_attempts > 1 AND ${planned} FROM ramp.intents WHERE id = $1`,
          [id],
        ),
      );
      provider.keyId = "key";
      await eventually(read, ({ json }) => json.intent.status === end);
    },
  );

  it("ends with the intent, and posts nothing then", async () => {
    const { execute, provider, offered, id, auth, read } = await late("3.00");
    provider.refusesExecution = { error: "QUOTE_EXPIRED" };
    await execute();
    await offered();
    provider.refusesCancels = true;
    await world.call("POST", `/v1/intent/${id}/cancel`, { auth });
    const { json } = await eventually(read, (reply) => reply.json.intent.status === "CANCELLED");
    expect(json.intent).not.toHaveProperty("newPrice");
    const rows = await world.rows(
      "SELECT account FROM ramp.postings WHERE intent_id = $1 GROUP BY account, currency HAVING sum(amount) <> 0",
      [id],
    );
    expect(rows).toEqual([]);
  });
});

it("an acceptance is in the intent's history and, by the project, in the audit log", async () => {
  const { execute, untilOver, read, project, id } = await late("3.00");
  await untilOver();
  await execute();
  const { quoteId } = (await read()).json.intent.newPrice as { quoteId: string };
  await world.call("POST", `/v1/intents/${id}/quote`, { auth: project.basic, body: { quoteId } });
  const { history, actions } = made(await showIntent(world.database, world.vault, id)) as unknown as {
    history: { event: string }[];
    actions: { action: string; arguments: object }[];
  };
  expect(history.map(({ event }) => event).slice(-2)).toEqual([
    "intent.price_offered",
    "intent.price_changed",
  ]);
  expect(actions).toMatchObject([{ action: "intent quote", arguments: { quoteId } }]);
});

describe("acceptance beside the server's own work", () => {
  it("takes the lease: what the server renews meanwhile is dropped, and one order is made", async () => {
    const { execute, untilOver, accept, read, provider, id, orders, ordered } = await late("3.00", {
      maxSlippage: "0",
    });
    await untilOver();
    await execute();
    const { quoteId } = (await read()).json.intent.newPrice as { quoteId: string };
    let isHeld = false;
    provider.answerOrder = () => Promise.resolve();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    provider.answerQuote = () => ((isHeld = true), held);
    // The offer that is accepted ends for the server, which asks for another one.
    await world.rows(
      `UPDATE ramp.intents SET auto_execute = true, new_price = new_price || '{"expiresAt": "2020-01-01T00:00:00Z"}', next_poll_at = now() WHERE id = $1`,
      [id],
    );
    await eventually(
      () => Promise.resolve(isHeld),
      (asked) => asked,
    );
    await world.rows(
      `UPDATE ramp.intents SET new_price = new_price || '{"expiresAt": "2099-01-01T00:00:00Z"}' WHERE id = $1`,
      [id],
    );
    expect((await accept(quoteId)).status).toBe(202);
    const { json } = await ordered();
    expect(json.intent.price.destAmount).toBe("97.000000");
    expect(orders()).toHaveLength(1);
    release();
    await new Promise((done) => setTimeout(done, 700));
    expect((await read()).json.intent).not.toHaveProperty("newPrice");
  });

  it("of many at once is one: the others find none", async () => {
    const { execute, untilOver, accept, read, project, id } = await late("3.00");
    await untilOver();
    await execute();
    const { quoteId } = (await read()).json.intent.newPrice as { quoteId: string };
    const asProject = world.call("POST", `/v1/intents/${id}/quote`, {
      auth: project.basic,
      body: { quoteId },
    });
    const replies = await Promise.all([...Array.from({ length: 9 }, () => accept(quoteId)), asProject]);
    expect(replies.map(({ status }) => status).sort()).toEqual([202, ...Array<number>(9).fill(404)]);
    expect((await read()).json.intent.price.destAmount).toBe("97.000000");
  });
});
