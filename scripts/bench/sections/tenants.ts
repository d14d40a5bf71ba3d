import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import * as ramp from "@routewright/ramp";
import { openDatabase, ROUTEWRIGHT } from "../api.js";
import { startServer, type Server } from "../process.js";
import type { Bar, Figures, Findings, Setting } from "../figures.js";

/** Two tenants on one server: what the quiet one notices of a loud one that sends what its limits allow. */
const DATABASE = "ramp_tenants";
/** A project may ask 600 times a minute. */
const LOUD_PAUSE_MS = 100;
const QUIET_PAUSE_MS = 20;
const PHASE_MS = 10_000;
/** Webhooks of a loud project, and loud projects that get an event of each of their webhooks at once. */
const WEBHOOKS = 100;
const PROJECTS = 100;
/** Limit of the quiet tenant's p99, in multiples of what it is alone. */
const AT_MOST = 2;

const QUOTE =
  "/v1/intent/quote?srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&srcAmount=100.00&countryCode=US";

type AdminSession = Awaited<ReturnType<typeof ramp.openAdminSession>>;
type Ask = (path: string, method?: "GET" | "POST" | "PATCH", body?: object) => Promise<Response>;

/** What a section's phases share. */
interface Stage {
  readonly session: AdminSession;
  readonly server: Server;
  readonly sandbox: Server;
  readonly owner: pg.Client;
  readonly keep: Setting["keep"];
}

export async function tenants({ folder, progress, keep }: Setting): Promise<Findings> {
  progress("tenants: starting the database, the sandbox provider and the ramp");
  const stage = await openStage(folder, keep);
  const quiet = asking(stage.server, await createTenant(stage, sandboxUrl(stage.sandbox)));
  await measure(quiet);
  const rows: Record<string, Figures> = {};
  const bars: Bar[] = [];
  for (const [name, disturb] of Object.entries(NEIGHBOURS)) {
    progress(`tenants: ${name}`);
    const before = await measure(quiet);
    const end = await disturb(stage);
    const beside = await measure(quiet);
    await end();
    const after = await measure(quiet);
    const alone = [before, after].map((figures) => figures["p99 ms"] ?? NaN);
    const ratios = alone.map((p99) => (beside["p99 ms"] ?? NaN) / p99).sort((a, b) => a - b);
    const [lowest = NaN, highest = NaN] = ratios;
    rows[`${name}: alone`] = before;
    rows[`${name}: beside`] = beside;
    bars.push({
      name: `p99 beside ${name}`,
      ratio: { median: (lowest + highest) / 2, lowest, highest },
      limit: { atMost: AT_MOST },
    });
  }
  const title = "ramp: what a quiet tenant notices of a loud one (quotes and reads in turn)";
  return { tables: [{ title, rows }], bars };
}

/** Starts what a loud tenant does; what is returned ends it. */
type Disturb = (stage: Stage) => Promise<() => Promise<void>>;

const NEIGHBOURS: Readonly<Record<string, Disturb>> = {
  "slow DNS": async (stage) => {
    const loud = await withWebhooks(stage, "https://hooks-{n}.slow.test/");
    await stage.owner.query(
      "UPDATE ramp.webhook_endpoints SET allow_private = false WHERE url LIKE '%slow.test/'",
    );
    return loudly(loud.ask, loud.paths);
  },
  "slow provider": async (stage) => {
    const provider = await httpServer(stage, (request, response) => {
      // The capabilities come at once: without them there is no connection.
      if (request.url?.endsWith("/capabilities")) void forward(stage.sandbox, request, response);
    });
    const loud = asking(stage.server, await createTenant(stage, `${provider}/south`));
    return loudly(loud, [[QUOTE]]);
  },
  "slow receiver": async (stage) => {
    const loud = await withWebhooks(stage, `${await httpServer(stage, () => undefined)}/{n}`);
    return loudly(loud.ask, loud.paths);
  },
  "410": async (stage) => {
    const url = await httpServer(stage, (_request, response) => response.writeHead(410).end());
    const loud = await withWebhooks(stage, `${url}/{n}`);
    const on = loud.ids.map((id) => [`/v1/webhooks/${id}`, "PATCH", { enabled: true }] as const);
    return loudly(
      loud.ask,
      loud.paths.flatMap((path, at) => [path, on[at] ?? path]),
    );
  },
  "huge answers": async (stage) => {
    const chunk = Buffer.alloc(64 * 1024, "x");
    const url = await httpServer(stage, (_request, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", write);
      write();
    });
    const loud = await withWebhooks(stage, `${url}/{n}`);
    return loudly(loud.ask, loud.paths);
  },
  "10,000 webhooks' events": async (stage) => {
    const url = await httpServer(stage, (_request, response) => response.writeHead(204).end());
    for (let at = 0; at < PROJECTS; at += 1) await withWebhooks(stage, `${url}/{n}`);
    await stage.owner.query(
      `WITH event AS (INSERT INTO ramp.events (project_id, id, type, sequence, body)
         SELECT DISTINCT project_id, gen_random_uuid(), 'webhook.test', nextval('ramp.event_sequence'), '{}'
         FROM (SELECT DISTINCT project_id FROM ramp.webhook_endpoints WHERE url LIKE $1) p RETURNING project_id, id)
       INSERT INTO ramp.webhook_deliveries (project_id, event_id, endpoint_id, attempt_at)
       SELECT e.project_id, v.id, e.id, now() FROM event v JOIN ramp.webhook_endpoints e ON e.project_id = v.project_id`,
      [`${url}/%`],
    );
    return () => Promise.resolve();
  },
};

