import { IntervalJob } from "@routewright/runtime/internal/core/http/claim-worker.js";
import type { PercentText } from "../accounts/amount.js";
import type { CoreContext } from "../core/context.js";
import { isProviderSchema } from "../core/json-schema.js";
import { type ProjectId, projectId } from "../database/id.js";
import { OF_PROJECT, ofProject, type ProjectTransaction } from "../database/transaction.js";
import type { CallPolicy } from "./call-policy.js";
import { HttpProvider, type Provider, reasonOf } from "./provider.js";
import type { RampMetrics } from "../core/ramp-metrics.js";
import type { Capabilities } from "./protocol.js";

/** A project's connection to a provider. Its credentials decide between live and sandbox. */
export interface ProviderConnection {
  readonly projectId: ProjectId;
  readonly id: string;
  readonly code: string;
  /** Version of address and credentials: an intent keeps the one that it was created with. */
  readonly version: number;
  readonly capabilities: Capabilities;
  readonly provider: Provider;
  readonly callbackUrl: string;
  /** How far, in percent, the received amount may be from a held price: the project's setting. */
  readonly amountTolerance: PercentText;
  /** What is wrong with its offers; null: nothing is. */
  readonly attention: string | null;
}

/** All versions of a connection are read; one of them is in use for new intents. */
type VersionedConnection = ProviderConnection & { readonly isCurrent: boolean; readonly enabled: boolean };

interface ConnectionRow extends Omit<VersionedConnection, "provider" | "callbackUrl"> {
  readonly url: string;
  readonly keyId: string;
  readonly secret: Buffer;
}

/** Connections are cached for this long: a change by command takes effect after it. */
const FRESH_MS = 5_000;

/** What an intent keeps of its connection. */
interface ConnectionOfIntent {
  readonly projectId: ProjectId;
  readonly connectionId: string;
  readonly connectionVersion: number;
}

interface CachedConnections {
  readonly readAt: number;
  readonly connections: Promise<readonly VersionedConnection[]>;
}

interface ProvidersOptions extends Pick<CoreContext, "database" | "vault" | "publicUrl"> {
  readonly calls?: CallPolicy | undefined;
  readonly metrics?: RampMetrics;
}

/** The connections of projects. A provider's client, and its circuit breaker, live as long as its credentials. */
export class Providers {
  readonly #options: ProvidersOptions;
  /** Bounded by the projects. */
  readonly #cache = new Map<ProjectId, CachedConnections>();
  /** Bounded by the projects and the credentials that operators have set. */
  readonly #clients = new Map<string, Provider>();

  constructor(options: ProvidersOptions) {
    this.#options = options;
  }

