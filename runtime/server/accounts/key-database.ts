import { type OwnTables } from "../../postgres/own-tables.js";
import { ALL_ORGS } from "../../core/request/keyring.js";
import { failed, type Outcome, succeeded } from "../../core/model/outcome.js";
import type { Plans } from "../../core/model/plan.js";
import {
  checkedOwner,
  endOf,
  idOf,
  type KeyOwner,
  type KeyStore,
  type NewKey,
  oneOf,
  type Organizations,
  randomKey,
  type Rotation,
  secondOf,
  type StoredKey,
  unlessExpired,
} from "./key-store.js";
import { organizationsIn } from "./organizations.js";
import { migrateKeys, storableTime } from "./schema.js";

const QUERY_TIMEOUT_MS = 60_000;

/** The keys in a database, for the command line. A database that fails rejects. */
export class KeyDatabase implements KeyStore {
  readonly name = "the database of KEYS_DATABASE_URL";
  readonly takesEffect = "Running servers know of it within 2 seconds.";
  readonly organizations: Organizations;
  readonly #tables: OwnTables;
  readonly #plans: Plans;

  private constructor(tables: OwnTables, plans: Plans) {
    this.#tables = tables;
    this.#plans = plans;
    this.organizations = organizationsIn(tables);
  }

  /** Brings the database to this version. `plans`: how many keys their organizations may have. */
  static async open(url: string, plans: Plans = {}): Promise<KeyDatabase> {
    await migrateKeys(url, true);
    const { OwnTables } = await import("../../postgres/own-tables.js");
    return new KeyDatabase(
      new OwnTables(url, { name: "routewright keys", queryTimeoutMs: QUERY_TIMEOUT_MS }),
      plans,
    );
  }

  async keys(): Promise<Outcome<ReadonlyMap<string, StoredKey>>> {
    const rows = await this.#tables.run<KeyRow>([KEYS], []);
    return succeeded(new Map(rows.map((row) => [row.digest, storedKey(row)])));
  }

  async create(owner: KeyOwner): Promise<Outcome<NewKey>> {
    const checked = checkedOwner(owner);
    if (!checked.ok) return checked;
    const { key, id, digest } = randomKey();
    const limits = Object.entries(this.#plans).flatMap(([plan, each]) =>
      each.keys === undefined ? [] : [[plan, each.keys] as const],
    );
    const added = await this.#insert("created", [[digest, owner]], Object.fromEntries(limits));
    return added > 0 ? succeeded({ key, id }) : failed(tooManyKeys(owner));
  }

  async rotate(id: string, keepSeconds: number): Promise<Outcome<Rotation>> {
    const found = await this.#find(id);
    if (!found.ok) return found;
    const [digest, stored] = found.value;
    const checked = unlessExpired(stored);
    if (!checked.ok) return checked;
    const made = randomKey();
    const [rotated] = await this.#tables.run<{ readonly until: string }>(
      [ROTATE],
      [JSON.stringify({ old: digest, digest: made.digest, keep: `${String(keepSeconds)} seconds` })],
    );
    if (rotated === undefined) return oneOf([], id, this) as Outcome<never>;
    return succeeded({ key: made.key, id: made.id, replaced: stored.id, until: rotated.until });
  }

  async revoke(id: string): Promise<Outcome<string>> {
    const found = await this.#find(id);
    if (!found.ok) return found;
    const [digest] = found.value;
    await this.#tables.run([REVOKE], [digest]);
    return succeeded(idOf(digest));
  }

  async add(keys: ReadonlyMap<string, StoredKey>): Promise<Outcome<number>> {
    return succeeded(await this.#insert("imported", [...keys]));
  }

  close(): Promise<void> {
    return this.#tables.close();
  }

  /**
   * The number of new ones: an entry that is there stays as it is. `limits`: numbers of keys by plan, where an organization may have
   * too many; null: all are kept.
   */
  async #insert(
    action: string,
    keys: readonly (readonly [string, KeyOwner & { readonly created?: string }])[],
    limits: Readonly<Record<string, number>> | null = null,
  ) {
    const given = keys.map(([digest, { tier, user, org, allowed, created, ...owner }]) => ({
      action,
      limits,
      digest,
      tier,
      user: storable(user),
      organization: org === "" || org === ALL_ORGS ? null : org,
      all: org === ALL_ORGS,
      allowed: allowed ?? null,
      created:
        storableTime(endOf({ tier, user, org, ...(created && { expires: created }) })) ??
        secondOf(new Date()),
      expires: storableTime(endOf({ tier, user, org, ...owner })),
    }));
    const added = await this.#tables.run(limits === null ? [INSERT] : [LOCK_ORGANIZATIONS, INSERT], [
      JSON.stringify(given),
    ]);
    return added.length;
  }

  async #find(id: string): Promise<Outcome<readonly [string, StoredKey]>> {
    const keys = await this.keys();
    if (!keys.ok) return keys;
    const match = oneOf([...keys.value.keys()], id, this);
    if (!match.ok) return match;
    return succeeded([match.value, keys.value.get(match.value) as StoredKey]);
  }
}

