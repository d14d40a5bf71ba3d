import { seize } from "../intent/attention.js";
import { attend } from "../intent/attend.js";
import { drive } from "../intent/drive.js";
import type { Intent } from "../intent/intent.js";
import { openTransaction } from "../intent/move.js";
import { lockIntent } from "../intent/read.js";
import type { ProjectId } from "../project/project.js";
import type { Ramp } from "../ramp.js";
import { newId } from "../store/id.js";
import { errorsOf, fieldsOf, type FormErrors, type Typed, valuesOf } from "./form.js";
import type { FormRequirement } from "./stage.js";

export type Submitted =
  | { readonly kind: "taken" }
  | { readonly kind: "invalid"; readonly errors: FormErrors }
  /** The provider could not be reached. */
  | { readonly kind: "unavailable" };

/** Hands what was filled in to the provider, and follows up on what that changes. Nothing of it is kept here. */
export async function submitForm(
  ramp: Ramp,
  projectId: ProjectId,
  { id, connectionId }: Intent,
  { code, form }: FormRequirement,
  typed: Typed,
): Promise<Submitted> {
  const fields = fieldsOf(form);
  const values = valuesOf(fields, typed);
  const errors = errorsOf(form, fields, values);
  if (errors.size > 0) return { kind: "invalid", errors };
  const { provider } = await ramp.providers.get(projectId, connectionId);
  const reply = await provider.submit(id, code, { fields: values });
  switch (reply.kind) {
    case "answer":
      await attend(ramp, projectId, id);
      return { kind: "taken" };
    case "refused":
      return { kind: "invalid", errors: new Map([["", reply.message]]) };
    case "unavailable":
      ramp.log.warn({ intent: id, connection: connectionId, reason: reply.reason }, "form not handed in");
      return { kind: "unavailable" };
  }
}

/** Opens the intent's transaction, unless somebody has done so or its time is over, and has the provider execute it. */
export async function execute(ramp: Ramp, projectId: ProjectId, id: string): Promise<void> {
  const driver = newId();
  const begun = await ramp.database.inProject(projectId, async (tx) => {
    const intent = await lockIntent(tx, id);
    const isOpen = intent.status === "PENDING_PAYMENT" && intent.expiresAt > ramp.now();
    if (intent.transaction !== null || !isOpen) return null;
    seize(tx, id, driver, ramp.rhythm);
    return { ...openTransaction(tx, intent), attendedBy: driver };
  });
  if (begun) await drive(ramp, projectId, begun, driver, () => undefined);
}
