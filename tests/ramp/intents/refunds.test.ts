/** Refunds: what moves each (runtime/ramp/docs/intents.md, Refunds), and what ends those that are open. */
import { describe, expect, it } from "vitest";
import { REFUND_TRANSITIONS, type RefundStatus } from "../../../runtime/ramp/intents/refund-transitions.js";
import type { Refund } from "../../../runtime/ramp/providers/protocol.js";
import { refundIntent } from "../../../runtime/ramp/operator/intent-actions.js";
import { CARD_CAPABILITIES, ownCards } from "../support/card-provider.js";
import {
  attentionOf,
  cancel,
  CAPABILITIES,
  erase,
  eventsOf,
  gate,
  listed,
  NOT_YET,
  ON_ITS_WAY,
  paid,
  poll,
  RECEIPT,
  refund,
  sentTo,
  unlisted,
  until,
} from "../support/refunds.js";
import { eventually, expectRefused, FAST, made, ownWorld, reached, untilTrue } from "../support/world.js";

const world = await ownWorld({ polling: FAST });

describe("a refund moves", () => {
  const tested: string[] = [];
  /** One scenario for each move of the table. */
  const move = (from: RefundStatus, to: RefundStatus, scenario: () => Promise<void>): void => {
    tested.push(`${from} ${to}`);
    it(`from ${from} to ${to}`, scenario);
  };

  move("REQUESTED", "PENDING", async () => {
    const payment = await paid(world, NOT_YET);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    await poll(payment);
    expect(await attentionOf(payment)).toEqual({});
    expect((await payment.call("POST", "/refund", { amount: "60.01", reason: "more" })).status).toBe(400);
    expect(await eventsOf(payment)).toEqual(["REQUESTED", "PENDING"]);
  });

  move("REQUESTED", "SUCCEEDED", async () => {
    const payment = await paid(world);
    const { open, reached: isReached } = gate(payment.provider);
    const first = await refund(payment, "40", "first");
    await untilTrue(() => Promise.resolve(isReached()));
    const second = await refund(payment, "60", "second");
    // Support has refunded the rest by hand meanwhile.
    const byHand = { id: "by-hand", amount: "60.00", reason: "by hand" };
    payment.provider.execution = {
      ...payment.provider.execution,
      refunds: [...(payment.provider.execution.refunds ?? []), byHand],
    };
    payment.provider.status = "REFUNDED";
    payment.provider.listRefund = unlisted;
    open();
    await until(payment, first, "SUCCEEDED");
    expect(await until(payment, second, "SUCCEEDED")).toMatchObject({ providerRefundId: "by-hand" });
    expect(await attentionOf(payment)).toEqual({ REFUND_MATCHED: `${second} of 60.00 is by-hand` });
  });

  move("REQUESTED", "FAILED", async () => {
    const payment = await paid(world, { refusesRefunds: true });
    const id = await refund(payment, "40");
    expect(await until(payment, id, "FAILED")).toHaveProperty("failureReason");
    expect(Object.keys(await attentionOf(payment))).toEqual(["REFUND_REFUSED"]);
    expect((await payment.call("POST", "/refund", { amount: "100", reason: "again" })).status).toBe(202);
  });

  move("REQUESTED", "CANCELLED", async () => {
    const payment = await paid(world);
    const { open, reached: isReached } = gate(payment.provider);
    const first = await refund(payment, "40", "first");
    await untilTrue(() => Promise.resolve(isReached()));
    const second = await refund(payment, "60", "second");
    const cancelled = await cancel(payment, second);
    expect([cancelled.status, cancelled.json.status]).toEqual([202, "CANCELLED"]);
    open();
    await until(payment, first, "SUCCEEDED");
    await until(payment, second, "CANCELLED");
    expect(sentTo(payment)).toEqual([`refund:${first}`]);
    expectRefused(
      [await cancel(payment, second), await cancel(payment, first)],
      400,
      "REFUND_NOT_CANCELLABLE",
    );
  });

  move("PENDING", "SUCCEEDED", async () => {
    const payment = await paid(world, ON_ITS_WAY);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    payment.provider.endRefunds({ status: "SUCCEEDED" });
    await until(payment, id, "SUCCEEDED");
    expect(await attentionOf(payment)).toEqual({});
    expect(await eventsOf(payment)).toEqual(["REQUESTED", "PENDING", "SUCCEEDED"]);
  });

  move("PENDING", "FAILED", async () => {
    const payment = await paid(world, ON_ITS_WAY);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    payment.provider.endRefunds({ status: "FAILED", failureReason: "account closed" });
    expect((await until(payment, id, "FAILED")).failureReason).toBe("account closed");
    expect(await attentionOf(payment)).toEqual({ REFUND_REFUSED: `${id} of 40.00: account closed` });
  });

  move("PENDING", "CANCELLED", async () => {
    const payment = await paid(world, ON_ITS_WAY);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    const asked = await cancel(payment, id);
    expect(asked.json).toMatchObject({ status: "PENDING", cancelRequested: true });
    await until(payment, id, "CANCELLED");
    expect(await attentionOf(payment)).toEqual({});
  });

  move("SUCCEEDED", "FAILED", async () => {
    const payment = await paid(world);
    const id = await refund(payment, "40");
    await until(payment, id, "SUCCEEDED");
    payment.provider.endRefunds({ status: "FAILED", failureReason: "returned by the bank" });
    await until(payment, id, "FAILED");
    expect(Object.keys(await attentionOf(payment)).sort()).toEqual(["REFUND_MISMATCH", "REFUND_REFUSED"]);
  });

  move("FAILED", "SUCCEEDED", async () => {
    const payment = await paid(world, ON_ITS_WAY);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    payment.provider.endRefunds({ status: "FAILED" });
    await until(payment, id, "FAILED");
    payment.provider.endRefunds({ status: "SUCCEEDED" });
    await until(payment, id, "SUCCEEDED");
  });

  move("CANCELLED", "SUCCEEDED", async () => {
    const payment = await paid(world, ON_ITS_WAY);
    const id = await refund(payment, "40");
    await until(payment, id, "PENDING");
    await cancel(payment, id);
    await until(payment, id, "CANCELLED");
    payment.provider.endRefunds({ status: "SUCCEEDED" });
    await until(payment, id, "SUCCEEDED");
  });

  it("in no other way than these: each move has its scenario", () => {
    const moves = Object.entries(REFUND_TRANSITIONS).flatMap(([from, tos]) =>
      Object.keys(tos).map((to) => `${from} ${to}`),
    );
    expect(tested.sort()).toEqual(moves.sort());
  });
});

