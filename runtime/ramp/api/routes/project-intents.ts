import { type ValueOf } from "../../../model/schema.js";
import { recordAudited } from "../../core/audit.js";
import type { IdempotentOperation } from "../../core/idempotency.js";
import {
  isRampError,
  jsonResponse,
  type RampAnswer,
  type RampError,
  rampError,
} from "../../core/ramp-errors.js";
import { isUuid } from "../../database/id.js";
import type { ProjectTransaction } from "../../database/transaction.js";
import { decideCancel, decideEnd, decideRefund } from "../../intents/decisions.js";
import type { Intent } from "../../intents/intent.js";
import { lockIntent, readIntent } from "../../intents/intent-rows.js";
import { pollNow } from "../../intents/lease.js";
import { projectIntentView } from "../intent-view.js";
import { EmptyBody, RefundBody, ResolveBody } from "../request-schemas.js";
import { ProjectIntentView, RefundView } from "../response-schemas.js";
import { idempotentRoute, type ProjectRequest } from "../route.js";

/** What a project decides about an intent: recorded and audited in one transaction, then carried out at the provider. */

interface Decision {
  readonly action: string;
  readonly note: string | null;
  /** What was decided, for the audit log. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly decide: (tx: ProjectTransaction, intent: Intent) => Promise<Decided | RampError>;
}

interface Decided {
  readonly intent: Intent;
  readonly answer: unknown;
}

function decision(
  { caller: { projectId }, parameters: { id = "" } }: ProjectRequest<unknown>,
  { action, note, arguments: given, decide }: Decision,
): IdempotentOperation {
  const begin = async (tx: ProjectTransaction): Promise<RampAnswer> => {
    if ((await readIntent(tx, id)) === null) return rampError("NOT_FOUND");
    const decided = await decide(tx, await lockIntent(tx, id));
    if (isRampError(decided)) return decided;
    const entry = { actor: "project", action, projectId, intentId: id, note, arguments: given };
    recordAudited(tx, entry, decided.intent.status);
    pollNow(tx, id);
    return jsonResponse(202, decided.answer);
  };
  return {
    prepare: () =>
      Promise.resolve(isUuid(id) ? { resourceId: id, isOperators: true, begin } : rampError("NOT_FOUND")),
  };
}

const asDecided = (call: ProjectRequest<unknown>, intent: Intent | RampError): Decided | RampError =>
  isRampError(intent) ? intent : { intent, answer: projectIntentView(call.ramp, intent) };

export const cancelProjectIntent = idempotentRoute("project", {
  method: "POST",
  path: "/v1/intents/{id}/cancel",
  summary: "Cancel one of the project's intents",
  description:
    "Takes no body. As the customer would: once the order is at the provider, the provider decides, as the status then shows.",
  body: EmptyBody,
  response: { status: 202, schema: ProjectIntentView, description: "The intent as it is until then." },
  errors: ["NOT_FOUND", "INTENT_CLOSED"],
  work: (call) =>
    decision(call, {
      action: "intent cancel",
      note: null,
      arguments: {},
      decide: (tx, intent) => Promise.resolve(asDecided(call, decideCancel(tx, intent))),
    }),
});

export const refundProjectIntent = idempotentRoute("project", {
  method: "POST",
  path: "/v1/intents/{id}/refund",
  summary: "Refund a payment, or a part of it",
  description:
    "Where the provider offers it. Recorded before it is sent, at most what is left; a repeated reason is the same refund. The transaction lists it once the provider does; one that the provider refuses needs attention.",
  body: RefundBody,
  response: { status: 202, schema: RefundView, description: "The refund." },
  errors: ["NOT_FOUND", "INVALID_AMOUNT", "NOT_REFUNDABLE", "REFUND_CONFLICT"],
  work: (call: ProjectRequest<ValueOf<typeof RefundBody>>) => {
    const { amount = null, reason } = call.body;
    return decision(call, {
      action: "intent refund",
      note: reason,
      arguments: amount === null ? {} : { amount },
      async decide(tx, intent) {
        const decided = await decideRefund(tx, intent, { amount, reason });
        if (isRampError(decided)) return decided;
        const { id, amount: refunded, state: status } = decided.refund;
        return { intent: decided.intent, answer: { id, intentId: intent.id, amount: refunded, status } };
      },
    });
  },
});

export const resolveProjectIntent = idempotentRoute("project", {
  method: "POST",
  path: "/v1/intents/{id}/resolve",
  summary: "Record how an intent ended that needs attention",
  description: "Whatever else the provider reports later needs attention again.",
  body: ResolveBody,
  response: { status: 202, schema: ProjectIntentView, description: "The intent." },
  errors: ["NOT_FOUND", "NOT_RESOLVABLE"],
  work: (call: ProjectRequest<ValueOf<typeof ResolveBody>>) =>
    decision(call, {
      action: "intent resolve",
      note: call.body.note,
      arguments: { as: call.body.as },
      decide: (tx, intent) => Promise.resolve(asDecided(call, decideEnd(tx, intent, call.body))),
    }),
});