interface KeyRow {
  readonly digest: string;
  readonly tier: StoredKey["tier"];
  readonly user: string;
  readonly org: string;
  readonly created: string;
  readonly expires: string | null;
  readonly allowed: readonly string[] | null;
  readonly lastUsed: string | null;
}

function storedKey({ digest, tier, user, org, created, expires, allowed, lastUsed }: KeyRow): StoredKey {
  return {
    id: idOf(digest),
    tier,
    user,
    org,
    ...(expires && { expires }),
    ...(allowed && { allowed }),
    created,
    ...(lastUsed && { lastUsed }),
  };
}

/** PostgreSQL stores neither U+0000 nor lone surrogates. */
function storable(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

const timeText = (time: string): string =>
  `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

const KEYS = `SELECT digest, tier, user_name AS "user", ${timeText("created_at")} AS created, ${timeText("expires_at")} AS expires, allowed,
    CASE WHEN all_organizations THEN '${ALL_ORGS}' ELSE coalesce(organization, '') END AS org,
    to_char(last_uses.day, 'YYYY-MM-DD') AS "lastUsed"
  FROM routewright_keys.keys LEFT JOIN routewright_keys.last_uses USING (id)
  WHERE revoked_at IS NULL ORDER BY created_at, digest`;

const AUDIT = `INSERT INTO routewright_keys.audit (actor, action, key, organization)`;

/** Two keys that are created at once are not both the last one. */
const LOCK_ORGANIZATIONS = `SELECT FROM json_to_recordset($1) AS r(organization text) JOIN routewright_keys.organizations
  ON organizations.id = organization ORDER BY organization FOR UPDATE OF organizations`;

/** Neither expired nor replaced by a rotation. */
const COUNTED_KEYS = `SELECT count(*) FROM routewright_keys.keys WHERE keys.organization = organizations.id
    AND revoked_at IS NULL AND coalesce(expires_at > now(), true)
    AND NOT EXISTS (SELECT FROM routewright_keys.keys later WHERE later.replaces = keys.id AND later.revoked_at IS NULL)`;

const INSERT = `WITH given AS (
  SELECT r.* FROM json_to_recordset($1) AS r(action text, digest text, tier text, "user" text, organization text, "all" boolean,
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
  RETURNING digest, id, organization
)
${AUDIT} SELECT 'command', action, id, added.organization FROM added JOIN given USING (digest) RETURNING key`;

function tooManyKeys({ org }: KeyOwner): string {
  return `${org} has as many keys as it may have: revoke one, give it a plan with more, or raise its own number with \`routewright keys limits\`.`;
}

/** No row where another command has revoked the key meanwhile. */
const ROTATE = `WITH given AS (
  SELECT * FROM json_to_record($1) AS r(old text, digest text, keep interval)
), replaced AS (
  UPDATE routewright_keys.keys SET expires_at = least(expires_at, now() + keep) FROM given
  WHERE keys.digest = given.old AND revoked_at IS NULL
  RETURNING keys.*
), added AS (
  INSERT INTO routewright_keys.keys
    (digest, organization, all_organizations, user_name, tier, allowed, expires_at, replaces)
  SELECT given.digest, organization, all_organizations, user_name, tier, allowed, before.expires_at, before.id
  FROM given, routewright_keys.keys before
  WHERE before.digest = given.old AND EXISTS (SELECT FROM replaced)
), noted AS (
  ${AUDIT} SELECT 'command', 'rotated', id, organization FROM replaced
)
SELECT ${timeText("expires_at")} AS until FROM replaced`;

const REVOKE = `WITH revoked AS (
  UPDATE routewright_keys.keys SET revoked_at = now() WHERE digest = $1 AND revoked_at IS NULL RETURNING id, organization
)
${AUDIT} SELECT 'command', 'revoked', id, organization FROM revoked`;