async function openStage(folder: string, keep: Setting["keep"]): Promise<Stage> {
  const database = keep(await openDatabase(folder));
  await database.query(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
  await database.query(`CREATE DATABASE ${DATABASE}`);
  const url = Object.assign(new URL(database.url), { pathname: `/${DATABASE}` }).href;
  const names = createSocket("udp4");
  names.bind(0, "127.0.0.1");
  await once(names, "listening");
  keep({ stop: () => Promise.resolve(void names.close()) });
  const variables = {
    RAMP_DATABASE_URL: url,
    RAMP_SECRETS_KEY: randomBytes(32).toString("hex"),
    // It never answers.
    RAMP_NAME_SERVERS: `127.0.0.1:${String(names.address().port)}`,
    RAMP_PROJECT_LIMIT: "1000000",
  };
  const start = async (name: string, args: string[], environment = {}): Promise<Server> =>
    keep(await startServer({ name, args, folder, environment }));
  const sandbox = await start("ramp-sandbox", [ROUTEWRIGHT, "ramp", "sandbox", "--port", "{port}"]);
  const reading = ramp.readRampEnvironment(variables);
  if (!reading.ok) throw new Error(reading.problems.join("\n"));
  const { environment } = reading.value;
  const log = ramp.createLogger("silent");
  const session = await ramp.openAdminSession({ environment, dataDir: ".data", log });
  keep({ stop: () => session.close() });
  const serve = [ROUTEWRIGHT, "serve", "--only", "ramp", "--ramp-port", "{port}"];
  const server = await start("ramp", serve, variables);
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  keep({ stop: () => owner.end() });
  return { session, server, sandbox, owner, keep };
}

interface Tenant {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly projectId: string;
}

const sandboxUrl = ({ port }: Server): string => `http://127.0.0.1:${String(port)}/south`;

async function createTenant({ session }: Stage, url: string | null): Promise<Tenant> {
  const { database, vault } = session;
  const { organizationId } = valueOf(await ramp.createOrganization(database, "Bench"));
  const project = valueOf(await ramp.createProject(database, { organizationId, name: "Bench" }));
  const provider = ramp.SANDBOX_PROVIDERS.find(({ code }) => code === "sandbox-south");
  if (!provider) throw new Error("There is no provider sandbox-south.");
  const { code, path, keyId, secret } = provider;
  const id = valueOf(await ramp.findProject(database, project.projectId));
  if (url !== null) {
    const address = url.replace(/\/south$/, path);
    valueOf(await ramp.connectProvider(database, vault, id, { provider: code, url: address, keyId, secret }));
  }
  return project;
}

/** A loud tenant with webhooks, and a call that sends each an event. */
async function withWebhooks(stage: Stage, template: string) {
  const tenant = await createTenant(stage, null);
  const { database, vault } = stage.session;
  const id = valueOf(await ramp.findProject(database, tenant.projectId));
  const ids: string[] = [];
  while (ids.length < WEBHOOKS) {
    const url = template.replace("{n}", String(ids.length));
    const added = { url, allowPrivate: true, concurrency: 100 };
    ids.push(valueOf(await ramp.addWebhook(database, vault, id, added)).webhookId);
  }
  const paths = ids.map((webhook) => [`/v1/webhooks/${webhook}/test`, "POST", {}] as const);
  return { ask: asking(stage.server, tenant), ids, paths };
}

function asking({ port }: Server, { clientId, clientSecret }: Tenant): Ask {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
  return (path, method = "GET", body) =>
    fetch(`http://127.0.0.1:${String(port)}${path}`, {
      method,
      headers: { authorization, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
}

/** Asks these in turn, ten times a second, whether or not the ones before have been answered. */
function loudly(ask: Ask, calls: readonly (readonly [string, ("POST" | "PATCH")?, object?])[]) {
  const underWay: Promise<unknown>[] = [];
  let at = 0;
  const timer = setInterval(() => {
    const call = calls[at++ % calls.length];
    if (call)
      underWay.push(
        ask(...call)
          .then((response) => response.text())
          .catch(() => undefined),
      );
  }, LOUD_PAUSE_MS);
  return async (): Promise<void> => {
    clearInterval(timer);
    await Promise.all(underWay);
  };
}

/** What the quiet tenant gets: a quote and a read in turn. */
async function measure(ask: Ask): Promise<Figures> {
  const times: number[] = [];
  let failed = 0;
  for (const end = performance.now() + PHASE_MS; performance.now() < end; await sleep(QUIET_PAUSE_MS))
    for (const path of [QUOTE, "/v1/webhooks"]) {
      const before = performance.now();
      const response = await ask(path);
      const text = await response.text();
      times.push(performance.now() - before);
      if (!response.ok || text.includes("PROVIDER_UNAVAILABLE")) failed += 1;
    }
  times.sort((left, right) => left - right);
  const share = (of: number): number => times[Math.floor(times.length * of)] ?? NaN;
  return { "p50 ms": share(0.5), "p99 ms": share(0.99), requests: times.length, failed };
}

async function httpServer({ keep }: Stage, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  keep({
    stop: () => {
      server.closeAllConnections();
      return Promise.resolve(void server.close());
    },
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** What the sandbox answers: a signature covers the path, and no host. */
async function forward(
  { port }: Server,
  { url = "", headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const signed = Object.entries(headers).filter(([name]) => name.startsWith("x-provider"));
  const answer = await fetch(`http://127.0.0.1:${String(port)}${url}`, {
    headers: Object.fromEntries(signed.map(([name, value]) => [name, String(value)])),
  });
  response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
}

function valueOf<T>(outcome: ramp.Outcome<T>): T {
  if (!outcome.ok) throw new Error(outcome.problems.join(" "));
  return outcome.value;
}
