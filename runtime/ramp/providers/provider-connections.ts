import type { Logger } from "../../http/logger.js";
import type { ProjectId } from "../database/id.js";
import type { Vault } from "../vault.js";
import type { ProjectTransaction, RampDatabase } from "../database/ramp-database.js";
import { HttpProvider } from "./provider.js";
import type { Capabilities, Provider } from "./protocol.js";

/** A provider that a project has connected, with the credentials that decide between live and sandbox. */
export interface ProviderConnection {
  readonly id: string;
  readonly code: string;
  readonly capabilities: Capabilities;
  readonly provider: Provider;
  /** Where the provider tells of news. */
  readonly callbackUrl: string;
}

interface ConnectionRow {
  readonly id: string;
  readonly code: string;
  readonly url: string;
  readonly key_id: string;
  readonly secret: Buffer;
  readonly capabilities: Capabilities;
  readonly enabled: boolean;
}

/** How long what was read of a project's connections is used: a change by command is in force after this. */
const FRESH_MS = 5_000;

/** The purpose under which a credential is sealed. */
export function credentialPurpose(projectId: ProjectId, code: string): string {
  return `provider:${projectId}:${code}`;
}

interface CachedConnections {
  readonly readAt: number;
  readonly connections: Promise<readonly (ProviderConnection & { readonly enabled: boolean })[]>;
}

/** The connections of projects. A provider's client is kept as long as its credentials stand, and with it its breaker. */
export class Providers {
  readonly #database: RampDatabase;
  readonly #vault: Vault;
  readonly #publicUrl: string;
  readonly #held = new Map<ProjectId, CachedConnections>();
  readonly #clients = new Map<string, Provider>();

  constructor(database: RampDatabase, vault: Vault, publicUrl: string) {
    this.#database = database;
    this.#vault = vault;
    this.#publicUrl = publicUrl;
  }

  /** The enabled connections, by code. */
  async list(projectId: ProjectId): Promise<readonly ProviderConnection[]> {
    return (await this.#all(projectId)).filter(({ enabled }) => enabled);
  }

  /** The connection of an intent: also one that takes no new intents. */
  async get(projectId: ProjectId, id: string): Promise<ProviderConnection> {
    const connection = await this.find(projectId, id);
    if (connection === null) throw new Error(`The provider connection ${id} does not exist.`);
    return connection;
  }

  async find(projectId: ProjectId, id: string): Promise<ProviderConnection | null> {
    return (await this.#all(projectId)).find((connection) => connection.id === id) ?? null;
  }

  #all(projectId: ProjectId): CachedConnections["connections"] {
    const held = this.#held.get(projectId);
    if (held && Date.now() - held.readAt < FRESH_MS) return held.connections;
    const connections = this.#database
      .inProject(projectId, readConnections)
      .then((rows) => rows.map((row) => this.#connectionOf(projectId, row)));
    this.#held.set(projectId, { readAt: Date.now(), connections });
    // A project without providers is about to get one.
    connections.then(
      ({ length }) => length > 0 || this.#held.delete(projectId),
      () => this.#held.delete(projectId),
    );
    return connections;
  }

  #connectionOf(
    projectId: ProjectId,
    row: ConnectionRow,
  ): ProviderConnection & { readonly enabled: boolean } {
    const { id, code, capabilities, enabled } = row;
    const callbackUrl = `${this.#publicUrl}/v1/provider-callbacks/${projectId}/${id}`;
    return { id, code, capabilities, enabled, callbackUrl, provider: this.#client(projectId, row) };
  }

  #client(projectId: ProjectId, { code, url, key_id: keyId, secret: sealed }: ConnectionRow): Provider {
    const name = [projectId, code, url, keyId, sealed.toString("base64")].join(" ");
    let client = this.#clients.get(name);
    if (!client) {
      const secret = this.#vault.open(credentialPurpose(projectId, code), sealed);
      this.#clients.set(name, (client = new HttpProvider({ url, keyId, secret })));
    }
    return client;
  }
}

function readConnections(tx: ProjectTransaction): Promise<ConnectionRow[]> {
  return tx.rows<ConnectionRow>(
    "SELECT id, code, url, key_id, secret, capabilities, enabled FROM ramp.provider_connections ORDER BY code",
  );
}

/** Asks all providers anew what they can do; what one says that cannot be reached stays as it was. */
export async function refreshCapabilities(
  { database, providers, log }: { database: RampDatabase; providers: Providers; log: Logger },
  projectId: ProjectId,
): Promise<void> {
  for (const { id, code, provider } of await providers.list(projectId)) {
    const reply = await provider.capabilities();
    if (reply.kind !== "answer") {
      log.warn({ connection: id, provider: code, reason: reply.kind }, "capabilities not refreshed");
      continue;
    }
    await database.inProject(projectId, (tx) =>
      tx.rows(
        "UPDATE ramp.provider_connections SET capabilities = $2, capabilities_at = now() WHERE id = $1",
        [id, JSON.stringify(reply.value)],
      ),
    );
  }
}
