/** What is decided again: a payment that was refunded whole, and repeats while the provider has not answered. */
import { beforeEach, describe, expect, it } from "vitest";
import { ownCards } from "../support/card-provider.js";
import { CAPABILITIES, ON_ITS_WAY, type Paid, paid, refund, sentTo, until } from "../support/refunds.js";
import {
  eventually,
  expectRefused,
  FAST,
  ownWorld,
  reached,
  type Reply,
  untilTrue,
} from "../support/world.js";

// A lease that ends while the provider answers would be taken again. Requests do not wait long for an answer that is held.
const world = await ownWorld({ polling: { ...FAST, leaseMs: 600_000, answerWithinMs: 1_000 } });

describe("a payment that was refunded whole", () => {
  const whole = async (): Promise<readonly [Paid, string]> => {
    const payment = await paid(world, { ...ON_ITS_WAY });
    const id = await refund(payment, "100");
    await until(payment, id, "PENDING");
    payment.provider.endRefunds({ status: "SUCCEEDED" });
    payment.provider.status = "REFUNDED";
    await until(payment, id, "SUCCEEDED");
    await eventually(
      () => payment.call("GET"),
      ({ json }) => json.transaction?.status === "REFUNDED",
    );
    return [payment, id];
  };

  it("is refunded again once the bank has returned it", async () => {
    const [payment, id] = await whole();
    payment.provider.status = "SUCCESS";
    payment.provider.listRefund = (order) => order;
    payment.provider.endRefunds({
      status: "FAILED",
      failureReason: "account closed",
    });
    await until(payment, id, "FAILED");
    const again = await payment.call("POST", "/refund", { reason: "again" });
    expect([again.status, again.json.amount], again.text).toEqual([202, "100.00"]);
    await until(payment, String(again.json.id), "SUCCEEDED");
    expect(sentTo(payment)).toEqual([`refund:${id}`, `refund:${String(again.json.id)}`]);
    expectRefused([await payment.call("POST", "/refund", { reason: "third" })], 400, "NOT_REFUNDABLE");
  });

  it("has nothing left for another reason, and the same refund for the same", async () => {
    const [payment, id] = await whole();
    const refused = await payment.call("POST", "/refund", {
      reason: "another",
    });
    expectRefused([refused], 400, "NOT_REFUNDABLE");
    expect(refused.json.message).toBe("Nothing is left to refund.");
    const same = await payment.call("POST", "/refund", { reason: "goods" });
    expect([same.status, same.json.id, same.json.status]).toEqual([202, id, "SUCCEEDED"]);
    expectRefused(
      [await payment.call("POST", "/refund", { amount: "1", reason: "goods" })],
      409,
      "REFUND_CONFLICT",
    );
    expect(sentTo(payment)).toHaveLength(1);
  });

  it.each([
    ["returned without a refund in its list", "REFUNDED" as const],
    ["charged back", "FAILED" as const],
  ])("has nothing left where it was %s", async (_, status) => {
    const payment = await paid(world);
    payment.provider.status = status;
    await untilTrue(() =>
      world.holds(
        "SELECT COALESCE(sum(amount), 0) = 0 FROM ramp.postings WHERE intent_id = $1 AND account = 'provider' AND about NOT IN ('delivery', 'fee')",
        [payment.id],
      ),
    );
    const refused = await payment.call("POST", "/refund", { reason: "goods" });
    expectRefused([refused], 400, "NOT_REFUNDABLE");
    expect(refused.json.message).toBe("Nothing is left to refund.");
  });
});

describe("after the intent's expiry", () => {
  const expire = ({ id }: Pick<Paid, "id">): Promise<unknown> =>
    world.rows(
      "UPDATE ramp.intents SET expires_at = now() - interval '1 hour', next_poll_at = now() WHERE id = $1",
      [id],
    );

  it("a completed payment is refunded", async () => {
    const payment = await paid(world);
    await expire(payment);
    await until(payment, await refund(payment, "40"), "SUCCEEDED");
  });

  it("one that was never made is not", async () => {
    const { project, create } = await ownCards(world, {
      capabilities: CAPABILITIES,
    });
    const { json } = await create({ autoExecute: false });
    const id = String(json.intent.id);
    await expire({ id });
    await reached(world, `/v1/intents/${id}`, { auth: project.basic }, "EXPIRED");
    const refused = await world.call("POST", `/v1/intents/${id}/refund`, {
      auth: project.basic,
      body: { reason: "goods" },
    });
    expectRefused([refused], 400, "NOT_REFUNDABLE");
  });
});

