import type { Statements } from "../../postgres/own-tables.js";
import { ALL_ORGS } from "../../core/request/keyring.js";
import { failed, type Outcome, succeeded } from "../../core/model/outcome.js";
import type { Plans } from "../../core/model/organization-plan.js";
import {
  checkedOwner,
  endOf,
  idOf,
  type KeyOwner,
  type KeyStore,
  type NewKey,
  oneOf,
  randomKey,
  type Rotation,
  secondOf,
  type StoredKey,
  unlessExpired,
} from "./key-store.js";
import {
  INSERT,
  LOCK_KEY,
  LOCK_ORGANIZATION_OF_KEY,
  LOCK_ORGANIZATIONS,
  KEYS,
  KEYS_BY_ID,
  KEYS_PAGE,
  REVOKE,
  ROTATE,
} from "./key-statements.js";
import { type Organizations, organizationsIn } from "./organizations.js";
import { migrateKeys, storableTime } from "./schema.js";

const QUERY_TIMEOUT_MS = 60_000;

/** Who changes something at the command line. */
const COMMAND = "command";

/** Some keys, in the order in which they were stored. */
export interface KeyRange {
  /** Of one organization; null: of all. */
  readonly organization: string | null;
  /** Id of the last one before; null: from the first. */
  readonly after: string | null;
  readonly limit: number;
}

/** The keys in a database. A database that fails rejects. */
export class KeyDatabase implements KeyStore {
  readonly name = "the database of KEYS_DATABASE_URL";
  readonly takesEffect = "Running servers know of it within 2 seconds.";
  readonly organizations: Organizations;
  readonly #tables: Statements;
  readonly #actor: string;
  readonly #plans: Plans;

  /** `actor`: who changes them, for the audit log. `plans`: how many keys their organizations may have. */
  constructor(tables: Statements, actor: string, plans: Plans = {}) {
    this.#tables = tables;
    this.#actor = actor;
    this.#plans = plans;
    this.organizations = organizationsIn(tables, actor);
  }

  /** For the command line. Brings the database to this version. */
  static async open(url: string, plans: Plans = {}): Promise<KeyDatabase> {
    await migrateKeys(url, true);
    const { OwnTables } = await import("../../postgres/own-tables.js");
    const options = { name: "routewright keys", queryTimeoutMs: QUERY_TIMEOUT_MS };
    return new KeyDatabase(new OwnTables(url, options), COMMAND, plans);
  }

  async keys(): Promise<Outcome<ReadonlyMap<string, StoredKey>>> {
    const rows = await this.#tables.run<ListedKeyRow>([KEYS], []);
    return succeeded(new Map(rows.map((row) => [row.digest, storedKey(row)])));
  }

  /** A page of them. */
  async page(range: KeyRange): Promise<readonly StoredKey[]> {
    const rows = await this.#tables.run<ListedKeyRow>([KEYS_PAGE], [JSON.stringify(range)]);
    return rows.map(storedKey);
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

  /** The key of an organization with this id. */
  async keyOf(organization: string, id: string): Promise<Outcome<StoredKey>> {
    const found = await this.#find(id, organization);
    return found.ok ? succeeded(found.value[1]) : found;
  }

  /** `organization`: whose key it must be; null: any. */
  async rotate(
    id: string,
    keepSeconds: number,
    organization: string | null = null,
  ): Promise<Outcome<Rotation>> {
    const found = await this.#find(id, organization);
    if (!found.ok) return found;
    const [digest, stored] = found.value;
    const checked = unlessExpired(stored);
    if (!checked.ok) return checked;
    const made = randomKey();
    const [rotated] = await this.#tables.run<{ readonly until: string }>(
      [LOCK_ORGANIZATION_OF_KEY, LOCK_KEY, ROTATE],
      [
        JSON.stringify({
          actor: this.#actor,
          old: digest,
          digest: made.digest,
          keep: `${String(keepSeconds)} seconds`,
        }),
      ],
    );
    if (rotated === undefined)
      return failed(`The key ${id} is replaced or revoked already: see the list of keys.`);
    return succeeded({ key: made.key, id: made.id, replaced: stored.id, until: rotated.until });
  }

  /** `organization`: whose key it must be; null: any. */
  async revoke(id: string, organization: string | null = null): Promise<Outcome<string>> {
    const found = await this.#find(id, organization);
    if (!found.ok) return found;
    const [digest] = found.value;
    const given = JSON.stringify({ actor: this.#actor, old: digest });
    await this.#tables.run([LOCK_ORGANIZATION_OF_KEY, LOCK_KEY, REVOKE], [given]);
    return succeeded(idOf(digest));
  }

  async add(keys: ReadonlyMap<string, StoredKey>): Promise<Outcome<number>> {
    return succeeded(await this.#insert("imported", [...keys]));
  }

  close(): Promise<void> {
    return this.#tables.close?.() ?? Promise.resolve();
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
      actor: this.#actor,
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

  async #find(id: string, organization: string | null): Promise<Outcome<readonly [string, StoredKey]>> {
    const rows = await this.#tables.run<ListedKeyRow>([KEYS_BY_ID], [id, organization]);
    const keys = new Map(rows.map((row) => [row.digest, row]));
    const match = oneOf([...keys.keys()], id, this);
    return match.ok ? succeeded([match.value, storedKey(keys.get(match.value) as ListedKeyRow)]) : match;
  }
}

function tooManyKeys({ org }: KeyOwner): string {
  return `${org} has as many keys as it may have: revoke one, give it a plan with more, or raise its own number with \`routewright keys limits\`.`;
}

interface ListedKeyRow {
  readonly digest: string;
  readonly tier: StoredKey["tier"];
  readonly user: string;
  readonly org: string;
  readonly created: string;
  readonly expires: string | null;
  readonly allowed: readonly string[] | null;
  readonly lastUsed: string | null;
}

function storedKey({
  digest,
  tier,
  user,
  org,
  created,
  expires,
  allowed,
  lastUsed,
}: ListedKeyRow): StoredKey {
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
