import { performance } from "node:perf_hooks";
import type pg from "pg";
import type { PostgresClient } from "../../postgres/connection/postgres-client.js";
import type { Logger } from "../../core/http/logger.js";
import type { ApiKey } from "../../core/model/caller.js";
import { messageOf } from "../../core/model/outcome.js";
import { ownValue } from "../../core/model/own-value.js";
import {
  figuresOf,
  type OrganizationPlan,
  type OwnFigures,
  type Plans,
  withPlan,
} from "../../core/model/organization-plan.js";
import type { Tier } from "../../core/model/tier.js";
import type { StoredKeys } from "../../core/request/keyring.js";
import { OWN_FIGURES_JSON } from "./organizations.js";
import { LAST_TIME, migrateKeys } from "./schema.js";
import type { UseReports } from "./use-reports.js";

/** How often the database is asked for changes, beside its notifications: a pooler can lose these. */
const CHECK_MS = 1000;
/** A change is to be known, or the database to be missed, within 2 s. */
const QUERY_TIMEOUT_MS = 1000;
/** All keys at once: 100,000 take 0.7 s of a busy machine. */
const READ_TIMEOUT_MS = 30_000;
/** How often last uses are written, in checks. A killed process loses those of its last interval. */
const CHECKS_PER_WRITE = 60;
const DAY_MS = 86_400_000;

export interface StoredKeysOptions {
  /** A `postgres://` address. */
  readonly databaseUrl: string;
  /** How long keys stay valid while the database is away. */
  readonly staleSeconds: number;
  /** Of the release that is served first. */
  readonly plans: Plans;
  /** Where the use of organizations is counted. Default: nowhere. */
  readonly reports?: UseReports;
  readonly log: Logger;
}

interface StoredKeyEntry {
  readonly row: KeyRow;
  /** With the plan of its organization. Null: revoked. */
  owner: ApiKey | null;
  /** Day since 1970 on which this process last saw it. */
  usedOn: number;
}

/** The keys of a database, all of them in memory, and kept up to date. Says which were used. */
export class StoredKeyReader implements StoredKeys {
  readonly #options: StoredKeysOptions;
  /** By hash. Bounded by the keys of the database. */
  #entries = new Map<string, StoredKeyEntry>();
  #revision = -1;
  #removals = -1;
  #client: PostgresClient | null = null;
  #checking: Promise<void> | null = null;
  #isChanged = false;
  #isAway = true;
  #readAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Ids of keys whose use today is to be written. Bounded by the keys. */
  readonly #used = new Set<string>();
  #today = today();
  #plans: Plans;
  #warnedOf = "";
  #isUseUnwritten = false;
  #checks = 0;

  private constructor(options: StoredKeysOptions) {
    this.#options = options;
    this.#plans = options.plans;
  }

  /** Reads all keys. Where the database is away it goes on without, and tries again; rejects where it refuses. */
  static async open(options: StoredKeysOptions): Promise<StoredKeyReader> {
    const reader = new StoredKeyReader(options);
    try {
      await reader.#read();
    } catch (error) {
      reader.#drop();
      if (!isAway(error)) throw new Error(`KEYS_DATABASE_URL: ${messageOf(error)}`, { cause: error });
      options.log.error({ err: error }, NEVER_READ);
    }
    reader.#timer = setInterval(() => void reader.check(), CHECK_MS).unref();
    return reader;
  }

  get(digest: string): ApiKey | null | undefined {
    const entry = this.#entries.get(digest);
    if (entry?.owner && entry.usedOn !== this.#today) {
      entry.usedOn = this.#today;
      this.#used.add(entry.owner.id);
    }
    return entry?.owner;
  }