describe("a payment that is gone decides its open refunds", () => {
  it.each([
    ["returned by the provider", { status: "REFUNDED" as const, refund: "100.00" }],
    ["charged back", { status: "FAILED" as const, refund: null }],
  ])("%s", async (_, { status, refund: amount }) => {
    const payment = await paid(world, NOT_YET);
    const taken = await refund(payment, "40", "taken");
    await until(payment, taken, "PENDING");
    const returned = amount === null ? [] : [{ id: "return", amount, reason: "R01" }];
    payment.provider.execution = { receipt: RECEIPT, ...(returned.length > 0 && { refunds: returned }) };
    payment.provider.status = status;
    await until(payment, taken, "FAILED");
    expect((await erase(payment)).status).toBe(204);
  });

  it("also one that was not sent: it is cancelled and never sent", async () => {
    const payment = await paid(world, NOT_YET);
    const { open, reached: isReached } = gate(payment.provider);
    const first = await refund(payment, "10", "first");
    await untilTrue(() => Promise.resolve(isReached()));
    const second = await refund(payment, "20", "second");
    payment.provider.execution = {
      receipt: RECEIPT,
      refunds: [{ id: "return", amount: "100", reason: "R01" }],
    };
    payment.provider.status = "REFUNDED";
    open();
    await until(payment, second, "CANCELLED");
    await until(payment, first, "FAILED");
    expect(sentTo(payment)).toEqual([`refund:${first}`]);
    expect((await erase(payment)).status).toBe(204);
  });

  it("resolved as failed", async () => {
    const payment = await paid(world);
    payment.provider.keyId = "rotated";
    const first = await refund(payment, "10", "first");
    await eventually(
      () => attentionOf(payment),
      (attention) => "PROVIDER_FAILS" in attention,
    );
    const refused = await erase(payment);
    expectRefused([refused], 409, "CUSTOMER_HAS_OPEN_INTENTS");
    expect(refused.json.details).toEqual([
      {
        path: `/v1/intents/${payment.id}/refunds/${first}`,
        message: expect.stringContaining(`POST /v1/intents/${payment.id}/resolve ends it`),
      },
    ]);
    expect((await payment.call("POST", "/resolve", { as: "failed", note: "closed" })).status).toBe(202);
    expect((await until(payment, first, "FAILED")).failureReason).toBe("Resolved as failed.");
    expect((await erase(payment)).status).toBe(204);
  });
});

it("a refund that is taken and not listed needs attention after 5 days, and a resolution ends it", async () => {
  const payment = await paid(world, NOT_YET);
  const id = await refund(payment, "40");
  await until(payment, id, "PENDING");
  await world.rows(
    "UPDATE ramp.refund_requests SET updated_at = now() - interval '5 days' WHERE intent_id = $1",
    [payment.id],
  );
  const attention = await eventually(
    () => attentionOf(payment),
    (open) => "REFUND_MISMATCH" in open,
  );
  expect(attention).toEqual({ REFUND_MISMATCH: `${id} of 40.00 is PENDING after 5 days` });
  await payment.call("POST", "/resolve", { as: "completed", note: "the bank says no" });
  expect((await until(payment, id, "FAILED")).failureReason).toBe("Resolved as completed.");
  expect(await attentionOf(payment)).toEqual({});
});

