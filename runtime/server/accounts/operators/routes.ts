import type { DataRoute } from "../../../core/handler/exchange.js";
import { httpError } from "../../../core/model/errors.js";
import { record } from "../../../core/model/schema.js";
import { changesIn } from "../audit.js";
import { mayHaveMembers } from "../organizations.js";
import { invite } from "../page/members.js";
import { createKey, listKeys, revokeKey, rotateKey } from "./keys.js";
import {
  changeOrganization,
  createOrganization,
  findOrganization,
  listOrganizations,
} from "./organizations.js";
import { changing, json, type Operators, type OperatorRequest, pageOf, reading } from "./operators.js";
import {
  ANSWERS,
  AUDIT_QUERY,
  CHANGED_ORGANIZATION,
  KEYS_QUERY,
  LIST_QUERY,
  NEW_INVITATION,
  NEW_KEY,
  NEW_ORGANIZATION,
  ROTATION,
} from "./schemas.js";

const ORGANIZATIONS = "/v1/system/organizations";
const ORGANIZATION = `${ORGANIZATIONS}/{id}`;
const KEYS = "/v1/system/keys";
const NOTHING = record({});

/** The routes by which operators manage organizations and keys (runtime/docs/accounts.md, Operators). */
export function operatorRoutes(operators: Operators): readonly DataRoute[] {
  return [
    ...organizationRoutes(operators),
    ...keyRoutes(operators),
    ...otherRoutes(operators),
    ...(operators.publicUrl === null ? [] : [invitationRoute(operators, operators.publicUrl)]),
  ];
}

function organizationRoutes(operators: Operators): readonly DataRoute[] {
  const { organization, organizations } = ANSWERS;
  return [
    reading(
      operators,
      ORGANIZATIONS,
      { ...named("organizations", "List organizations"), answer: organizations },
      LIST_QUERY,
      listOrganizations,
    ),
    changing(
      operators,
      ["POST", ORGANIZATIONS],
      {
        ...named("organization_create", "Make an organization"),
        description: "Its id is a random one, unless another is given.",
        status: 201,
        answer: organization,
      },
      NEW_ORGANIZATION,
      createOrganization,
    ),
    reading(
      operators,
      ORGANIZATION,
      { ...named("organization", "One organization"), answer: organization },
      NOTHING,
      findOrganization,
    ),
    changing(
      operators,
      ["PATCH", ORGANIZATION],
      {
        ...named("organization_change", "Change an organization"),
        description:
          "Its plan, its own figures, its name, or its id, which its keys follow. Servers know of it within 2 seconds.",
        answer: organization,
      },
      CHANGED_ORGANIZATION,
      changeOrganization,
    ),
  ];
}

function keyRoutes(operators: Operators): readonly DataRoute[] {
  const { keys, key, rotated, revoked } = ANSWERS;
  return [
    reading(operators, KEYS, { ...named("keys", "List keys"), answer: keys }, KEYS_QUERY, listKeys),
    changing(
      operators,
      ["POST", KEYS],
      { ...named("key_create", "Make a key"), status: 201, answer: key },
      NEW_KEY,
      createKey,
    ),
    changing(
      operators,
      ["POST", `${KEYS}/{id}/rotate`],
      {
        ...named("key_rotate", "Make a key in place of another"),
        description: "With its owner and its limits. The key before stays valid for a time.",
        status: 201,
        answer: rotated,
      },
      ROTATION,
      rotateKey,
    ),
    changing(
      operators,
      ["DELETE", `${KEYS}/{id}`],
      { ...named("key_revoke", "Revoke a key"), answer: revoked },
      NOTHING,
      revokeKey,
    ),
  ];
}

function otherRoutes(operators: Operators): readonly DataRoute[] {
  const { plans, audit } = ANSWERS;
  return [
    reading(
      operators,
      "/v1/system/plans",
      { ...named("plans", "List plans"), description: "Those of the release that is served.", answer: plans },
      NOTHING,
      ({ plans: served }) => {
        const list = Object.entries(served).map(([name, plan]) => ({ name, ...plan }));
        return Promise.resolve(json(200, { plans: list }));
      },
    ),
    reading(
      operators,
      "/v1/system/audit",
      { ...named("audit", "Who changed what"), description: "Newest first.", answer: audit },
      AUDIT_QUERY,
      listChanges,
    ),
  ];
}

/** Only where there is an account page, which links lead to. */
function invitationRoute(operators: Operators, publicUrl: string): DataRoute {
  return changing(
    operators,
    ["POST", "/v1/system/invitations"],
    {
      ...named("invitation_create", "Invite somebody"),
      description:
        "To an organization, or to one of their own, on the plan of `signUp`. The link works once.",
      status: 201,
      answer: ANSWERS.invitation,
    },
    NEW_INVITATION,
    async ({ input: { organization = null, role = "owner" }, keys, tables, actor }) => {
      if (organization !== null && (await keys.organizations.find(organization)) === null)
        return httpError("notFound");
      if (organization !== null && !(await mayHaveMembers(tables, organization))) return WITHOUT_PLAN;
      const { id, code, expires } = await invite(tables, actor, { organization, role });
      const link = `${publicUrl}/account/invitation?code=${code}`;
      return json(201, { id, link, expires }, { id, link: null, expires });
    },
  );
}

const WITHOUT_PLAN = httpError("valueNotOfType", {
  name: "organization",
  type: "one that has a plan: without one the keys of its members would open all of their tier",
});

const named = (name: string, summary: string) => ({ operationId: `system_${name}`, summary });

async function listChanges({
  input,
  tables,
}: OperatorRequest<{ organization?: string; limit?: number; before?: number }>) {
  const { organization = null, limit = 1, before = null } = input;
  if (organization === "") return httpError("parameterRequired", { name: "organization" });
  const found = await changesIn(tables, { organization, before, limit: limit + 1 });
  const { shown, next } = pageOf(found, limit, ({ number }) => number);
  return json(200, { changes: shown.map(({ number, ...change }) => ({ id: number, ...change })), next });
}
