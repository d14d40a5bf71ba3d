import type { RampContext } from "../context.js";
import { isUuid, newId, type ProjectId } from "../database/id.js";
import type { ProjectTransaction } from "../database/ramp-database.js";
import type { IdempotentOperation, PreparedOperation, StoreResponse } from "../idempotency/idempotency.js";
import type { Intent } from "../intents/intent.js";
import { lockIntent, readIntent, readOwnIntent } from "../intents/intent-rows.js";
import { acquireLease, stealLease } from "../intents/lease.js";
import { type OnIdle, processLeased } from "../intents/process-intent.js";
import { isRampError, rampError, type RampError, type RampResponse } from "../ramp-errors.js";
import type { CustomerRequest } from "./route.js";

interface IntentChange {
  /** Records the change of the locked intent, or refuses it. */
  record(tx: ProjectTransaction, intent: Intent): Intent | RampError;
  /** Called once the change is recorded. */
  recorded?(): Promise<void> | undefined;
  answer(intent: Intent): RampResponse;
}

/** A change of a customer's own intent: recorded first, then carried out at the provider. */
export class IntentAction implements IdempotentOperation {
  readonly #call: CustomerRequest<unknown>;
  readonly #change: IntentChange;
  readonly #leaseOwner = newId();
  #begun: Intent | null = null;

  constructor(call: CustomerRequest<unknown>, change: IntentChange) {
    this.#call = call;
    this.#change = change;
  }

  prepare(): Promise<PreparedOperation | RampError> {
    const id = this.#call.parameters["id"] ?? "";
    if (!isUuid(id)) return Promise.resolve(rampError("NOT_FOUND"));
    return Promise.resolve({ resourceId: id, begin: (tx) => this.#begin(tx, id) });
  }

  async #begin(tx: ProjectTransaction, id: string): Promise<RampError | null> {
    const { caller, ramp } = this.#call;
    if ((await readOwnIntent(tx, caller.customerId, id)) === null) return rampError("NOT_FOUND");
    const changed = this.#change.record(tx, await lockIntent(tx, id));
    if (isRampError(changed)) return changed;
    // The lease owner has not seen this change: this request carries it out.
    stealLease(tx, id, this.#leaseOwner, ramp.polling);
    this.#begun = { ...changed, leaseOwner: this.#leaseOwner };
    return null;
  }

  async finish(id: string, store: StoreResponse): Promise<RampResponse> {
    const { ramp, caller } = this.#call;
    const settle: OnIdle<RampResponse> = (tx, intent) => store(tx, this.#change.answer(intent));
    await this.#change.recorded?.();
    if (this.#begun) return processLeased(ramp, caller.projectId, this.#begun, this.#leaseOwner, settle);
    return continueIfFree(ramp, caller.projectId, id, this.#leaseOwner, settle);
  }
}

/** Processes an intent if its lease is free; settles with its present state otherwise. */
export async function continueIfFree<T>(
  ramp: RampContext,
  projectId: ProjectId,
  id: string,
  leaseOwner: string,
  settle: OnIdle<T>,
): Promise<T> {
  const leased = await ramp.database.inProject(projectId, async (tx) => {
    const [isLeased, intent] = await Promise.all([
      acquireLease(tx, id, leaseOwner, ramp.polling),
      readIntent(tx, id),
    ]);
    if (intent === null) throw new Error(`The intent ${id} does not exist.`);
    return isLeased ? { intent } : { settled: settle(tx, intent) };
  });
  return "settled" in leased
    ? leased.settled
    : processLeased(ramp, projectId, leased.intent, leaseOwner, settle);
}