  get state(): "current" | "away" | "stale" {
    if (!this.#isAway) return "current";
    return performance.now() - this.#readAt > this.#options.staleSeconds * 1000 ? "stale" : "away";
  }

  /** Why keys may be out of date, as a sentence for `/health`; null while they are not. */
  get degraded(): string | null {
    if (this.#isAway) return "The database of the keys is unreachable: new keys are refused.";
    return this.#options.reports?.degraded ?? null;
  }

  /** The number of keys, revoked ones too. */
  get size(): number {
    return this.#entries.size;
  }

  get plans(): Plans {
    return this.#plans;
  }

  /** The plans of the release that is served from now on. */
  setPlans(plans: Plans): void {
    this.#plans = plans;
    for (const entry of this.#entries.values()) entry.owner = this.#ownerOf(entry.row);
    this.#warnOfPlans();
  }

  /** Reads what has changed. Never rejects. */
  async check(): Promise<void> {
    if (this.#isClosed) return;
    this.#today = today();
    this.#isChanged = this.#checking !== null;
    this.#checking ??= this.#checkNow().finally(() => {
      this.#checking = null;
      if (this.#isChanged && !this.#isAway) void this.check();
    });
    await this.#checking;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#checking;
    await this.#writeUses().catch(() => undefined);
    await this.#options.reports?.close();
    this.#drop();
  }

  async #checkNow(): Promise<void> {
    const { log, staleSeconds } = this.#options;
    const wasAway = this.#isAway;
    try {
      await this.#read();
      if (++this.#checks % CHECKS_PER_WRITE === 0) await this.#writeUses();
      if (wasAway) log.info({ keys: this.size }, "the keys are read from the database again");
    } catch (error) {
      this.#drop();
      if (!wasAway) log.error({ err: error, staleSeconds }, LOST);
    }
  }

  /** What has changed, or all of it after a connection was lost. */
  async #read(): Promise<void> {
    const isNew = this.#client === null;
    const client = (this.#client ??= await this.#connect());
    const [state] = (await client.query<KeyRevision>(STATE)).rows;
    if (state === undefined) throw new Error("routewright_keys.state has no row");
    const [revision, removals] = [Number(state.revision), Number(state.removals)];
    // A new connection may lead to another state: a standby that took over, or a backup. Revisions may count from before.
    const isWhole = isNew || removals !== this.#removals || revision < this.#revision;
    if (isWhole || revision !== this.#revision) {
      const { rows } = await client.query<KeyRow>(changedSince(isWhole ? -1 : this.#revision));
      const entries = isWhole ? new Map<string, StoredKeyEntry>() : this.#entries;
      for (const row of rows) entries.set(row.digest, { row, owner: this.#ownerOf(row), usedOn: -1 });
      this.#entries = entries;
      this.#warnOfPlans();
      [this.#revision, this.#removals] = [revision, removals];
    }
    this.#readAt = performance.now();
    this.#isAway = false;
  }

  /** A plan that is not served opens only what everybody may call. */
  #ownerOf(row: KeyRow): ApiKey | null {
    if (row.isRevoked) return null;
    const { id, user, tier, org, allowed, plan, number, own } = row;
    // A later one that SQL wrote is none that JavaScript can print.
    const expiresAt = row.expiresAt === null ? null : Math.min(row.expiresAt, LAST_TIME);
    const key = { id, user: user || id, tier, org, expiresAt, allowed };
    const planned = plan === null ? null : (ownValue(this.#plans, plan) ?? NO_PLAN);
    const { requestsPerMinute, ...figures } = figuresOf(planned ?? {}, own);
    const use = number === null ? undefined : this.#options.reports?.shareOf(number, figures);
    return {
      ...(planned === null ? key : withPlan(key, planned)),
      ...(requestsPerMinute !== undefined && { requestsPerMinute }),
      ...(use && { use }),
    };
  }

  #warnOfPlans(): void {
    const named = [...this.#entries.values()].map(({ row }) => row.plan);
    const unknown = [...new Set(named)].filter((plan) => plan !== null && !Object.hasOwn(this.#plans, plan));
    const text = unknown.sort().join(", ");
    if (text !== "" && text !== this.#warnedOf) this.#options.log.error({ plans: text }, UNKNOWN_PLANS);
    this.#warnedOf = text;
  }

  async #connect(): Promise<PostgresClient> {
    const { databaseUrl } = this.#options;
    if (this.#readAt === -Infinity) await migrateKeys(databaseUrl);
    const { PostgresClient } = await import("../../postgres/connection/postgres-client.js");
    const client = new PostgresClient({
      connectionString: databaseUrl,
      connectionTimeoutMillis: QUERY_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      application_name: "routewright keys",
    });
    try {
      await client.connect();
      client.on("notification", () => void this.check());
      client.on("end", () => void (this.#client === client && !this.#isClosed && this.check()));
      await client.query("LISTEN routewright_keys");
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
    return client;
  }

  #drop(): void {
    this.#isAway = true;
    const client = this.#client;
    this.#client = null;
    client?.end().catch(() => undefined);
  }

  async #writeUses(): Promise<void> {
    const ids = [...this.#used];
    if (ids.length === 0 || this.#client === null) return;
    try {
      await this.#client.query(WRITE_USES, [ids.sort()]);
    } catch (error) {
      // The database answers, so what it says of keys counts: a role may not write, or a standby took over.
      if (!hasRefused(error)) throw error;
      if (!this.#isUseUnwritten) this.#options.log.error({ err: error }, USES_REFUSED);
      this.#isUseUnwritten = true;
      return;
    }
    this.#isUseUnwritten = false;
    for (const id of ids) this.#used.delete(id);
  }
}

const LOST =
  "the database of the keys is away: known keys stay valid for a time (KEYS_STALE_SECONDS), new ones are refused";
const NO_PLAN: OrganizationPlan = { tier: "tier0" };
const UNKNOWN_PLANS =
  "organizations have plans that the catalogue does not have: their keys open tier0 only; give them others with `routewright keys plan`";
const USES_REFUSED =
  "the days of last uses are not written: give the role INSERT and UPDATE on routewright_keys.last_uses";
const NEVER_READ = "the database of the keys is away: its keys are refused until it can be read";

const today = (): number => Math.floor(Date.now() / DAY_MS);

/** Whether a try later can do: anything but a wrong address, a missing right and a missing package. */
function isAway(error: unknown): boolean {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  return cause === undefined && !/^(28|3D|3F|42|25006)/.test(String(code));
}

/** A refusal of the statement; the connection stays. */
function hasRefused(error: unknown): boolean {
  return /^(25|42)/.test(String((error as { readonly code?: unknown }).code));
}

interface KeyRevision {
  readonly revision: string;
  readonly removals: string;
}

const STATE = "SELECT revision, removals FROM routewright_keys.state";

interface KeyRow {
  readonly digest: string;
  readonly id: string;
  readonly user: string;
  readonly tier: Tier;
  readonly org: string;
  readonly expiresAt: number | null;
  readonly allowed: readonly string[] | null;
  readonly isRevoked: boolean;
  readonly plan: string | null;
  /** Of its organization; null without one. */
  readonly number: number | null;
  readonly own: Partial<OwnFigures>;
}

/** `allowed` is a flat list without null, also where SQL wrote another. Up to the revision that was read before: what was written meanwhile is read again, and that changes nothing. */
const CHANGED = `SELECT digest, keys.id, user_name AS "user", tier, revoked_at IS NOT NULL AS "isRevoked", plan,
    number::pg_catalog.float8 AS number, ${OWN_FIGURES_JSON} AS own,
    CASE WHEN allowed IS NOT NULL THEN ARRAY(SELECT each FROM pg_catalog.unnest(allowed) AS each WHERE each IS NOT NULL) END AS allowed,
    CASE WHEN all_organizations THEN '*' ELSE coalesce(organization, '') END AS org,
    pg_catalog.date_part('epoch', expires_at) OPERATOR(pg_catalog.*) 1000 AS "expiresAt"
  FROM routewright_keys.keys LEFT JOIN routewright_keys.organizations ON organizations.id OPERATOR(pg_catalog.=) organization
  WHERE revision OPERATOR(pg_catalog.>) $1`;

/** `pg` takes the time of one query, which its types leave out. */
function changedSince(revision: number): pg.QueryConfig {
  const config: pg.QueryConfig & { query_timeout: number } = {
    text: CHANGED,
    values: [revision],
    query_timeout: READ_TIMEOUT_MS,
  };
  return config;
}

/** The day of the database, so that servers agree. Sorted, so that two servers that write the same keys cannot deadlock. */
const WRITE_USES = `INSERT INTO routewright_keys.last_uses AS known (id, day)
  SELECT id, (pg_catalog.now() AT TIME ZONE 'UTC')::pg_catalog.date FROM pg_catalog.unnest($1::pg_catalog.text[]) AS id
  ON CONFLICT (id) DO UPDATE SET day = excluded.day WHERE known.day OPERATOR(pg_catalog.<) excluded.day`;
