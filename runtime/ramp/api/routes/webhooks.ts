import {
  listOf,
  named,
  openRecord,
  textOf,
  type ValueOf,
} from "@routewright/runtime/internal/core/model/schema.js";
import type { Preparation } from "../../core/idempotency.js";
import { errorAt, isRampError, jsonResponse, type RampAnswer, rampError } from "../../core/ramp-errors.js";
import { isUuid, newId } from "../../database/id.js";
import { type ProjectTransaction, Rollback } from "../../database/transaction.js";
import {
  addressProblem,
  dropWebhook,
  hasRoom,
  insertWebhook,
  type ListedWebhook,
  readWebhooks,
  recordTest,
  undeliverable,
  updateWebhook,
} from "../../webhooks/endpoints.js";
import { rotateSecret } from "../../webhooks/secret-rotation.js";
import { authorize } from "../authenticate.js";
import type { Vault } from "../../core/vault.js";
import { ChangeWebhookBody, CreateWebhookBody, EmptyBody, RotateSecretBody } from "../request-schemas.js";
import { NewWebhookView, WebhookView } from "../response-schemas.js";
import { idempotentRoute, type ProjectRequest, route } from "../route.js";

function webhookView(webhook: ListedWebhook): ValueOf<typeof WebhookView> {
  const { webhookId: id, url, concurrency, eventTypes, enabled, createdAt, pending } = webhook;
  const { lastResult, lastResultAt } = webhook;
  const problem = undeliverable(webhook);
  return {
    id,
    url,
    ...(eventTypes && { eventTypes: [...eventTypes] }),
    concurrency,
    enabled,
    createdAt,
    pending,
    ...(lastResult !== null && lastResultAt && { lastResult, lastResultAt }),
    ...(problem !== null && { undeliverable: problem }),
  };
}

/** An address that a project names is public; private ones are the operator's to allow (runtime/ramp/docs/webhooks.md). */
async function checkAddress(
  { ramp, caller }: Pick<ProjectRequest, "ramp" | "caller">,
  url: string | undefined,
) {
  const problem =
    url === undefined
      ? null
      : await addressProblem({ url, allowPrivate: false }, caller.projectId, ramp.names);
  return problem === null ? null : errorAt("INVALID_REQUEST", "/url", withoutFlag(problem));
}

/** The flag is the operator's. */
const withoutFlag = (problem: string): string =>
  problem.replace(/ Use --.*/, " The operator can allow it: `routewright ramp webhook add --allow-private`.");

export const createWebhook = idempotentRoute("project", {
  method: "POST",
  path: "/v1/webhooks",
  summary: "Add a webhook: an address that gets the project's events",
  body: CreateWebhookBody,
  response: {
    status: 201,
    schema: NewWebhookView,
    description: "The webhook with its signing secret, which is shown once.",
  },
  errors: ["TOO_MANY_WEBHOOKS"],
  work: (call) => ({ prepare: () => prepareWebhook(call) }),
});

async function prepareWebhook(call: ProjectRequest<ValueOf<typeof CreateWebhookBody>>): Promise<Preparation> {
  const { ramp, body } = call;
  const error = await checkAddress(call, body.url);
  if (error) return error;
  const webhookId = newId();
  const begin = async (tx: ProjectTransaction): Promise<RampAnswer> => {
    if (!(await hasRoom(tx))) return rampError("TOO_MANY_WEBHOOKS");
    const made = insertWebhook(tx, ramp.vault, { ...body, webhookId, allowPrivate: false });
    return secretAnswer(tx, 201, made);
  };
  return { resourceId: webhookId, begin };
}

async function secretAnswer(
  tx: ProjectTransaction,
  status: 200 | 201,
  { webhookId, secret }: { readonly webhookId: string; readonly secret: string },
): Promise<RampAnswer> {
  const [webhook] = await readWebhooks(tx, webhookId);
  if (webhook === undefined) throw new Error("The webhook does not exist.");
  return jsonResponse(status, { ...webhookView(webhook), secret });
}

export const getWebhooks = route("project", {
  method: "GET",
  path: "/v1/webhooks",
  summary: "List the project's webhooks, oldest first",
  response: {
    status: 200,
    schema: listOf(named("Webhook")),
    description: "Webhooks, without secrets.",
  },
  errors: [],
  async handle({ ramp, caller }) {
    const webhooks = await ramp.database.inProject(caller.projectId, (tx) => readWebhooks(tx, null));
    return jsonResponse(200, webhooks.map(webhookView));
  },
});

export const getWebhook = route("project", {
  method: "GET",
  path: "/v1/webhooks/{id}",
  summary: "Get a webhook",
  response: { status: 200, schema: WebhookView, description: "The webhook, without its secret." },
  errors: ["NOT_FOUND"],
  handle: ({ ramp, caller, parameters: { id = "" } }) =>
    ramp.database.inProject(caller.projectId, (tx) => webhookAnswer(tx, id)),
});

