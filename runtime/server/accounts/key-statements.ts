import { ALL_ORGS } from "../../core/request/keyring.js";
import { noted } from "./changes.js";

/** A time as RFC 3339 in UTC, to the second. */
export const timeText = (time: string): string =>
  `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** Keys that are not revoked. */
const SELECT = `SELECT digest, tier, user_name AS "user", ${timeText("created_at")} AS created, ${timeText("expires_at")} AS expires, allowed,
    CASE WHEN all_organizations THEN '${ALL_ORGS}' ELSE coalesce(organization, '') END AS org,
    to_char(last_uses.day, 'YYYY-MM-DD') AS "lastUsed"
  FROM routewright_keys.keys LEFT JOIN routewright_keys.last_uses USING (id)
  WHERE revoked_at IS NULL`;

const IN_ORDER = "ORDER BY created_at, digest";

export const KEYS = `${SELECT} ${IN_ORDER}`;

/** Those whose id begins with `$1`, of the organization `$2`, or of any where it is null. */
export const KEYS_BY_ID = `${SELECT} AND starts_with(keys.id, $1) AND organization IS NOT DISTINCT FROM coalesce($2, organization)
  ${IN_ORDER}`;

/** `limit` of them after the one with the id `after`, of the organization or of all. */
export const KEYS_PAGE = `WITH given AS (
  SELECT * FROM json_to_record($1) AS r(organization text, after text, "limit" integer)
)
${SELECT} AND organization IS NOT DISTINCT FROM coalesce((SELECT organization FROM given), organization)
  AND ((SELECT after FROM given) IS NULL OR (created_at, digest) > (
    SELECT last.created_at, last.digest FROM routewright_keys.keys last WHERE last.id = (SELECT after FROM given)
    ORDER BY last.digest LIMIT 1))
  ${IN_ORDER} LIMIT (SELECT "limit" FROM given)`;

/** Two keys that are created at once are not both the last one. What refers to an organization does not wait: `keys import` holds other locks then. */
export const LOCK_ORGANIZATIONS = `SELECT FROM json_to_recordset($1) AS r(organization text) JOIN routewright_keys.organizations
  ON organizations.id = organization ORDER BY organization FOR NO KEY UPDATE OF organizations`;

/** The same for the organization of one key, `old`: its organization is locked before it, as by what gives an organization another id. */
export const LOCK_ORGANIZATION_OF_KEY = `SELECT FROM json_to_record($1) AS r(old text) JOIN routewright_keys.keys ON digest = old
  JOIN routewright_keys.organizations ON organizations.id = organization FOR NO KEY UPDATE OF organizations`;

/** After its organization: a key of none has nothing else that two commands could wait for. */
export const LOCK_KEY = `SELECT FROM json_to_record($1) AS r(old text) JOIN routewright_keys.keys ON digest = old FOR NO KEY UPDATE OF keys`;

/** A key that has been replaced once is not replaced again: each time would leave one more. */
const NOT_REPLACED = `NOT EXISTS (SELECT FROM routewright_keys.keys later WHERE later.replaces = keys.id AND later.revoked_at IS NULL)`;

/** Neither expired nor replaced by a rotation. What is replaced is read once: looked up for each key, 2,500 keys took a second. */
const COUNTED_KEYS = `SELECT count(*) FROM routewright_keys.keys WHERE keys.organization = organizations.id
    AND revoked_at IS NULL AND coalesce(expires_at > now(), true)
    AND id NOT IN (SELECT later.replaces FROM routewright_keys.keys later WHERE later.replaces IS NOT NULL AND later.revoked_at IS NULL)`;

export const INSERT = `WITH given AS (
  SELECT r.* FROM json_to_recordset($1) AS r(actor text, action text, digest text, tier text, "user" text, organization text, "all" boolean,
    allowed text[], created timestamptz, expires timestamptz, limits json)
  LEFT JOIN routewright_keys.organizations ON organizations.id = r.organization
  WHERE limits IS NULL OR coalesce(coalesce(max_keys, (limits ->> plan)::integer) > (${COUNTED_KEYS}), true)
), organizations AS (
  INSERT INTO routewright_keys.organizations (id)
  SELECT DISTINCT organization FROM given WHERE organization IS NOT NULL ORDER BY organization
  ON CONFLICT DO NOTHING
), added AS (
  INSERT INTO routewright_keys.keys
    (digest, organization, all_organizations, user_name, tier, allowed, created_at, expires_at)
  SELECT digest, organization, "all", "user", tier, allowed, created, expires FROM given
  ON CONFLICT DO NOTHING
  RETURNING digest, id AS key, organization
)
${noted("key", "(SELECT actor, action, key, added.organization FROM added JOIN given USING (digest)) AS change")} RETURNING key`;

/** No row where the key was replaced before, or is revoked meanwhile. */
export const ROTATE = `WITH given AS (
  SELECT * FROM json_to_record($1) AS r(actor text, old text, digest text, keep interval)
), replaced AS (
  UPDATE routewright_keys.keys SET expires_at = least(expires_at, now() + keep) FROM given
  WHERE keys.digest = given.old AND revoked_at IS NULL AND ${NOT_REPLACED}
  RETURNING keys.*
), added AS (
  INSERT INTO routewright_keys.keys
    (digest, organization, all_organizations, user_name, tier, allowed, expires_at, replaces)
  SELECT given.digest, organization, all_organizations, user_name, tier, allowed, before.expires_at, before.id
  FROM given, routewright_keys.keys before
  WHERE before.digest = given.old AND EXISTS (SELECT FROM replaced)
), noted AS (
  ${noted("key", "(SELECT actor, 'rotated' AS action, id AS key, organization FROM given, replaced) AS change")}
)
SELECT ${timeText("expires_at")} AS until FROM replaced`;

/** What replaced the key replaces what the key had replaced: otherwise that would count again beside it. */
export const REVOKE = `WITH given AS (SELECT * FROM json_to_record($1) AS r(actor text, old text)), revoked AS (
  UPDATE routewright_keys.keys SET revoked_at = now() FROM given WHERE digest = given.old AND revoked_at IS NULL
  RETURNING id, organization, replaces
), linked AS (
  UPDATE routewright_keys.keys later SET replaces = revoked.replaces FROM revoked WHERE later.replaces = revoked.id
)
${noted("key", "(SELECT actor, 'revoked' AS action, id AS key, organization FROM given, revoked) AS change")}`;
