/** Payments that are refunded at a provider of the test's own. */
import { expect } from "vitest";
import type { RefundStatus } from "../../../runtime/ramp/intents/refund-transitions.js";
import type { Refund } from "../../../runtime/ramp/providers/protocol.js";
import { CARD_CAPABILITIES, type CardProvider, ownCards } from "./card-provider.js";
import { eventually, reached, type Reply, untilTrue, type World } from "./world.js";

export const CAPABILITIES = { ...CARD_CAPABILITIES, refunds: true, refundCancels: true };
export const RECEIPT = { amountReceived: "99" };

export type Paid = Awaited<ReturnType<typeof paid>>;

/** A completed intent over 100.00 USD. */
export async function paid(at: World, settings: Partial<CardProvider> = {}) {
  const execution = { receipt: RECEIPT };
  const setting = await ownCards(at, {
    status: "SUCCESS",
    capabilities: CAPABILITIES,
    execution,
    ...settings,
  });
  const { json, text } = await setting.create();
  expect(json.intent, text).toBeDefined();
  const id = String(json.intent.id);
  const { project, provider } = setting;
  const { json: view } = await reached(at, `/v1/intents/${id}`, { auth: project.basic }, "COMPLETED");
  const call = (method: "GET" | "POST", path = "", body?: object): Promise<Reply> =>
    at.call(method, `/v1/intents/${id}${path}`, { auth: project.basic, ...(body && { body }) });
  return { id, at, project, provider, call, customerId: String(view.customerId) };
}

export const refund = async ({ call }: Paid, amount: string, reason = "goods"): Promise<string> => {
  const { status, json, text } = await call("POST", "/refund", { amount, reason });
  expect(status, text).toBe(202);
  return String(json.id);
};
export const cancel = ({ call }: Paid, refundId: string): Promise<Reply> =>
  call("POST", `/refunds/${refundId}/cancel`, {});
export const listed = async ({ call }: Paid): Promise<readonly Reply["json"][]> => {
  const { status, json, text } = await call("GET", "/refunds");
  expect(status, text).toBe(200);
  return json as readonly Reply["json"][];
};
/** The refund, once it is in a state. What has succeeded is posted, and no more. */
export async function until(payment: Paid, refundId: string, status: RefundStatus): Promise<Reply["json"]> {
  const list = await eventually(
    () => listed(payment),
    (all) => all.some((item) => item["id"] === refundId && item["status"] === status),
  );
  const succeeded = list.filter((item) => item["status"] === "SUCCEEDED");
  await untilTrue(() =>
    payment.at.holds(
      "SELECT COALESCE(sum(-amount), 0) = $2 FROM ramp.postings WHERE intent_id = $1 AND account = 'provider' AND about LIKE 'refund%'",
      [payment.id, succeeded.reduce<number>((sum, { amount }) => sum + Number(amount), 0)],
    ),
  );
  const [found] = list.filter((item) => item["id"] === refundId);
  return found;
}
export const attentionOf = async ({ call }: Paid): Promise<Readonly<Record<string, string>>> =>
  ((await call("GET")).json.attention ?? {}) as Record<string, string>;
export const sentTo = ({ provider }: Paid): readonly string[] =>
  [...provider.bodies.keys()].filter((key) => key.startsWith("refund:"));
export const erase = ({ at, project, customerId }: Paid): Promise<Reply> =>
  at.call("DELETE", `/v1/customers/${customerId}`, { auth: project.basic });
export const poll = async ({ at, id }: Paid): Promise<void> => {
  await at.rows("UPDATE ramp.intents SET next_poll_at = now() WHERE id = $1", [id]);
};

/** Answers about orders wait until `open`. */
export function gate(provider: CardProvider): { readonly open: () => void; readonly reached: () => boolean } {
  let isReached = false;
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  provider.answerOrder = () => {
    isReached = true;
    return opened;
  };
  return { open: () => open(), reached: () => isReached };
}

export const unlisted = (): null => null;
export const pending = (order: Refund): Refund => ({ ...order, status: "PENDING" });
export const NOT_YET = { listRefund: unlisted };
export const ON_ITS_WAY = { listRefund: pending };

/** The states that events tell of, in their order. */
export async function eventsOf({ at, id, project }: Paid): Promise<readonly string[]> {
  const { json } = await at.call("GET", "/v1/events?type=refund.updated&order=asc", {
    auth: project.basic,
  });
  const events = json as readonly { data: { intentId: string; status: string } }[];
  return events.filter(({ data }) => data.intentId === id).map(({ data }) => data.status);
}
