/** Which refund a provider's list names (runtime/ramp/docs/provider-protocol.md, Refunds). */
import { describe, expect, it } from "vitest";
import type { Refund } from "../../../runtime/ramp/providers/protocol.js";
import {
  attentionOf,
  listed,
  NOT_YET,
  type Paid,
  paid,
  poll,
  RECEIPT,
  refund,
  sentTo,
  until,
} from "../support/refunds.js";
import { eventually, FAST, ownWorld, type Reply, untilTrue } from "../support/world.js";

const world = await ownWorld({ polling: FAST });

describe("a listed refund is the one that was asked for", () => {
  const own =
    (more: Partial<Refund> = {}) =>
    ({ id, amount, reason }: Refund): Refund => ({
      id: `own-${amount}-${reason}`,
      amount,
      reason,
      ...(more.orderId !== undefined && { orderId: id }),
    });

  it("under the provider's own id, with that of its order", async () => {
    const payment = await paid(world, { listRefund: own({ orderId: "" }) });
    const id = await refund(payment, "40");
    expect(await until(payment, id, "SUCCEEDED")).toMatchObject({ providerRefundId: "own-40.00-goods" });
    expect(await attentionOf(payment)).toEqual({});
    expect(await listed(payment)).toHaveLength(1);
  });

  it("under its own id alone, by amount and time, which needs attention: as much is left as was not refunded", async () => {
    const payment = await paid(world, { listRefund: own() });
    const first = await refund(payment, "40", "first");
    await until(payment, first, "SUCCEEDED");
    expect(await attentionOf(payment)).toEqual({ REFUND_MATCHED: `${first} of 40.00 is own-40.00-first` });
    const second = await refund(payment, "40", "second");
    await until(payment, second, "SUCCEEDED");
    expect(await listed(payment)).toHaveLength(2);
    expect((await payment.call("POST", "/refund", { reason: "rest" })).json.amount).toBe("20.00");
  });

  it("but not one that was made long before it was asked for, nor of another amount", async () => {
    const payment = await paid(world, NOT_YET);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    payment.provider.execution = {
      receipt: RECEIPT,
      refunds: [
        { id: "old", amount: "40", reason: "R01", occurredAt: "2020-03-01T00:00:00Z" },
        { id: "other", amount: "15", reason: "R01" },
      ],
    };
    const list = await eventually(
      () => listed(payment),
      (all) => all.length === 3,
    );
    expect(list.map(({ origin, amount, status }) => [origin, amount, status]).sort()).toEqual([
      ["PROVIDER", "15.00", "SUCCEEDED"],
      ["PROVIDER", "40.00", "SUCCEEDED"],
      ["REQUEST", "40.00", "PENDING"],
    ]);
  });

  it("after a restore that lost it: the same reason is the same refund, and nothing is sent again", async () => {
    const payment = await paid(world);
    const id = await refund(payment, "40");
    await until(payment, id, "SUCCEEDED");
    await world.rows("DELETE FROM ramp.refund_requests WHERE intent_id = $1", [payment.id]);
    await poll(payment);
    await eventually(
      () => listed(payment),
      (all) => all.length === 1,
    );
    expect(await refund(payment, "40")).toBe(id);
    expect(sentTo(payment)).toHaveLength(1);
  });

  it("of each intent, where a provider lists one id in two", async () => {
    const refunds = [{ id: "0197c7c2-2f31-7c6a-9a3e-1f1d4e1f0a01", amount: "5.00", reason: "R01" }];
    const both = [await paid(world), await paid(world)];
    for (const payment of both) {
      payment.provider.execution = { receipt: RECEIPT, refunds };
      await eventually(
        () => listed(payment),
        ([found]) => found?.["status"] === "SUCCEEDED" && found["origin"] === "PROVIDER",
      );
    }
  });
});

/** What the journal says went back, by the provider's ids. */
const refunded = async ({ id }: Paid): Promise<Readonly<Record<string, string>>> => {
  const rows = await world.rows(
    `SELECT about, sum(-amount)::float8::text AS amount FROM ramp.postings
     WHERE intent_id = $1 AND account = 'provider' AND about LIKE 'refund%' GROUP BY about HAVING sum(amount) <> 0`,
    [id],
  );
  return Object.fromEntries(rows.map(({ about, amount }) => [about, amount])) as Record<string, string>;
};

/** Refunds by origin and state, once there are as many. */
async function settled(payment: Paid, wanted: readonly string[]): Promise<void> {
  const states = (all: readonly Reply["json"][]): string[] =>
    all.map(({ origin, status, amount }) => `${String(origin)} ${String(status)} ${String(amount)}`).sort();
  await eventually(
    () => listed(payment),
    (all) => states(all).join() === [...wanted].sort().join(),
  );
}

