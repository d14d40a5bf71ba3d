import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import pg from "pg";
import * as ramp from "@routewright/ramp";
import { openDatabase, ROUTEWRIGHT } from "../api.js";
import { compare, putLoad, rowsOf, type Sides, WARM_UP_MS } from "../load.js";
import { startServer, type Server } from "../process.js";
import { compareFigure, type Findings, type Setting } from "../figures.js";

const CONNECTIONS = 32;
const DATABASE = "ramp_bench";

/** Customers whose intents take turns. */
const CUSTOMERS = 100;

/** Limit of the ratio to the bare server. */
const THROUGHPUT = 0.45;

const NOTE =
  "The bare server writes the rows of a keyed intent in one transaction of 14 statements, without token, checks,\n" +
  "  signature or provider. The ramp writes them in 2 and calls its provider, another process, in between.";

/** Keyed intents a second, beside a server that only writes the same rows. */
export async function rampIntents({ folder, progress, keep }: Setting): Promise<Findings> {
  progress("ramp: starting the database, the sandbox provider and the ramp");
  const database = keep(await openDatabase(folder));
  await database.query(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
  await database.query(`CREATE DATABASE ${DATABASE}`);
  const url = Object.assign(new URL(database.url), { pathname: `/${DATABASE}` }).href;
  const start = async (name: string, args: string[], environment = {}): Promise<Server> =>
    keep(await startServer({ name, args, folder, environment }));
  const sandbox = await start("ramp-sandbox", [ROUTEWRIGHT, "ramp", "sandbox", "--port", "{port}"]);
  const variables = { RAMP_DATABASE_URL: url, RAMP_SECRETS_KEY: randomBytes(32).toString("hex") };
  const authorization = await createProject(variables, sandbox);
  const server = await start(
    "ramp",
    [ROUTEWRIGHT, "serve", "--only", "ramp", "--ramp-port", "{port}"],
    // The bench asks far more often than a project may.
    { ...variables, RAMP_PROJECT_LIMIT: "1000000", RAMP_CUSTOMER_LIMIT: "1000000" },
  );
  const requests: string[] = [];
  while (requests.length < CUSTOMERS)
    requests.push(intentRequest(await createCustomer(server, authorization, requests.length)));
  const bare = await start("ramp-bare", [resolve("scripts/bench/baselines/ramp.js")], { DATABASE_URL: url });
  await checkBaseline(bare);
  progress("ramp: creating intents");
  const sides = { bare: { server: bare, requests }, routewright: { server, requests } };
  await fillTables(sides, url);
  const samples = await compare(sides, { connections: CONNECTIONS, databasePid: database.pid });
  const title = `ramp: POST /v1/intent with a key, ${String(CONNECTIONS)} connections`;
  const atLeast = THROUGHPUT;
  return {
    tables: [{ title, rows: rowsOf(samples), note: NOTE }],
    bars: [compareFigure("keyed intents to the bare server", samples, "requests/s", { atLeast })],
  };
}

/**
 * Both sides get the plans of filled tables: those of empty ones find an intent by reading all of its project, until PostgreSQL's own
 * analysis comes a minute later. An update of an intent took 190 µs with them in place of 125.
 */
async function fillTables(sides: Sides, url: string): Promise<void> {
  const job = { connections: CONNECTIONS, milliseconds: WARM_UP_MS };
  for (const { server, requests } of Object.values(sides)) await putLoad(server, { ...job, requests });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("ANALYZE");
  await client.end();
}

/** A baseline that writes nothing is fast: after a change of the tables it may fail. */
async function checkBaseline({ port }: Server): Promise<void> {
  const { status } = await fetch(`http://127.0.0.1:${String(port)}/`, { method: "POST" });
  if (status !== 201)
    throw new Error(`The bare server answers ${String(status)}: it does not fit the tables.`);
}

/** A project that is connected to the sandbox provider. Returns its credentials as an Authorization header. */
async function createProject(variables: Readonly<Record<string, string>>, sandbox: Server): Promise<string> {
  const reading = ramp.readRampEnvironment(variables);
  if (!reading.ok) throw new Error(reading.problems.join("\n"));
  const { environment } = reading.value;
  const log = ramp.createLogger("silent");
  const session = await ramp.openAdminSession({ environment, dataDir: ".data", log });
  try {
    const { database, vault } = session;
    const { organizationId } = valueOf(await ramp.createOrganization(database, "Bench"));
    const project = valueOf(await ramp.createProject(database, { organizationId, name: "Bench" }));
    const provider = ramp.SANDBOX_PROVIDERS.find(({ code }) => code === "sandbox-south");
    if (!provider) throw new Error("There is no provider sandbox-south.");
    const { code, path, keyId, secret } = provider;
    const url = `http://127.0.0.1:${String(sandbox.port)}${path}`;
    const id = valueOf(await ramp.findProject(database, project.projectId));
    valueOf(await ramp.connectProvider(database, vault, id, { provider: code, url, keyId, secret }));
    const { clientId, clientSecret } = project;
    return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
  } finally {
    await session.close();
  }
}

function valueOf<T>(outcome: ramp.Outcome<T>): T {
  if (!outcome.ok) throw new Error(outcome.problems.join(" "));
  return outcome.value;
}

/** Creates a customer and returns the customer's token. */
async function createCustomer({ port }: Server, authorization: string, number: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${String(port)}/v1/customers`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ id: `customer-${String(number)}` }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`No customer was created: ${text}`);
  return (JSON.parse(text) as { accessToken: string }).accessToken;
}

/** An on-ramp that sandbox-south accepts without an identity check. */
const INTENT = {
  src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH", provider: "sandbox-south" } },
  dest: {
    currencyCode: "USDC_POLYGON",
    details: { address: "0x52908400098527886E0F7030069857D2E4169EE7" },
  },
  srcAmount: "100.00",
};

/** Creates an intent: recorded, approved, ready for payment. */
function intentRequest(token: string): string {
  const body = JSON.stringify(INTENT);
  return [
    "POST /v1/intent HTTP/1.1",
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    `Content-Length: ${String(body.length)}`,
    `Authorization: Bearer ${token}`,
    `Idempotency-Key: {unique}\r\n\r\n${body}`,
  ].join("\r\n");
}