async function webhookAnswer(tx: ProjectTransaction, id: string): Promise<RampAnswer> {
  const [webhook] = await readWebhooks(tx, id);
  return webhook === undefined ? rampError("NOT_FOUND") : jsonResponse(200, webhookView(webhook));
}

export const changeWebhook = route("project", {
  method: "PATCH",
  path: "/v1/webhooks/{id}",
  summary: "Change a webhook, or switch it off or on",
  description:
    "What is left out stays. Pending deliveries go to a new address; when it is switched off they are given up, and a replay repeats them.",
  body: ChangeWebhookBody,
  response: { status: 200, schema: WebhookView, description: "The webhook." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, body, parameters: { id = "" } }) {
    const error = await checkAddress({ ramp, caller }, body.url);
    if (error) return error;
    return changed({ ramp, caller }, async (tx) =>
      (await updateWebhook(tx, id, body)).ok ? webhookAnswer(tx, id) : rampError("NOT_FOUND"),
    );
  },
});

export const deleteWebhook = route("project", {
  method: "DELETE",
  path: "/v1/webhooks/{id}",
  summary: "Delete a webhook",
  response: { status: 204, schema: null, description: "Deleted: it gets nothing more." },
  errors: ["NOT_FOUND"],
  handle: ({ ramp, caller, parameters: { id = "" } }) =>
    changed({ ramp, caller }, async (tx) =>
      (await dropWebhook(tx, id)).ok ? { status: 204, body: "" } : rampError("NOT_FOUND"),
    ),
});

/** Authorizes in the transaction that writes; an error rolls it back. */
async function changed(
  { ramp, caller }: Pick<ProjectRequest, "ramp" | "caller">,
  work: (tx: ProjectTransaction) => Promise<RampAnswer>,
): Promise<RampAnswer> {
  const result = await ramp.database.inProject(caller.projectId, async (tx) => {
    const answer = (await authorize(tx, caller)) ?? (await work(tx));
    return isRampError(answer) ? new Rollback(answer) : answer;
  });
  return result instanceof Rollback ? result.value : result;
}

export const rotateWebhook = idempotentRoute("project", {
  method: "POST",
  path: "/v1/webhooks/{id}/rotate-secret",
  summary: "Give a webhook a new secret",
  description:
    "Until the overlap ends, deliveries carry a signature of each secret. A former secret keeps its end when the secret is rotated again.",
  body: RotateSecretBody,
  response: {
    status: 200,
    schema: NewWebhookView,
    description: "The webhook with its new secret, which is shown once.",
  },
  errors: ["NOT_FOUND", "TOO_MANY_SECRETS"],
  work: ({ ramp: { vault }, body: { overlapHours = 24 }, parameters: { id = "" } }) => ({
    prepare: () =>
      Promise.resolve(
        isUuid(id)
          ? { resourceId: id, begin: (tx) => rotate(tx, vault, { webhookId: id, overlapHours }) }
          : rampError("NOT_FOUND"),
      ),
  }),
});

async function rotate(
  tx: ProjectTransaction,
  vault: Vault,
  rotation: { readonly webhookId: string; readonly overlapHours: number },
): Promise<RampAnswer> {
  const rotated = await rotateSecret(tx, vault, rotation);
  return isRampError(rotated) ? rotated : secretAnswer(tx, 200, rotated);
}

export const testWebhook = idempotentRoute("project", {
  method: "POST",
  path: "/v1/webhooks/{id}/test",
  summary: "Send an event of the type webhook.test to a webhook",
  description: "Takes no body. GET /v1/events/{id}/deliveries says what became of it.",
  body: EmptyBody,
  response: {
    status: 202,
    schema: openRecord({ eventId: textOf({ format: "uuid" }) }),
    description: "The event is on its way to this webhook alone, whatever its types are.",
  },
  errors: ["NOT_FOUND", "WEBHOOK_DISABLED"],
  work: ({ parameters: { id = "" } }) => ({
    prepare: () =>
      Promise.resolve(
        isUuid(id) ? { resourceId: id, begin: (tx) => sendTest(tx, id) } : rampError("NOT_FOUND"),
      ),
  }),
});

async function sendTest(tx: ProjectTransaction, id: string): Promise<RampAnswer> {
  const [webhook] = await readWebhooks(tx, id);
  if (webhook === undefined) return rampError("NOT_FOUND");
  if (!webhook.enabled) return rampError("WEBHOOK_DISABLED");
  return jsonResponse(202, { eventId: recordTest(tx, webhook) });
}
