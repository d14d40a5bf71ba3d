/** Which refund a provider's list names (runtime/ramp/docs/provider-protocol.md, Refunds). */
import { describe, expect, it } from "vitest";
import type { Refund } from "../../../runtime/ramp/providers/protocol.js";
import {
  attentionOf,
  listed,
  NOT_YET,
  paid,
  poll,
  RECEIPT,
  refund,
  sentTo,
  until,
} from "../support/refunds.js";
import { eventually, FAST, ownWorld } from "../support/world.js";

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