it("several refunds of a payment go one after the other at once, without waiting for polls", async () => {
  const rare = {
    executionPollMs: 3_600_000,
    maxPollMs: 3_600_000,
    followUpPollMs: 3_600_000,
    maxFollowUpPollMs: 3_600_000,
  };
  const at = await ownWorld({ polling: { ...FAST, ...rare } });
  const payment = await paid(at);
  await Promise.all(
    ["a", "b", "c", "d"].map(async (reason) =>
      made(await refundIntent(at.database, payment.id, { amount: "20.00", reason })),
    ),
  );
  await eventually(
    () => listed(payment),
    (all) => all.filter(({ status }) => status === "SUCCEEDED").length === 4,
  );
});

it.each(["a/b?c=d#e f%2F..", "../../x"])("the provider's own id of a refund is any text: %s", async (own) => {
  const listRefund = (order: Refund): Refund => ({ ...order, id: own, orderId: order.id, status: "PENDING" });
  const payment = await paid(world, { listRefund });
  const id = await refund(payment, "40");
  await until(payment, id, "PENDING");
  await eventually(
    () => listed(payment),
    ([found]) => found?.["providerRefundId"] === own,
  );
  await cancel(payment, id);
  await until(payment, id, "CANCELLED");
});

it("but none that a path cannot name: it would cancel the payment", async () => {
  const payment = await paid(world, { listRefund: (order) => ({ ...order, id: "..", orderId: order.id }) });
  await refund(payment, "40");
  const { INVALID_ANSWER } = await eventually(
    () => attentionOf(payment),
    (attention) => attention["INVALID_ANSWER"] !== undefined,
  );
  expect(INVALID_ANSWER).toContain("/refunds/0/id");
});

it("a refund that is sent is not cancelled at a provider that cancels none, nor where it refuses", async () => {
  const none = await paid(world, { ...ON_ITS_WAY, capabilities: { ...CARD_CAPABILITIES, refunds: true } });
  const kept = await refund(none, "40");
  await until(none, kept, "PENDING");
  const refused = await cancel(none, kept);
  expectRefused([refused], 400, "REFUND_NOT_CANCELLABLE");
  expect(refused.json.message).toContain("cancels none");

  const late = await paid(world, { ...ON_ITS_WAY, refusesRefundCancels: true });
  const id = await refund(late, "40");
  await until(late, id, "PENDING");
  expect((await cancel(late, id)).status).toBe(202);
  await eventually(
    () => listed(late),
    ([found]) => found?.["status"] === "PENDING" && !("cancelRequested" in found),
  );
  expectRefused([await cancel(late, "0197c7c2-2f31-7c6a-9a3e-1f1d4e1f0a02")], 404, "NOT_FOUND");
});

it("refunds are listed newest first, page by page, and of the project's own intents", async () => {
  const payment = await paid(world);
  const ids = [
    await refund(payment, "10", "a"),
    await refund(payment, "10", "b"),
    await refund(payment, "10", "c"),
  ];
  const first = await payment.call("GET", "/refunds?limit=2");
  expect((first.json as readonly { id: string }[]).map(({ id }) => id)).toEqual([ids[2], ids[1]]);
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
  const rest = await world.call("GET", next, { auth: payment.project.basic });
  expect((rest.json as readonly { id: string }[]).map(({ id }) => id)).toEqual([ids[0]]);
  const other = await world.project({ providers: [] });
  const foreign = await world.call("GET", `/v1/intents/${payment.id}/refunds`, { auth: other.basic });
  expectRefused([foreign], 404, "NOT_FOUND");
});

it("an erasure says which intents are open, and how to close them", async () => {
  const { project, create } = await ownCards(world, { capabilities: CAPABILITIES });
  const { json } = await create();
  const path = `/v1/intents/${String(json.intent.id)}`;
  const { json: view } = await reached(world, path, { auth: project.basic }, "TRANSACTION_IN_PROGRESS");
  const refused = await world.call("DELETE", `/v1/customers/${String(view.customerId)}`, {
    auth: project.basic,
  });
  expectRefused([refused], 409, "CUSTOMER_HAS_OPEN_INTENTS");
  expect(refused.json.details).toEqual([
    {
      path,
      message: `is TRANSACTION_IN_PROGRESS: cancel it with POST ${path}/cancel, or wait for its end`,
    },
  ]);
});
