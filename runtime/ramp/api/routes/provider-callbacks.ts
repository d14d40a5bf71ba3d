import { Type } from "@sinclair/typebox";
import { reach } from "../../fault/points.js";
import { callFor } from "../../intent/attention.js";
import { projectId } from "../../project/project.js";
import { json } from "../answer.js";
import { refuse } from "../errors.js";
import { route } from "../route.js";
import { isUuid } from "./intents.js";

export const receiveCallback = route("public", {
  method: "POST",
  path: "/v1/provider-callbacks/{projectId}/{connectionId}",
  summary: "For providers: tell of news about an order",
  description:
    "Signed as Standard Webhooks are, with the credential's secret. The news itself is asked back for, so that neither order nor number of callbacks matters.",
  answer: { status: 200, schema: Type.Object({ received: Type.Boolean() }), description: "Taken note of." },
  refusals: ["INVALID_SIGNATURE"],
  async handle({ ramp, parameters, headers, text }) {
    reach("callback.received");
    const { projectId: project = "", connectionId = "" } = parameters;
    if (!isUuid(project) || !isUuid(connectionId)) return refuse("INVALID_SIGNATURE");
    const id = projectId(project.toLowerCase());
    const connection = await ramp.providers.find(id, connectionId.toLowerCase());
    const callback = connection?.provider.verifyCallback(
      {
        "webhook-id": headers["webhook-id"] ?? "",
        "webhook-timestamp": headers["webhook-timestamp"] ?? "",
        "webhook-signature": headers["webhook-signature"] ?? "",
      },
      text,
    );
    if (!callback) return refuse("INVALID_SIGNATURE");
    await ramp.database.inProject(id, (tx) => callFor(tx, callback.onboardingId, connectionId.toLowerCase()));
    reach("callback.recorded");
    return json(200, { received: true });
  },
});
