import type { OwnTables } from "../../postgres/own-tables.js";
import type { Organization, Organizations } from "./key-store.js";

/** The organizations of a key database. */
export function organizationsIn(tables: OwnTables): Organizations {
  return {
    list: () => tables.run<Organization>([LIST], []),
    async setPlan(id, plan) {
      const changed = await tables.run([SET_PLAN], [JSON.stringify({ id, plan })]);
      return changed.length > 0;
    },
  };
}

const LIST = `SELECT organizations.id, plan, count(digest) FILTER (WHERE revoked_at IS NULL)::float8 AS keys
  FROM routewright_keys.organizations LEFT JOIN routewright_keys.keys ON organization = organizations.id
  GROUP BY organizations.id ORDER BY organizations.id`;

const SET_PLAN = `WITH given AS (
  SELECT * FROM json_to_record($1) AS r(id text, plan text)
), changed AS (
  UPDATE routewright_keys.organizations SET plan = given.plan FROM given WHERE organizations.id = given.id
  RETURNING organizations.id, organizations.plan
)
INSERT INTO routewright_keys.audit (actor, action, organization, plan)
SELECT 'command', 'plan', id, plan FROM changed RETURNING id`;
