import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as ramp from "@routewright/runtime/ramp";
import { Load, type Sample } from "../load/load.js";
import { startServer, type Server } from "../process.js";
import type { Findings } from "../report.js";
import { interleave, median, ratioOf } from "../statistics.js";
import { openDatabase, ROUTEWRIGHT } from "../synthetic-api.js";
import type { Setting } from "./section.js";

const CONNECTIONS = 32;
const DATABASE = "ramp_bench";

/** A project may send 600 requests a minute: with so many in turn none reaches its limit. */
const PROJECTS = 100;

/** Limit of the ratio to the bare server. */
const THROUGHPUT = 0.4;

const NAMES = { bare: "node:http + pg, the same rows", ramp: "POST /v1/intent, keyed" } as const;
type Name = keyof typeof NAMES;

const NOTE =
  "The bare server writes the rows of a keyed intent in one transaction of 14 statements, without token, checks,\n" +
  "  signature or provider. The ramp writes them in 2 and calls its provider, another process, in between.";

/** The bench reads states far more often than a project or customer may. */
const UNLIMITED = { RAMP_PROJECT_LIMIT: "1000000", RAMP_CUSTOMER_LIMIT: "1000000" };

/** Keyed intents a second, beside a server that only writes the same rows. */
export async function rampIntents({ folder, effort, progress }: Setting): Promise<Findings> {
  progress("ramp: starting the database, the sandbox provider and the ramp");
  const database = await openDatabase(folder);
  const load = new Load(database.pid);
  const started: Server[] = [];
  const closing: (() => Promise<void>)[] = [];
  const start = async (program: Parameters<typeof startServer>[0]): Promise<Server> => {
    const server = await startServer(program);
    started.push(server);
    return server;
  };
  try {
    await database.query(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
    await database.query(`CREATE DATABASE ${DATABASE}`);
    const url = Object.assign(new URL(database.url), { pathname: `/${DATABASE}` }).href;
    const key = randomBytes(32).toString("hex");
    const sandboxArgs = [ROUTEWRIGHT, "ramp", "sandbox", "--port", "{port}"];
    const sandbox = await start({ name: "ramp-sandbox", args: sandboxArgs, folder });
    const variables = { RAMP_DATABASE_URL: url, RAMP_SECRETS_KEY: key };
    const session = await openSession(variables);
    closing.push(() => session.close());
    const projects = await createProjects(session, sandbox);
    const rampArgs = [ROUTEWRIGHT, "serve", "--only", "ramp", "--ramp-port", "{port}"];
    const server = await start({
      name: "ramp",
      args: rampArgs,
      folder,
      environment: { ...variables, ...UNLIMITED },
    });
    const tokens: string[] = [];
    for (const { authorization } of projects) tokens.push(await createCustomer(server, authorization));
    const accounts = join(folder, "ramp-accounts.json");
    writeFileSync(
      accounts,
      JSON.stringify(projects.map(({ account }) => ({ ...account, customerId: CUSTOMER }))),
    );
    const bare = await start({
      name: "ramp-bare",
      args: [resolve("scripts/bench/baselines/ramp.js")],
      folder,
      environment: { DATABASE_URL: url, BENCH_ACCOUNTS: accounts },
    });
    await checkBaseline(bare);
    progress("ramp: creating intents");
    const requests = tokens.map(intentRequest);
    const run = (subject: Server, milliseconds: number) =>
      load.run(subject, { requests, connections: CONNECTIONS, milliseconds });
    await run(bare, effort.warmUpMs);
    await run(server, effort.warmUpMs);
    const { roundMs, rounds } = effort;
    return findings(
      await interleave({ bare: () => run(bare, roundMs), ramp: () => run(server, roundMs) }, rounds),
    );
  } finally {
    load.stop();
    for (const close of closing) await close();
    await Promise.all(started.map((server) => server.stop()));
    await database.stop();
  }
}

/** A baseline that writes nothing is fast: after a change of the tables it may fail. */
async function checkBaseline({ port }: Server): Promise<void> {
  const { status } = await fetch(`http://127.0.0.1:${String(port)}/`, { method: "POST" });
  if (status !== 201)
    throw new Error(`The bare server answers ${String(status)}: it does not fit the tables.`);
}

interface Project {
  readonly id: Parameters<typeof ramp.connectProvider>[2];
  /** The project's credentials as an Authorization header. */
  readonly authorization: string;
  readonly account: { readonly projectId: string; readonly connectionId: string };
}

function openSession(variables: Readonly<Record<string, string>>): Promise<ramp.AdminSession> {
  const reading = ramp.readEnvironment(variables);
  if (!reading.ok) throw new Error(reading.problems.join("\n"));
  return ramp.openAdminSession({
    environment: reading.environment,
    dataDir: ".data",
    log: ramp.createLogger("silent"),
  });
}

/** Projects that are connected to the sandbox provider. */
async function createProjects(
  { database, vault }: ramp.AdminSession,
  sandbox: Server,
): Promise<readonly Project[]> {
  const provider = ramp.SANDBOX_PROVIDERS.find(({ code }) => code === "sandbox-south");
  if (!provider) throw new Error("There is no provider sandbox-south.");
  const { code, path, keyId, secret } = provider;
  const connection = {
    provider: code,
    url: `http://127.0.0.1:${String(sandbox.port)}${path}`,
    keyId,
    secret,
  };
  const projects: Project[] = [];
  const { organizationId } = valueOf(await ramp.createOrganization(database, "Bench"));
  const given = { organizationId, name: "Bench", tokenTtlSeconds: 0, pageOrigins: [] };
  while (projects.length < PROJECTS) {
    const { projectId, clientId, clientSecret } = valueOf(await ramp.createProject(database, given));
    const id = valueOf(await ramp.findProject(database, projectId));
    valueOf(await ramp.connectProvider(database, vault, id, connection));
    const row = await database.inProject(id, (tx) =>
      tx.row<{ id: string }>(
        "SELECT id FROM ramp.provider_connections WHERE project_id = ramp.current_project()",
      ),
    );
    const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
    projects.push({ id, authorization, account: { projectId: id, connectionId: row?.id ?? "" } });
  }
  return projects;
}

function valueOf<T>(
  result: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string },
): T {
  if (!result.ok) throw new Error(result.problem);
  return result.value;
}

