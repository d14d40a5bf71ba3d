import { randomBytes } from "node:crypto";
import type { OwnFigures, QuotaUnit } from "../../core/model/organization-plan.js";
import type { Statements } from "../../postgres/own-tables.js";
import { noted } from "./changes.js";
import { timeText } from "./key-statements.js";

/** An organization of a key database. */
export interface Organization {
  /** The `org` of its keys. */
  readonly id: string;
  /** What people call it; empty: nothing else than its id. */
  readonly name: string;
  /** Name of its plan; null: none, its keys have the limits of their tiers. */
  readonly plan: string | null;
  /** When it was made, RFC 3339 in UTC. */
  readonly created: string;
  /** People of the account page who belong to it. */
  readonly members: number;
  /** Keys that are not revoked. */
  readonly keys: number;
  /** Figures that go before those of its plan; null: the plan's. */
  readonly own: OwnFigures;
}

/** By unit of a quota. */
export type MonthUse = Readonly<Record<QuotaUnit, number>>;

/** What an organization has used in the calendar month in UTC, as servers have reported it. */
export async function monthUseOf(tables: Statements, id: string): Promise<MonthUse> {
  const [used] = await tables.run<MonthUse>([MONTH_USE], [id]);
  return used ?? { requests: 0, rows: 0, bytes: 0 };
}

const MONTH_USE = `SELECT requests::float8 AS requests, "rows"::float8 AS "rows", bytes::float8 AS bytes
  FROM routewright_keys.month_use JOIN routewright_keys.organizations ON number = organization
  WHERE organizations.id = $1 AND month = date_trunc('month', now() AT TIME ZONE 'UTC')::date`;

/** An organization that is made. */
export interface NewOrganization {
  /** Absent: a random one. */
  readonly id?: string;
  readonly name?: string;
  readonly plan?: string | null;
}

/** Organizations with keys, and their plans. */
export interface Organizations {
  list(): Promise<readonly Organization[]>;
  /** `limit` of them in the order of their ids, after the id `after`; null: from the first. */
  page(range: { readonly after: string | null; readonly limit: number }): Promise<readonly Organization[]>;
  find(id: string): Promise<Organization | null>;
  /** Its id; null where that is taken. */
  create(organization: NewOrganization): Promise<string | null>;
  /** Gives an organization another id, which its keys follow. */
  rename(id: string, to: string): Promise<"renamed" | "taken" | "unknown">;
  /** False where there is no such organization. */
  setName(id: string, name: string): Promise<boolean>;
  /**
   * Gives an organization a plan; null: none. False where there is no such organization, and for none where it has members: without
   * a plan the keys that they make would open all of their tier.
   */
  setPlan(id: string, plan: string | null): Promise<boolean>;
  /** Gives an organization figures of its own; null: the plan's. False where there is no such organization. */
  setFigures(id: string, figures: OwnFigures): Promise<boolean>;
}

/** The columns of an organization's own figures. */
const FIGURE_COLUMNS: Readonly<Record<keyof OwnFigures, string>> = {
  requestsPerMinute: "requests_per_minute",
  requests: "month_requests",
  rows: "month_rows",
  bytes: "month_bytes",
  keys: "max_keys",
  members: "max_members",
};
const FIGURES = Object.entries(FIGURE_COLUMNS);

/** An organization's own figures as JSON. */
export const OWN_FIGURES_JSON = `pg_catalog.json_build_object(${FIGURES.map(([name, column]) => `'${name}', ${column}`).join(", ")})`;

/** 96 bits: nobody guesses the id of another organization. */
const ID_BYTES = 12;

/** The organizations of a key database. `actor`: who changes them, for the audit log. */
export function organizationsIn(tables: Statements, actor: string): Organizations {
  return {
    list: () => tables.run<Organization>([LIST], [null, null, null]),
    page: (range) => tables.run<Organization>([LIST], [null, range.after, range.limit]),
    async find(id) {
      const [found] = await tables.run<Organization>([LIST], [id, null, 1]);
      return found ?? null;
    },
    async create({ id, name = "", plan = null }) {
      const values = { actor, id: id ?? randomId(), name, plan };
      const [made] = await tables.run<{ readonly id: string }>([CREATE], [JSON.stringify(values)]);
      return made?.id ?? null;
    },
    async rename(id, to) {
      try {
        const moved = await tables.run([MOVE], [JSON.stringify({ actor, id, to })]);
        return moved.length > 0 ? "renamed" : "unknown";
      } catch (error) {
        if ((error as { readonly code?: unknown }).code === UNIQUE_VIOLATION) return "taken";
        throw error;
      }
    },
    async setName(id, name) {
      return (await tables.run([SET_NAME], [JSON.stringify({ actor, id, name })])).length > 0;
    },
    async setPlan(id, plan) {
      return (await tables.run([LOCK_GIVEN, SET_PLAN], [JSON.stringify({ actor, id, plan })])).length > 0;
    },
    async setFigures(id, figures) {
      return (await tables.run([SET_FIGURES], [JSON.stringify({ actor, id, ...figures })])).length > 0;
    },
  };
}

