import { Type } from "@sinclair/typebox";
import { jsonResponse, rampError, type RampError, type RampResponse } from "../../ramp-errors.js";
import { audited } from "../../setup/audit.js";
import type { Outcome } from "../../../model/outcome.js";
import {
  addWebhook,
  deleteWebhook,
  listWebhooks,
  rotateWebhookSecret,
  testWebhook,
} from "../../setup/webhooks.js";
import { EmptyBody, WebhookBody } from "../request-schemas.js";
import { WebhookSecretView, WebhookView } from "../response-schemas.js";
import { type ProjectRequest, route } from "../route.js";

/** Makes a change with the project's credentials; it is recorded like an operator's. */
async function change<T extends object>(
  { ramp, caller, path }: Pick<ProjectRequest, "ramp" | "caller" | "path">,
  action: string,
  run: () => Promise<Outcome<T>>,
  answer: (value: T) => RampResponse,
  refusal: (problem: string) => RampError = () => rampError("NOT_FOUND"),
): Promise<RampResponse | RampError> {
  const entry = { actor: "project", action, projectId: caller.id, intentId: null, note: null };
  const result = await audited(ramp.database, { ...entry, arguments: { path } }, run, ({ ok }) =>
    ok ? "done" : "refused",
  );
  return result.ok ? answer(result.value) : refusal(result.problem);
}

export const createWebhook = route("project", {
  method: "POST",
  path: "/v1/webhooks",
  summary: "Add a receiver of events; its secret is shown once",
  body: WebhookBody,
  response: { status: 201, schema: WebhookSecretView, description: "The endpoint and its secret." },
  errors: [],
  handle(call) {
    const { ramp, caller, body } = call;
    return change(
      call,
      "webhook add",
      () => addWebhook(ramp.database, ramp.vault, caller.id, { ...body, allowPrivate: false }),
      (value) => jsonResponse(201, value),
      () =>
        rampError("INVALID_REQUEST", {
          details: [{ path: "/url", message: "must not be a private address" }],
        }),
    );
  },
});

export const getWebhooks = route("project", {
  method: "GET",
  path: "/v1/webhooks",
  summary: "List the project's receivers of events",
  response: { status: 200, schema: Type.Array(WebhookView), description: "Endpoints." },
  errors: [],
  async handle({ ramp, caller }) {
    return jsonResponse(200, await listWebhooks(ramp.database, caller.id));
  },
});

export const removeWebhook = route("project", {
  method: "DELETE",
  path: "/v1/webhooks/{id}",
  summary: "Delete a receiver; it gets nothing more",
  response: { status: 204, schema: null, description: "Deleted." },
  errors: ["NOT_FOUND"],
  handle(call) {
    const { ramp, caller, parameters } = call;
    return change(
      call,
      "webhook delete",
      () => deleteWebhook(ramp.database, caller.id, parameters["id"] ?? ""),
      () => ({ status: 204, body: "" }),
    );
  },
});

export const sendTestEvent = route("project", {
  method: "POST",
  path: "/v1/webhooks/{id}/test",
  summary: "Send a `webhook.test` event to a receiver",
  body: EmptyBody,
  response: {
    status: 202,
    schema: Type.Object({ webhookId: Type.String() }),
    description: "It is on its way.",
  },
  errors: ["NOT_FOUND"],
  handle(call) {
    const { ramp, caller, parameters } = call;
    return change(
      call,
      "webhook test",
      () => testWebhook(ramp.database, caller.id, parameters["id"] ?? ""),
      (value) => jsonResponse(202, value),
    );
  },
});

export const rotateSecret = route("project", {
  method: "POST",
  path: "/v1/webhooks/{id}/rotate-secret",
  summary: "Give a receiver a new secret, shown once; both sign for 24 hours",
  body: EmptyBody,
  response: { status: 200, schema: WebhookSecretView, description: "The endpoint and its new secret." },
  errors: ["NOT_FOUND"],
  handle(call) {
    const { ramp, caller, parameters } = call;
    const webhookId = parameters["id"] ?? "";
    return change(
      call,
      "webhook rotate-secret",
      () => rotateWebhookSecret(ramp.database, ramp.vault, caller.id, { webhookId, overlapHours: 24 }),
      (value) => jsonResponse(200, value),
    );
  },
});