/** A UUID: such an id of the caller is the customer's own. */
const CUSTOMER = "6f1c2b1e-52d4-4a39-9d0e-0a5c3f7e8b21";

/** Creates a customer of a project and returns the customer's token. */
async function createCustomer({ port }: Server, authorization: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${String(port)}/v1/customers`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ id: CUSTOMER }),
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
    `Idempotency-Key: {uuid}\r\n\r\n${body}`,
  ].join("\r\n");
}

function findings(samples: Readonly<Record<Name, Sample[]>>): Findings {
  const throughputs = (name: Name): number[] => samples[name].map((sample) => sample.requestsPerSecond);
  const of = (name: Name, key: "p50" | "p99" | "cpu" | "databaseCpu"): number =>
    median(samples[name].map((sample) => sample[key]));
  const ratio = ratioOf(throughputs("ramp"), throughputs("bare"));
  return {
    tables: [
      {
        title: `ramp: intents created, ${String(CONNECTIONS)} connections`,
        columns: [
          { key: "name", head: "server" },
          { key: "throughput", head: "intents/s", digits: 0 },
          { key: "p50", head: "p50 ms", digits: 1 },
          { key: "p99", head: "p99 ms", digits: 1 },
          { key: "cpu", head: "CPU µs/intent", digits: 0 },
          { key: "databaseCpu", head: "PostgreSQL µs", digits: 0 },
        ],
        rows: (Object.keys(NAMES) as Name[]).map((name) => ({
          name: NAMES[name],
          throughput: median(throughputs(name)),
          p50: of(name, "p50"),
          p99: of(name, "p99"),
          cpu: of(name, "cpu"),
          databaseCpu: of(name, "databaseCpu"),
        })),
        notes: [NOTE],
      },
    ],
    bars: [{ name: "keyed intents to the bare server", ratio, limit: { atLeast: THROUGHPUT } }],
  };
}
