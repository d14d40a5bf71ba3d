import pg from "pg";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/server.js";
import { Vault } from "../../../runtime/ramp/secrets/vault.js";
import { connectProvider } from "../../../runtime/ramp/set-up/connections.js";
import type { SetUp } from "../../../runtime/ramp/set-up/outcome.js";
import { createOrganization, createProject, findProject } from "../../../runtime/ramp/set-up/projects.js";
import { openDatabase, type RampDatabase } from "../../../runtime/ramp/store/database.js";
import { migrate } from "../../../runtime/ramp/store/migrate.js";
import { startEmbeddedPostgres } from "../../../runtime/embedded/embedded-postgres.js";
import { ROUTEWRIGHT } from "../api-folder.js";
import { type Server, startServer } from "../children.js";
import type { Owner } from "./job.js";

/** A project may make 600 requests a minute: with so many in turn, the ramp is not fast enough to refuse one. */
const PROJECTS = 100;
const DATABASE = "ramp_bench";

/** A ramp and a sandbox provider as operators run them, each its own process, on an embedded PostgreSQL. */
export interface Stage {
  readonly ramp: Server;
  readonly databaseUrl: string;
  /** A customer of each project. */
  readonly tokens: readonly string[];
  /** The same customers, as the bare transactions name them. */
  readonly owners: readonly Owner[];
  stop(): Promise<void>;
}

/** Everything that was started is stopped again when this rejects. */
export async function openStage(folder: string): Promise<Stage> {
  const ends: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    const embedded = await startEmbeddedPostgres({ dataDir: join(folder, "database") });
    ends.push(() => embedded.stop());
    const databaseUrl = await freshDatabase(embedded.url);
    const key = randomBytes(32);
    const sandbox = await startServer({
      name: "ramp-sandbox",
      args: [ROUTEWRIGHT, "ramp", "sandbox", "--port", "{port}"],
      folder,
    });
    ends.push(() => sandbox.stop());
    await migrate(databaseUrl);
    const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined });
    ends.push(() => database.close());
    const projects = await Promise.all(
      Array.from({ length: PROJECTS }, () => newProject(database, new Vault(key), sandbox)),
    );
    const ramp = await startServer({
      name: "ramp",
      args: [ROUTEWRIGHT, "serve", "--only", "ramp", "--ramp-port", "{port}"],
      folder,
      environment: { RAMP_DATABASE_URL: databaseUrl, RAMP_SECRETS_KEY: key.toString("hex") },
    });
    ends.push(() => ramp.stop());
    const tokens = await Promise.all(projects.map(({ basic }) => newCustomer(ramp, basic)));
    const owners = projects.map(({ id, connectionId }) => ({
      projectId: id,
      customerId: CUSTOMER,
      connectionId,
    }));
    return { ramp, databaseUrl, tokens, owners, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function freshDatabase(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
  const own = new URL(url);
  own.pathname = `/${DATABASE}`;
  return own.href;
}

interface Project {
  readonly id: string;
  readonly basic: string;
  readonly connectionId: string;
}

async function newProject(database: RampDatabase, vault: Vault, sandbox: Server): Promise<Project> {
  const { organizationId } = done(await createOrganization(database, "Bench"));
  const given = { organizationId, name: "Bench", tokenTtlSeconds: 0, pageOrigins: [] };
  const { projectId, clientId, clientSecret } = done(await createProject(database, given));
  const id = done(await findProject(database, projectId));
  const south = SANDBOX_PROVIDERS.find(({ code }) => code === "sandbox-south");
  if (!south) throw new Error("There is no Sandbox South.");
  const { code: provider, path, keyId, secret } = south;
  const url = `http://127.0.0.1:${String(sandbox.port)}${path}`;
  done(await connectProvider(database, vault, id, { provider, url, keyId, secret }));
  const connection = await database.inProject(id, (tx) =>
    tx.row<{ id: string }>("SELECT id FROM ramp.provider_connections"),
  );
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
  return { id, basic, connectionId: connection?.id ?? "" };
}

function done<T>(outcome: SetUp<T>): T {
  if (!outcome.ok) throw new Error(outcome.problem);
  return outcome.value;
}

const CUSTOMER = "bench";

async function newCustomer({ port }: Server, basic: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${String(port)}/v1/customers`, {
    method: "POST",
    headers: { authorization: basic, "content-type": "application/json" },
    body: JSON.stringify({ id: CUSTOMER }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`No customer: ${text}`);
  return (JSON.parse(text) as { accessToken: string }).accessToken;
}
