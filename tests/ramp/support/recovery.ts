/** What tests of servers that crash, and of several servers on one database, share. */
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { connectProvider, type NewConnection } from "../../../runtime/ramp/operator/integrations.js";
import { addWebhook } from "../../../runtime/ramp/webhooks/endpoints.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import type { Receiver } from "./receiver.js";
import {
  call,
  eventually,
  made,
  newProject,
  type OwnSandbox,
  type Reply,
  SECRETS_KEY,
  type TestProject,
} from "./world.js";

/** A project with a webhook at the receiver, connected to the sandbox or to the provider, in a migrated database. */
export async function projectWithWebhook(
  databaseUrl: string,
  connectTo: OwnSandbox | NewConnection,
  receiver: Pick<Receiver, "url">,
): Promise<{ readonly project: TestProject; readonly secret: string }> {
  const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined, maxConnections: 2 });
  const vault = new Vault(SECRETS_KEY);
  const project = await ("provider" in connectTo
    ? newProject(database, vault, null, { providers: [] })
    : newProject(database, vault, connectTo));
  if ("provider" in connectTo) made(await connectProvider(database, vault, project.id, connectTo));
  const address = { url: receiver.url, allowPrivate: true };
  const { secret } = made(await addWebhook(database, vault, project.id, address));
  await database.close();
  return { project, secret };
}

/** More frequent requests keep the machine busy while the server starts. */
const RETRY_MS = 200;

/** As a client does whose server has crashed: repeats the request, under the same key, until there is an answer. */
export async function insist(
  url: string,
  method: "GET" | "POST",
  path: string,
  options: Parameters<typeof call>[3],
  limitMs?: number,
): Promise<Reply> {
  return eventually(
    () => call(url, method, path, options).catch(() => null),
    (reply) => reply !== null && reply.status !== 409 && reply.status < 500,
    limitMs,
    RETRY_MS,
  ) as Promise<Reply>;
}

/** Runs one statement: a test that asks often keeps its connection. */
type RunSql = (text: string) => Promise<Record<string, unknown>[]>;

/** The owner of a claim has crashed: the test does not wait the ninety seconds. */
export const expireClaims = (sql: RunSql): Promise<unknown> =>
  sql("UPDATE ramp.idempotency_claims SET owned_until = now() WHERE response_status IS NULL");

interface DeliveredEvent {
  readonly id: string;
  readonly project: string;
  /** The intent, the event's type and the status: once each. */
  readonly move: string;
}

/** All events, once each is delivered. What a crashed server was sending, or failed to send, is due at once. */
export async function deliveredEvents(sql: RunSql, limitMs?: number): Promise<readonly DeliveredEvent[]> {
  await sql(
    "UPDATE ramp.webhook_deliveries SET attempt_at = now(), attempted_until = NULL WHERE status = 'PENDING'",
  );
  const rows = await eventually(
    () =>
      sql(
        `SELECT v.id, v.project_id AS project, d.status,
           concat_ws(' ', v.body::jsonb #>> '{data,intentId}', v.type, v.body::jsonb #>> '{data,status}') AS move
         FROM ramp.events v LEFT JOIN ramp.webhook_deliveries d ON d.event_id = v.id`,
      ),
    (events) => events.every(({ status }) => status === "DELIVERED"),
    limitMs,
  );
  return rows as unknown as readonly DeliveredEvent[];
}
