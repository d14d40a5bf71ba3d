import type { IdempotentOperation, PreparedOperation, StoreResponse } from "../../idempotency/idempotency.js";
import { isUuid, newId } from "../../database/id.js";
import type { ProjectTransaction } from "../../database/ramp-database.js";
import { type Intent, isTerminal } from "../../intents/intent.js";
import { lockIntent, readOwnIntent, requestCancel } from "../../intents/intent-rows.js";
import { stealLease } from "../../intents/lease.js";
import { processLeased, type OnIdle } from "../../intents/process-intent.js";
import { jsonResponse, rampError, type RampError, type RampResponse } from "../../ramp-errors.js";
import { intentEnvelope } from "../intent-view.js";
import { type CustomerRequest, idempotentRoute } from "../route.js";
import { EmptyBody } from "../request-schemas.js";
import { IntentEnvelope } from "../response-schemas.js";
import { driveIfFree } from "./intents.js";

export const cancelIntent = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/intent/{id}/cancel",
  summary: "Cancel an intent",
  description:
    "Takes no body. Once the provider is at work it decides: a payment that it has received is carried out, and the status says so.",
  body: EmptyBody,
  answer: {
    status: 202,
    schema: IntentEnvelope,
    description: "The intent: CANCELLED, or as it is while the provider decides.",
  },
  errors: ["NOT_FOUND", "INTENT_CLOSED"],
  work: (call) => new IntentCancellation(call),
});

/** Records that the customer cancels, then does what is to be done at the provider. */
class IntentCancellation implements IdempotentOperation {
  readonly #call: CustomerRequest<unknown>;
  readonly #leaseOwner = newId();
  #begun: Intent | null = null;

  constructor(call: CustomerRequest<unknown>) {
    this.#call = call;
  }

  prepare(): Promise<PreparedOperation | RampError> {
    const id = this.#call.parameters["id"] ?? "";
    if (!isUuid(id)) return Promise.resolve(rampError("NOT_FOUND"));
    return Promise.resolve({ resourceId: id, begin: (tx) => this.#begin(tx, id) });
  }

  async #begin(tx: ProjectTransaction, id: string): Promise<RampError | null> {
    const { caller, ramp } = this.#call;
    if ((await readOwnIntent(tx, caller.customerId, id)) === null) return rampError("NOT_FOUND");
    const intent = await lockIntent(tx, id);
    if (isTerminal(intent.status)) return rampError("INTENT_CLOSED");
    stealLease(tx, id, this.#leaseOwner, ramp.polling);
    this.#begun = { ...requestCancel(tx, intent), leaseOwner: this.#leaseOwner };
    return null;
  }

  finish(id: string, store: StoreResponse): Promise<RampResponse> {
    const { ramp, caller } = this.#call;
    const settle: OnIdle<RampResponse> = (tx, intent) =>
      store(tx, jsonResponse(202, intentEnvelope(ramp, caller.projectId, intent)));
    if (this.#begun) return processLeased(ramp, caller.projectId, this.#begun, this.#leaseOwner, settle);
    return driveIfFree(ramp, caller.projectId, id, this.#leaseOwner, settle);
  }
}
