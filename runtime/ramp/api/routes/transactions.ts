import { reach } from "../../fault/points.js";
import type { Start, Store, Work } from "../../idempotency/run.js";
import { seize } from "../../intent/attention.js";
import { drive, type Settle } from "../../intent/drive.js";
import type { Intent } from "../../intent/intent.js";
import { openTransaction } from "../../intent/move.js";
import { lockIntent, readOwnIntent } from "../../intent/read.js";
import { awaitsCompliance } from "../../intent/status.js";
import type { ProjectTransaction } from "../../store/database.js";
import { newId } from "../../store/id.js";
import { type Answer, json } from "../answer.js";
import { refuse, type Refusal } from "../errors.js";
import { type CustomerCall, onceRoute, route } from "../route.js";
import { EmptyBody, TransactionView } from "../schemas.js";
import { transactionView } from "../views.js";
import { driveIfFree, isUuid } from "./intents.js";

export const executeTransaction = onceRoute("customer", {
  method: "POST",
  path: "/v1/intent/{id}/transaction",
  summary: "Execute the intent's transaction",
  description: "Takes no body. An intent has one transaction, for life.",
  body: EmptyBody,
  answer: {
    status: 202,
    schema: TransactionView,
    description: "The transaction, with what the customer has to do.",
  },
  refusals: ["NOT_FOUND", "COMPLIANCE_NOT_COMPLETE", "TRANSACTION_EXISTS", "INTENT_CLOSED"],
  work: (call) => new TransactionExecution(call),
});

/** Opens the transaction, then has the provider execute it. */
class TransactionExecution implements Work {
  readonly #call: CustomerCall<unknown>;
  readonly #driver = newId();
  #begun: Intent | null = null;

  constructor(call: CustomerCall<unknown>) {
    this.#call = call;
  }

  prepare(): Promise<Start | Refusal> {
    const id = this.#call.parameters["id"] ?? "";
    if (!isUuid(id)) return Promise.resolve(refuse("NOT_FOUND"));
    return Promise.resolve({ resourceId: id, begin: (tx) => this.#begin(tx, id) });
  }

  async #begin(tx: ProjectTransaction, id: string): Promise<Refusal | null> {
    const { caller, ramp } = this.#call;
    if ((await readOwnIntent(tx, caller.customerId, id)) === null) return refuse("NOT_FOUND");
    const intent = await lockIntent(tx, id);
    if (intent.transaction !== null) return refuse("TRANSACTION_EXISTS");
    if (awaitsCompliance(intent.status)) return refuse("COMPLIANCE_NOT_COMPLETE");
    if (intent.status !== "PENDING_PAYMENT" || intent.expiresAt <= ramp.now()) return refuse("INTENT_CLOSED");
    // Whoever holds the intent did not see this transaction: it is ours to execute.
    seize(tx, id, this.#driver, ramp.rhythm);
    this.#begun = { ...openTransaction(tx, intent), attendedBy: this.#driver };
    return null;
  }

  finish(id: string, store: Store): Promise<Answer> {
    const { ramp, caller } = this.#call;
    const settle: Settle<Answer> = (tx, { transaction }) => {
      if (transaction === null) throw new Error("The transaction was not opened.");
      return store(tx, json(202, transactionView(transaction)));
    };
    reach("execution.opened");
    if (this.#begun) return drive(ramp, caller.projectId, this.#begun, this.#driver, settle);
    return driveIfFree(ramp, caller.projectId, id, this.#driver, settle);
  }
}

export const getTransaction = route("customer", {
  method: "GET",
  path: "/v1/intent/{id}/transaction",
  summary: "Get the intent's transaction",
  answer: { status: 200, schema: TransactionView, description: "The transaction." },
  refusals: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters }) {
    const id = parameters["id"] ?? "";
    if (!isUuid(id)) return refuse("NOT_FOUND");
    const intent = await ramp.database.inProject(caller.projectId, (tx) =>
      readOwnIntent(tx, caller.customerId, id),
    );
    return intent?.transaction ? json(200, transactionView(intent.transaction)) : refuse("NOT_FOUND");
  },
});
