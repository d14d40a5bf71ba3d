import { httpError, type HttpError } from "../../../core/model/errors.js";
import type { ValueOf } from "../../../core/model/schema.js";
import { lockOrganization, type Organization } from "../organizations.js";
import { json, type OperatorAnswer, type OperatorRequest, pageOf } from "./operators.js";
import type { CHANGED_ORGANIZATION, LIST_QUERY, NEW_ORGANIZATION } from "./schemas.js";

export async function listOrganizations({
  input,
  keys,
}: OperatorRequest<ValueOf<typeof LIST_QUERY>>): OperatorAnswer {
  const { limit = 1, after = null } = input;
  const found = await keys.organizations.page({ after, limit: limit + 1 });
  const { shown, next } = pageOf(found, limit, ({ id }) => id);
  return json(200, { organizations: shown, next });
}

export async function findOrganization({ keys, id }: OperatorRequest<unknown>): OperatorAnswer {
  const found = await keys.organizations.find(id);
  return found === null ? httpError("notFound") : json(200, found);
}

export async function createOrganization({
  input,
  keys: { organizations },
  plans,
}: OperatorRequest<ValueOf<typeof NEW_ORGANIZATION>>): OperatorAnswer {
  const problem = unknownPlan(input.plan, plans);
  if (problem !== null) return problem;
  const id = await organizations.create(input);
  if (id === null) return TAKEN;
  return json(201, await organizations.find(id));
}

/** All or nothing: what can be refused comes first. */
export async function changeOrganization({
  input,
  keys: { organizations },
  tables,
  plans,
  id,
}: OperatorRequest<ValueOf<typeof CHANGED_ORGANIZATION>>): OperatorAnswer {
  await lockOrganization(tables, id);
  const known = await organizations.find(id);
  if (known === null) return httpError("notFound");
  const problem = unknownPlan(input.plan, plans) ?? planRequired(input.plan, known);
  if (problem !== null) return problem;
  const to = input.id ?? id;
  if (to !== id && (await organizations.rename(id, to)) !== "renamed") return TAKEN;
  if (input.name !== undefined) await organizations.setName(to, input.name);
  if (input.plan !== undefined) await organizations.setPlan(to, input.plan);
  if (input.own !== undefined) await organizations.setFigures(to, { ...known.own, ...input.own });
  return json(200, await organizations.find(to));
}

const TAKEN = httpError("valueNotOfType", { name: "id", type: "an id that no other organization has" });

function unknownPlan(plan: string | null | undefined, plans: object): HttpError | null {
  if (plan === undefined || plan === null || Object.hasOwn(plans, plan)) return null;
  return httpError("valueNotAccepted", { name: "plan", values: Object.keys(plans).join(", ") });
}

function planRequired(plan: string | null | undefined, { members }: Organization): HttpError | null {
  if (plan !== null || members === 0) return null;
  return httpError("valueNotOfType", {
    name: "plan",
    type: "a plan while the organization has members: their keys would open all of their tier",
  });
}