describe("listed refunds that name one order", () => {
  const order = (id: string, orderId: string | undefined, more: Partial<Refund> = {}): Refund => ({
    ...{ id, amount: "40.00", reason: "goods", ...more },
    ...(orderId !== undefined && { orderId }),
  });

  it("are refunds of their own: a payout that failed and was made again", async () => {
    const payment = await paid(world, NOT_YET);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    const other = await refund(payment, "40", "other");
    await until(payment, other, "PENDING");
    const failed = order("p1", id, { status: "FAILED" });
    const refunds = [failed, order("p2", id, { status: "SUCCEEDED" })];
    for (const list of [[failed], refunds, reversed(refunds)]) {
      payment.provider.execution = { receipt: RECEIPT, refunds: list };
      await poll(payment);
      await settled(payment, [
        "REQUEST FAILED 40.00",
        "REQUEST PENDING 40.00",
        ...(list.length > 1 ? ["PROVIDER SUCCEEDED 40.00"] : []),
      ]);
    }
    expect(await refunded(payment)).toEqual({ "refund p2": "40" });
    expect((await payment.call("POST", "/refund", { reason: "rest" })).json.amount).toBe("20.00");
  });

  const reversed = <T>(all: readonly T[]): readonly T[] => [...all].reverse();

  describe.each([
    ["in this order", <T>(all: readonly T[]) => all],
    ["the other way round", reversed],
  ])("that are listed together for the first time, %s: the request is the one that is paid", (_, inOrder) => {
    const ends = (orderId: string | undefined, first: Refund["status"] = "FAILED"): readonly Refund[] =>
      inOrder([order("p1", orderId, { status: first }), order("p2", orderId, { status: "SUCCEEDED" })]);

    it.each([
      ["by the id of the order", "FAILED", true],
      ["by the id of the order", "CANCELLED", true],
      ["by the id of the order", "PENDING", true],
      ["by amount and time", "FAILED", false],
      ["by amount and time", "PENDING", false],
    ] as const)("%s, beside one that is %s", async (_by, status, isNamed) => {
      const payment = await paid(world, NOT_YET);
      const id = await refund(payment, "40");
      await until(payment, id, "PENDING");
      payment.provider.execution = { receipt: RECEIPT, refunds: ends(isNamed ? id : undefined, status) };
      await poll(payment);
      await settled(payment, ["REQUEST SUCCEEDED 40.00", `PROVIDER ${status} 40.00`]);
    });

    it("which a repeated wish finds after a restore that lost it", async () => {
      const payment = await paid(world);
      const id = await refund(payment, "40");
      await until(payment, id, "SUCCEEDED");
      await world.rows("DELETE FROM ramp.refund_requests WHERE intent_id = $1", [payment.id]);
      payment.provider.execution = { receipt: RECEIPT, refunds: ends(id) };
      await poll(payment);
      await settled(payment, ["PROVIDER FAILED 40.00", "PROVIDER SUCCEEDED 40.00"]);
      const again = await payment.call("POST", "/refund", { amount: "40", reason: "goods" });
      expect([again.json.id, again.json.status]).toEqual([id, "SUCCEEDED"]);
    });
  });

  it("are refunds of their own: partial transfers, also of an order that a restore lost", async () => {
    const payment = await paid(world);
    const lost = "0197c7c2-2f31-7c6a-9a3e-1f1d4e1f0b01";
    const parts = ["30.00", "10.00", "5.00"].map((amount, at) =>
      order(`part-${String(at)}`, lost, { amount }),
    );
    payment.provider.execution = { receipt: RECEIPT, refunds: parts };
    const wanted = parts.map(({ amount }) => `PROVIDER SUCCEEDED ${amount}`);
    await poll(payment);
    await settled(payment, wanted);
    payment.provider.execution = {
      receipt: RECEIPT,
      refunds: reversed(parts),
    };
    await poll(payment);
    await settled(payment, wanted);
    expect(await refunded(payment)).toEqual({
      "refund part-0": "30",
      "refund part-1": "10",
      "refund part-2": "5",
    });
  });

  it("stay what they are where the provider names the order later", async () => {
    const payment = await paid(world, NOT_YET);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    for (const orderId of [undefined, id]) {
      const refunds = [order("p1", orderId, { amount: "39.00" })];
      payment.provider.execution = { receipt: RECEIPT, refunds };
      await poll(payment);
      await settled(payment, ["REQUEST PENDING 40.00", "PROVIDER SUCCEEDED 39.00"]);
    }
    // A change that only an answer of after the poll can bring.
    payment.provider.endRefunds({ status: "FAILED" });
    await poll(payment);
    await settled(payment, ["REQUEST PENDING 40.00", "PROVIDER FAILED 39.00"]);
    expect(await refunded(payment)).toEqual({});
  });

  it("are new again under ids that were given away", async () => {
    const payment = await paid(world);
    for (const ids of [["a"], ["b"], ["a", "b"]]) {
      payment.provider.execution = {
        receipt: RECEIPT,
        refunds: ids.map((id) => order(id, undefined)),
      };
      await poll(payment);
      await settled(
        payment,
        ids.map(() => "PROVIDER SUCCEEDED 40.00"),
      );
      await eventually(
        () => refunded(payment),
        (all) => ids.every((id) => all[`refund ${id}`] === "40"),
      );
    }
  });
});

it("an answer that the database refuses to record holds the intent under attention, and is looked up less often", async () => {
  const payment = await paid(world, NOT_YET);
  await world.rows("ALTER TABLE ramp.refund_requests ADD CONSTRAINT refused CHECK (amount <> 13.37)");
  const refunds = [{ id: "p1", amount: "13.37", reason: "R01" }];
  payment.provider.execution = { receipt: RECEIPT, refunds };
  await poll(payment);
  const attention = await eventually(
    () => attentionOf(payment),
    (open) => "INVALID_ANSWER" in open,
  );
  expect(attention).toEqual({
    INVALID_ANSWER: "checkExecution: the database refuses to record the answer (23514 refused)",
  });
  expect(await listed(payment)).toEqual([]);
  await untilTrue(() =>
    world.holds("SELECT failed_attempts > 1 AND lease_owner IS NULL FROM ramp.intents WHERE id = $1", [
      payment.id,
    ]),
  );
  await world.rows("ALTER TABLE ramp.refund_requests DROP CONSTRAINT refused");
  await poll(payment);
  await settled(payment, ["PROVIDER SUCCEEDED 13.37"]);
  await eventually(
    () => attentionOf(payment),
    (open) => Object.keys(open).length === 0,
  );
});
