import { type ProjectId, newId } from "../database/id.js";
import { HttpProvider, reasonOf } from "../providers/provider.js";
import type { Vault } from "../core/vault.js";
import type { RampDatabase } from "../database/ramp-database.js";
import { OF_PROJECT } from "../database/transaction.js";
import { failed, type Outcome, succeeded } from "@routewright/runtime/internal/core/model/outcome.js";
import { urlProblem } from "../core/json-schema.js";

export interface NewConnection {
  /** The provider's code in its capabilities. */
  readonly provider: string;
  readonly url: string;
  readonly keyId: string;
  readonly secret: string;
}

/**
 * Connects a project to a provider, or changes address and credentials: intents that exist keep those that they were created
 * with. The capabilities are fetched, so the credentials must work.
 */
export async function connectProvider(
  database: RampDatabase,
  vault: Vault,
  projectId: ProjectId,
  { provider: code, url, keyId, secret }: NewConnection,
): Promise<Outcome<{ providerId: string; code: string; name: string }>> {
  const problem = urlProblem(url);
  if (problem !== null) return failed(problem);
  const reply = await new HttpProvider({ url, keyId, secret }).capabilities();
  if (reply.kind === "refused") return failed(`The provider at ${url} refused: ${reply.message}`);
  if (reply.kind !== "answer")
    return failed(
      `The provider at ${url} gives no valid answer: ${reasonOf(reply)}. Check address and credentials.`,
    );
  const { value: capabilities } = reply;
  if (capabilities.code !== code)
    return failed(`The provider at ${url} is ${capabilities.code}, not ${code}.`);
  const isRotated = await knowsOrders(database, projectId, code, new HttpProvider({ url, keyId, secret }));
  const id = await database.inProject(projectId, async (tx) => {
    const connection = await tx.row<{ id: string; version: number }>(
      `INSERT INTO ramp.provider_connections AS c (id, code, capabilities) VALUES ($1, $2, $3)
       ON CONFLICT (project_id, code) DO UPDATE SET capabilities = excluded.capabilities, capabilities_at = now(), enabled = true
       RETURNING c.id, c.version`,
      [newId(), code, JSON.stringify(capabilities)],
    );
    const connectionId = connection?.id ?? "";
    const sealed = vault.seal(`provider:${projectId}:${code}`, secret);
    if (isRotated)
      await tx.rows(
        `UPDATE ramp.provider_credentials v SET url = $2, key_id = $3, secret = $4 FROM ramp.provider_connections c
         WHERE c.project_id = v.project_id AND c.id = v.connection_id AND v.${OF_PROJECT} AND c.id = $1 AND v.version = c.version
           AND NOT EXISTS (SELECT FROM ramp.provider_credentials o WHERE o.project_id = v.project_id AND o.connection_id = $1 AND o.url = $2 AND o.key_id = $3)`,
        [connectionId, url, keyId, sealed],
      );
    // The same address and key with another secret is a rotation; another account is a new version, for new intents only.
    await tx.rows(
      `WITH credential AS (
         INSERT INTO ramp.provider_credentials AS v (connection_id, version, url, key_id, secret)
         SELECT $1, COALESCE(max(version), 0) + 1, $2, $3, $4 FROM ramp.provider_credentials WHERE connection_id = $1
         ON CONFLICT (project_id, connection_id, url, key_id) DO UPDATE SET secret = excluded.secret
         RETURNING v.version)
       UPDATE ramp.provider_connections SET version = credential.version FROM credential WHERE id = $1`,
      [connectionId, url, keyId, sealed],
    );
    return connectionId;
  });
  return succeeded({ providerId: id, code, name: capabilities.name });
}

/** Orders by which new credentials show that they are of the same account. */
const PROOFS = 3;

/**
 * Whether a provider knows, under new credentials, the newest orders that were sent under those in use: then the account is the same, and
 * all its intents go on with the new ones. Another account, such as the live one after a sandbox, knows none.
 */
async function knowsOrders(
  database: RampDatabase,
  projectId: ProjectId,
  code: string,
  provider: HttpProvider,
): Promise<boolean> {
  const orders = await database.of(projectId).rows<{ readonly id: string }>(
    `SELECT t.id FROM ramp.transactions t JOIN ramp.intents i ON i.project_id = t.project_id AND i.id = t.intent_id
       JOIN ramp.provider_connections c ON c.project_id = i.project_id AND c.id = i.connection_id AND c.version = i.connection_version
       WHERE t.${OF_PROJECT} AND c.code = $1 AND t.provider_reference IS NOT NULL ORDER BY t.created_at DESC LIMIT $2`,
    [code, PROOFS],
  );
  const replies = await Promise.all(orders.map(({ id }) => provider.execution(id)));
  return (
    replies.length > 0 &&
    replies.every((reply, at) => reply.kind === "answer" && reply.value.id === orders[at]?.id)
  );
}

/** Sends no new intents to the provider; existing ones are processed to their end. */
export async function disconnectProvider(
  database: RampDatabase,
  projectId: ProjectId,
  code: string,
): Promise<Outcome<{ code: string }>> {
  const row = await database
    .of(projectId)
    .row("UPDATE ramp.provider_connections SET enabled = false WHERE code = $1 RETURNING id", [code]);
  return row === null ? failed(`The project is not connected to ${code}.`) : succeeded({ code });
}
