import type { OwnTables } from "../../postgres/own-tables.js";
import type { OwnFigures } from "../../core/model/plan.js";
import type { Organization, Organizations } from "./key-store.js";

/** The organizations of a key database. */
export function organizationsIn(tables: OwnTables): Organizations {
  return {
    list: () => tables.run<Organization>([LIST], []),
    async setPlan(id, plan) {
      const changed = await tables.run([SET_PLAN], [JSON.stringify({ id, plan })]);
      return changed.length > 0;
    },
    async setFigures(id, figures) {
      const changed = await tables.run([SET_FIGURES], [JSON.stringify({ id, ...figures })]);
      return changed.length > 0;
    },
  };
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

const LIST = `SELECT organizations.id, plan, count(digest) FILTER (WHERE revoked_at IS NULL)::float8 AS keys, ${OWN_FIGURES_JSON} AS own
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

const SET_FIGURES = `WITH given AS (
  SELECT * FROM json_to_record($1) AS r(id text, ${FIGURES.map(([name]) => `"${name}" bigint`).join(", ")})
), changed AS (
  UPDATE routewright_keys.organizations SET ${FIGURES.map(([name, column]) => `${column} = given."${name}"`).join(", ")}
  FROM given WHERE organizations.id = given.id
  RETURNING organizations.id
)
INSERT INTO routewright_keys.audit (actor, action, organization)
SELECT 'command', 'figures', id FROM changed RETURNING id`;
