import { Type } from "@sinclair/typebox";
import type { RampContext } from "../../context.js";
import { isUuid, type ProjectId } from "../../database/id.js";
import type { Intent } from "../../intents/intent.js";
import { listIntents, readIntent } from "../../intents/intent-rows.js";
import { jsonResponse, rampError } from "../../ramp-errors.js";
import { intentEnvelope, listAnswer, pageOf, UNKNOWN_START } from "../intent-view.js";
import { route } from "../route.js";
import { ProjectIntentsQuery } from "../request-schemas.js";
import { ProjectIntentView } from "../response-schemas.js";

export const getProjectIntents = route("project", {
  method: "GET",
  path: "/v1/intents",
  summary: "List the project's intents, newest first",
  description:
    "With `updatedSince`, poll for changes: intents whose status, transaction or requirements changed since.",
  query: ProjectIntentsQuery,
  answer: { status: 200, schema: Type.Array(Type.Ref("ProjectIntent")), description: "Intents." },
  errors: [],
  async handle({ ramp, caller, query, path }) {
    const page = pageOf(query);
    if (page.startingAfter !== null && !isUuid(page.startingAfter)) return UNKNOWN_START;
    const { customerId, status, updatedSince } = query;
    const found = await ramp.database.inProject(caller.id, (tx) =>
      listIntents(tx, { customerId: customerId?.toLowerCase(), status, updatedSince }, page),
    );
    if (found === null) return UNKNOWN_START;
    const view = found.slice(0, page.limit).map((intent) => projectIntentView(ramp, caller.id, intent));
    return listAnswer(found, page, path, view, { customerId, status, updatedSince });
  },
});

export const getProjectIntent = route("project", {
  method: "GET",
  path: "/v1/intents/{id}",
  summary: "Get one of the project's intents",
  answer: { status: 200, schema: ProjectIntentView, description: "The intent." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters }) {
    const id = parameters["id"] ?? "";
    const intent = isUuid(id) ? await ramp.database.inProject(caller.id, (tx) => readIntent(tx, id)) : null;
    return intent === null
      ? rampError("NOT_FOUND")
      : jsonResponse(200, projectIntentView(ramp, caller.id, intent));
  },
});

function projectIntentView(ramp: RampContext, projectId: ProjectId, intent: Intent): ProjectIntentView {
  return { ...intentEnvelope(ramp, projectId, intent), customerId: intent.customerId };
}
