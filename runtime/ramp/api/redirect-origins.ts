import type { RampContext } from "../context.js";
import type { ProjectId } from "../database/id.js";
import { rampError, type RampError } from "../ramp-errors.js";
import type { CreateIntentBody } from "./request-schemas.js";

const FIELDS = ["onboardingRedirectUrl", "checkoutRedirectUrl"] as const;

/**
 * Refuses redirect URLs outside the origins that the project registered; a project that registered none accepts any
 * (runtime/ramp/README.md, Intents).
 */
export async function checkRedirectOrigins(
  ramp: RampContext,
  projectId: ProjectId,
  body: Pick<CreateIntentBody, (typeof FIELDS)[number]>,
): Promise<RampError | null> {
  const given = FIELDS.flatMap((field) => (body[field] == null ? [] : [{ field, url: body[field] }]));
  if (given.length === 0) return null;
  const row = await ramp.database.inProject(projectId, (tx) =>
    tx.row<{ redirect_origins: readonly string[] }>(
      "SELECT redirect_origins FROM ramp.projects WHERE id = ramp.current_project()",
    ),
  );
  const origins = row?.redirect_origins ?? [];
  if (origins.length === 0) return null;
  const details = given
    .filter(({ url }) => !origins.includes(new URL(url).origin))
    .map(({ field }) => ({ path: `/${field}`, message: "is not at an origin that the project registered" }));
  return details.length === 0 ? null : rampError("INVALID_REQUEST", { details });
}