/** Until the transaction ends nobody else changes it. */
export async function lockOrganization(tables: Statements, id: string): Promise<void> {
  await tables.run([LOCK], [id]);
}

/** Whether somebody may be invited to it and join it: without a plan the keys that they make would open all of their tier. It stays so until the transaction ends. */
export async function mayHaveMembers(tables: Statements, id: string): Promise<boolean> {
  await lockOrganization(tables, id);
  const found = await organizationsIn(tables, "").find(id);
  return found !== null && found.plan !== null;
}

const LOCK = "SELECT FROM routewright_keys.organizations WHERE id = $1 FOR NO KEY UPDATE";

const randomId = (): string => `org_${randomBytes(ID_BYTES).toString("hex")}`;

const UNIQUE_VIOLATION = "23505";

/** `$1`: one of them, `$2`: after this id, `$3`: so many; null: all. */
const LIST = `SELECT organizations.id, name, plan, ${timeText("organizations.created_at")} AS created,
    (SELECT count(*)::float8 FROM routewright_keys.members WHERE members.organization = organizations.id) AS members,
    count(digest) FILTER (WHERE revoked_at IS NULL)::float8 AS keys, ${OWN_FIGURES_JSON} AS own
  FROM routewright_keys.organizations LEFT JOIN routewright_keys.keys ON organization = organizations.id
  WHERE organizations.id = coalesce($1, organizations.id) AND ($2::text IS NULL OR organizations.id > $2)
  GROUP BY organizations.id ORDER BY organizations.id LIMIT $3::integer`;

const GIVEN = 'SELECT * FROM json_to_record($1) AS r(actor text, id text, "to" text, name text, plan text)';

/** No row where the id is taken. */
const CREATE = `WITH given AS (${GIVEN}), added AS (
  INSERT INTO routewright_keys.organizations (id, name, plan) SELECT id, name, plan FROM given
  ON CONFLICT DO NOTHING RETURNING id, plan
), noted AS (
  ${noted("plan", "(SELECT actor, 'organization' AS action, added.id AS organization, added.plan FROM given, added) AS change")}
)
SELECT id FROM added`;

const MOVE = `WITH given AS (${GIVEN}), moved AS (
  UPDATE routewright_keys.organizations SET id = "to" FROM given WHERE organizations.id = given.id RETURNING organizations.id
)
${noted("subject", "(SELECT actor, 'renamed' AS action, moved.id AS organization, given.id AS subject FROM given, moved) AS change")}
RETURNING id`;

const SET_NAME = `WITH given AS (${GIVEN}), named AS (
  UPDATE routewright_keys.organizations SET name = given.name FROM given WHERE organizations.id = given.id
  RETURNING organizations.id
)
${noted("subject", "(SELECT actor, 'named' AS action, named.id AS organization, NULL AS subject FROM given, named) AS change")}
RETURNING id`;

/** Who joins holds the lock: `SET_PLAN` sees them. */
const LOCK_GIVEN = `WITH given AS (${GIVEN})
  SELECT FROM routewright_keys.organizations JOIN given USING (id) FOR NO KEY UPDATE OF organizations`;

const SET_PLAN = `WITH given AS (${GIVEN}), changed AS (
  UPDATE routewright_keys.organizations SET plan = given.plan FROM given
  WHERE organizations.id = given.id AND (given.plan IS NOT NULL
    OR NOT EXISTS (SELECT FROM routewright_keys.members WHERE members.organization = given.id))
  RETURNING organizations.id, organizations.plan
)
${noted("plan", "(SELECT actor, 'plan' AS action, changed.id AS organization, changed.plan FROM given, changed) AS change")}
RETURNING id`;

const SET_FIGURES = `WITH given AS (
  SELECT * FROM json_to_record($1) AS r(actor text, id text, ${FIGURES.map(([name]) => `"${name}" bigint`).join(", ")})
), changed AS (
  UPDATE routewright_keys.organizations SET ${FIGURES.map(([name, column]) => `${column} = given."${name}"`).join(", ")}
  FROM given WHERE organizations.id = given.id
  RETURNING organizations.id
)
${noted("subject", "(SELECT actor, 'figures' AS action, changed.id AS organization, NULL AS subject FROM given, changed) AS change")}
RETURNING id`;
