import { Type } from "@sinclair/typebox";
import type { Start, Store, Work } from "../../idempotency/run.js";
import { hold } from "../../intent/attention.js";
import { type NewIntent, recordIntent } from "../../intent/create.js";
import { drive, type Settle } from "../../intent/drive.js";
import type { Intent } from "../../intent/intent.js";
import { listIntents, readIntent, readOwnIntent } from "../../intent/read.js";
import type { ProjectId } from "../../project/project.js";
import type { Ramp } from "../../ramp.js";
import type { ProjectTransaction } from "../../store/database.js";
import { newId } from "../../store/id.js";
import { type Answer, json } from "../answer.js";
import { isRefusal, refuse, type Refusal } from "../errors.js";
import { chooseWay } from "../choose-way.js";
import { listAnswer, pageOf, UNKNOWN_START } from "../page.js";
import { type CustomerCall, onceRoute, route } from "../route.js";
import { CreateIntentBody, IntentEnvelope, PageQuery } from "../schemas.js";
import { intentEnvelope } from "../views.js";

export const createIntent = onceRoute("customer", {
  method: "POST",
  path: "/v1/intent",
  summary: "Create a payment intent",
  body: CreateIntentBody,
  answer: {
    status: 201,
    schema: IntentEnvelope,
    description: "The intent; with its transaction when that was executed at once.",
  },
  refusals: [
    "UNKNOWN_CURRENCY",
    "UNKNOWN_COUNTRY",
    "INVALID_AMOUNT",
    "INVALID_ACCOUNT_DETAILS",
    "UNSUPPORTED_PATH",
    "PROVIDER_NOT_AVAILABLE",
    "PROVIDER_UNAVAILABLE",
  ],
  work: (call) => new IntentCreation(call),
});

/** Records the intent, then onboards it, and executes it where that is wanted and nothing is outstanding. */
class IntentCreation implements Work {
  readonly #call: CustomerCall<CreateIntentBody>;
  readonly #driver = newId();
  #begun: { readonly id: string; readonly intent: Promise<Intent> } | null = null;

  constructor(call: CustomerCall<CreateIntentBody>) {
    this.#call = call;
  }

  async prepare(): Promise<Start | Refusal> {
    const { ramp, caller, body } = this.#call;
    const way = await chooseWay(ramp, caller.projectId, body);
    if (isRefusal(way)) return way;
    const intent: NewIntent = {
      id: newId(),
      customerId: caller.customerId,
      ...way,
      autoExecute: body.autoExecute ?? false,
      onboardingRedirectUrl: body.onboardingRedirectUrl ?? null,
      checkoutRedirectUrl: body.checkoutRedirectUrl ?? null,
    };
    return { resourceId: intent.id, begin: (tx) => this.#begin(tx, intent) };
  }

  #begin(tx: ProjectTransaction, given: NewIntent): Promise<null> {
    const intent = recordIntent(tx, given, this.#driver, this.#call.ramp.rhythm);
    // Not waited for here, so that the commit goes along: should it fail, so does the transaction.
    intent.catch(() => undefined);
    this.#begun = { id: given.id, intent };
    return Promise.resolve(null);
  }

  async finish(id: string, store: Store): Promise<Answer> {
    const { ramp, caller } = this.#call;
    const settle: Settle<Answer> = (tx, intent) =>
      store(tx, json(201, intentEnvelope(ramp, caller.projectId, intent)));
    const begun = this.#begun?.id === id ? await this.#begun.intent : null;
    if (begun) return drive(ramp, caller.projectId, begun, this.#driver, settle);
    return driveIfFree(ramp, caller.projectId, id, this.#driver, settle);
  }
}

/** Goes on with an intent if nobody else is at it, and settles with how it stands otherwise. */
export async function driveIfFree<T>(
  ramp: Ramp,
  projectId: ProjectId,
  id: string,
  driver: string,
  settle: Settle<T>,
): Promise<T> {
  const held = await ramp.database.inProject(projectId, async (tx) => {
    const [isHeld, intent] = await Promise.all([hold(tx, id, driver, ramp.rhythm), readIntent(tx, id)]);
    if (intent === null) throw new Error(`The intent ${id} does not exist.`);
    return isHeld ? { intent } : { settled: settle(tx, intent) };
  });
  return "settled" in held ? held.settled : drive(ramp, projectId, held.intent, driver, settle);
}

export const getIntents = route("customer", {
  method: "GET",
  path: "/v1/intent",
  summary: "List the customer's intents, newest first",
  query: PageQuery,
  answer: { status: 200, schema: Type.Array(Type.Ref("IntentEnvelope")), description: "Intents." },
  refusals: [],
  async handle({ ramp, caller, query, path }) {
    const page = pageOf(query);
    if (page.startingAfter !== null && !isUuid(page.startingAfter)) return UNKNOWN_START;
    const found = await ramp.database.inProject(caller.projectId, (tx) =>
      listIntents(tx, caller.customerId, page),
    );
    if (found === null) return UNKNOWN_START;
    const shown = found.slice(0, page.limit);
    const view = shown.map((intent) => intentEnvelope(ramp, caller.projectId, intent));
    return listAnswer(found, page, path, view);
  },
});

export const getIntent = route("customer", {
  method: "GET",
  path: "/v1/intent/{id}",
  summary: "Get an intent",
  answer: {
    status: 200,
    schema: IntentEnvelope,
    description: "The intent, and its transaction once there is one.",
  },
  refusals: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters }) {
    const id = parameters["id"] ?? "";
    if (!isUuid(id)) return refuse("NOT_FOUND");
    const intent = await ramp.database.inProject(caller.projectId, (tx) =>
      readOwnIntent(tx, caller.customerId, id),
    );
    return intent === null ? refuse("NOT_FOUND") : json(200, intentEnvelope(ramp, caller.projectId, intent));
  },
});

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