  /** The enabled connections, by code. */
  async list(projectId: ProjectId): Promise<readonly ProviderConnection[]> {
    return (await this.#read(projectId)).filter(({ enabled, isCurrent }) => enabled && isCurrent);
  }

  /** The connection of an intent, disabled or replaced ones included. */
  async get({ projectId, connectionId, connectionVersion }: ConnectionOfIntent): Promise<ProviderConnection> {
    const find = (all: readonly VersionedConnection[]): ProviderConnection | undefined =>
      all.find(({ id, version }) => id === connectionId && version === connectionVersion);
    // Another process may have created the intent with a version that is not cached here.
    const found = find(await this.#read(projectId)) ?? find(await this.#read(projectId, 0));
    if (!found) throw new Error(`The provider connection ${connectionId} does not exist.`);
    return found;
  }

  /** All versions of a connection. */
  async versions(projectId: ProjectId, id: string): Promise<readonly ProviderConnection[]> {
    return (await this.#read(projectId)).filter((connection) => connection.id === id);
  }

  /** Records what is wrong with an offer of the connection, or that one is right again. */
  async noteOffer({ projectId, id, attention }: ProviderConnection, problem: string | null): Promise<void> {
    if (problem === attention) return;
    await this.#options.database
      .of(projectId)
      .rows(`UPDATE ramp.provider_connections SET attention = $2 WHERE ${OF_PROJECT} AND id = $1`, [
        id,
        problem,
      ]);
    this.#cache.delete(projectId);
  }

  #read(projectId: ProjectId, freshMs = FRESH_MS): CachedConnections["connections"] {
    const cached = this.#cache.get(projectId);
    if (cached && performance.now() - cached.readAt < freshMs) return cached.connections;
    const connections = this.#options.database
      .inProject(projectId, readConnections)
      .then((rows) => rows.map((row) => this.#connectionOf(projectId, row)));
    this.#cache.set(projectId, { readAt: performance.now(), connections });
    // A project without providers is being set up: not cached.
    connections.then(
      ({ length }) => length > 0 || this.#cache.delete(projectId),
      () => this.#cache.delete(projectId),
    );
    return connections;
  }

  #connectionOf(projectId: ProjectId, row: ConnectionRow): VersionedConnection {
    const callbackUrl = `${this.#options.publicUrl}/v1/provider-callbacks/${projectId}/${row.id}`;
    const capabilities = usableCapabilities(row.capabilities);
    return { ...row, capabilities, callbackUrl, provider: this.#client(projectId, row) };
  }

  #client(projectId: ProjectId, { code, url, keyId, secret: sealed }: ConnectionRow): Provider {
    const name = [projectId, code, url, keyId, sealed.toString("base64")].join(" ");
    let client = this.#clients.get(name);
    if (!client) {
      const secret = this.#options.vault.open(`provider:${projectId}:${code}`, sealed);
      const { calls, metrics } = this.#options;
      const counted = metrics && { code, metrics };
      client = new HttpProvider({ url, keyId, secret, calls, counted });
      this.#clients.set(name, client);
    }
    return client;
  }
}

/** Without rails whose fields cannot be checked: a version of before may have stored them. `refreshCapabilities` logs why. */
function usableCapabilities(capabilities: Capabilities): Capabilities {
  const { rails, pairs } = capabilities;
  const usable = rails.filter(({ properties }) => isProviderSchema({ type: "object", properties }));
  const isUsable = (rail: string): boolean => usable.some(({ code }) => code === rail);
  return { ...capabilities, rails: usable, pairs: pairs.filter(({ rail }) => isUsable(rail)) };
}

/** What the parts that call providers share. */
export interface ProviderContext extends CoreContext {
  readonly providers: Providers;
}

function readConnections(tx: ProjectTransaction): Promise<ConnectionRow[]> {
  return tx.rows<ConnectionRow>(
    `SELECT c.project_id AS "projectId", c.id, c.code, c.attention, v.version, v.version = c.version AS "isCurrent", v.url, v.key_id AS "keyId", v.secret, c.capabilities, c.enabled,
       p.amount_tolerance AS "amountTolerance"
     FROM ramp.provider_connections c JOIN ramp.projects p ON p.id = c.project_id
     JOIN ramp.provider_credentials v ON v.project_id = c.project_id AND v.connection_id = c.id WHERE ${ofProject("c")} ORDER BY c.code, v.version`,
  );
}

/** How often due capabilities are looked for, each fetched every five minutes. */
const REFRESH_MS = 60_000;
/** Projects whose providers are asked at a time. */
const PROJECTS_AT_A_TIME = 10;

/** Keeps the capabilities of providers up to date, beside all other work: one that is frozen holds its calls for 24 s. */
export function startCapabilityRefresh(ramp: ProviderContext): Pick<IntervalJob, "stop"> {
  let isStopped = false;
  const job = new IntervalJob("capabilities not refreshed", REFRESH_MS, ramp.log, async () => {
    const due = await ramp.database.operator.rows<{ id: string }>(
      "SELECT DISTINCT project_id AS id FROM ramp.provider_connections WHERE enabled AND capabilities_at < now() - interval '5 min'",
    );
    const projects = due.values();
    const refreshInTurn = async (): Promise<void> => {
      for (const { id } of projects) if (!isStopped) await refreshCapabilities(ramp, projectId(id));
    };
    await Promise.all(Array.from({ length: PROJECTS_AT_A_TIME }, refreshInTurn));
  }).wake();
  return {
    stop() {
      isStopped = true;
      return job.stop();
    },
  };
}

/** Fetches the capabilities of all providers of a project. Those of one that does not answer stay as they are. Never rejects. */
async function refreshCapabilities(
  { database, providers, log }: ProviderContext,
  project: ProjectId,
): Promise<void> {
  const refresh = async ({ id, code, provider }: ProviderConnection): Promise<void> => {
    const reply = await provider.capabilities();
    if (reply.kind !== "answer")
      return log.warn(
        { connection: id, provider: code, reason: reasonOf(reply) },
        "capabilities not refreshed",
      );
    await database
      .of(project)
      .rows(
        `UPDATE ramp.provider_connections SET capabilities = $2, capabilities_at = now() WHERE ${OF_PROJECT} AND id = $1`,
        [id, JSON.stringify(reply.value)],
      );
  };
  const failed = (error: unknown): void =>
    log.warn({ err: error, project }, "capabilities not refreshed: the next run tries again");
  await providers
    .list(project)
    .then((all) => Promise.all(all.map((connection) => refresh(connection).catch(failed))))
    .catch(failed);
}