describe("what is asked for again and again, faster than the provider answers, is sent once and its answer recorded", () => {
  const REPEAT_MS = 400;
  /** Repeats a call, without waiting for its answers, until there is what is awaited. */
  async function repeat(ask: () => Promise<Reply>, isDone: () => Promise<boolean>): Promise<boolean> {
    const asked: Promise<Reply>[] = [];
    let done = false;
    let accepted = 0;
    const count = (reply: Reply): Reply => {
      if (reply.status === 202 && ++accepted === 2) answer();
      return reply;
    };
    for (const end = Date.now() + 120_000; Date.now() < end && !done; done = await isDone()) {
      asked.push(ask().then(count));
      await new Promise((passed) => setTimeout(passed, REPEAT_MS));
    }
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 202).length).toBeGreaterThan(1);
    // What comes after the end is refused.
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    return done;
  }
  /** Answers of the provider wait until two repeats are accepted. */
  let answer = (): void => undefined;
  let twoAccepted = Promise.resolve();
  beforeEach(() => {
    twoAccepted = new Promise((done) => (answer = done));
  });
  const slowly = (): Promise<void> => twoAccepted;
  const audited = (id: string, action: string): Promise<boolean> =>
    world.holds("SELECT count(*) = 1 FROM ramp.audit_log WHERE intent_id = $1 AND action = $2", [id, action]);

  it("a refund", async () => {
    const payment = await paid(world);
    payment.provider.answerOrder = slowly;
    const id = await refund(payment, "40");
    const isDone = await repeat(
      () => payment.call("POST", "/refund", { amount: "40", reason: "goods" }),
      async () => (await payment.call("GET", "/refunds")).json[0].status === "SUCCEEDED",
    );
    expect(isDone).toBe(true);
    expect(payment.provider.bodies.get(`refund:${id}`)).toHaveLength(1);
    expect(await audited(payment.id, "intent refund")).toBe(true);
  });

  it("the cancel of a refund", async () => {
    const payment = await paid(world, ON_ITS_WAY);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    let cancels = 0;
    payment.provider.answerCancel = () => (cancels++, slowly());
    // The look-ups of before say nothing of it.
    payment.provider.endRefunds = () => undefined;
    payment.provider.encode = (text) =>
      Buffer.from(cancels > 0 ? text.replace('"status":"PENDING"', '"status":"CANCELLED"') : text);
    const isDone = await repeat(
      () => payment.call("POST", `/refunds/${id}/cancel`, {}),
      async () => (await payment.call("GET", "/refunds")).json[0].status === "CANCELLED",
    );
    expect([isDone, cancels]).toEqual([true, 1]);
    expect(await audited(payment.id, "refund cancel")).toBe(true);
  });

  it.each(["customer", "project"])("the cancel of an intent, by the %s", async (who) => {
    const { project, provider, auth, create } = await ownCards(world);
    const { json } = await create();
    const id = String(json.intent.id);
    const at = `/v1/intents/${id}`;
    await reached(world, at, { auth: project.basic }, "TRANSACTION_IN_PROGRESS");
    let cancels = 0;
    provider.answerCancel = () => (cancels++, slowly());
    provider.encode = (text) => Buffer.from(cancels > 0 ? text.replace('"PROCESSING"', '"CANCELLED"') : text);
    const cancel = who === "project" ? { path: at, auth: project.basic } : { path: `/v1/intent/${id}`, auth };
    const isDone = await repeat(
      () => world.call("POST", `${cancel.path}/cancel`, { auth: cancel.auth }),
      async () => (await world.call("GET", at, { auth: project.basic })).json.intent.status === "CANCELLED",
    );
    expect([isDone, cancels]).toEqual([true, 1]);
    if (who === "project") expect(await audited(id, "intent cancel")).toBe(true);
  });
});
