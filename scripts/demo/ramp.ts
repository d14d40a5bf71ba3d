import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as ramp from "@routewright/ramp";

/** What the demo needs to call the ramp. */
export interface DemoRamp {
  readonly url: string;
  readonly sandboxUrl: string;
  readonly credentials: Credentials;
  stop(): Promise<void>;
}

interface Credentials {
  readonly projectId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The ramp with a demo project on it: both sandbox providers, and a receiver that prints the events. */
export async function startDemoRamp(
  environment: ramp.RampEnvironment,
  dataDir: string,
  sandboxPort: number,
): Promise<DemoRamp> {
  const options = { environment, dataDir, log: ramp.createLogger(environment.logLevel) };
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.reverse()) await end();
  };
  try {
    const sandbox = await ramp.startSandbox({ host: environment.host, port: sandboxPort });
    stops.push(() => sandbox.stop());
    const receiver = await startReceiver();
    stops.push(() => receiver.stop());
    const credentials = await setUp(options, `${dataDir}/demo_ramp.json`, sandbox.url, receiver.url);
    const server = await ramp.startRampService(options);
    stops.push(() => server.stop());
    return { url: server.url, sandboxUrl: sandbox.url, credentials, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Organization and project are made at the first start, and the secret kept readable: it is a demo's. */
async function setUp(
  options: ramp.RampServiceOptions,
  file: string,
  sandboxUrl: string,
  webhookUrl: string,
): Promise<Credentials> {
  const session = await ramp.openAdminSession(options);
  const { database, vault } = session;
  try {
    const credentials = existsSync(file)
      ? (JSON.parse(readFileSync(file, "utf8")) as Credentials)
      : await newProject(database, file);
    const projectId = made(await ramp.findProject(database, credentials.projectId));
    for (const { code, path, keyId, secret } of ramp.SANDBOX_PROVIDERS) {
      const connection = { provider: code, url: sandboxUrl + path, keyId, secret };
      made(await ramp.connectProvider(database, vault, projectId, connection));
    }
    made(await ramp.addWebhook(database, vault, projectId, { url: webhookUrl, allowPrivate: true }));
    return credentials;
  } finally {
    await session.close();
  }
}

async function newProject(database: ramp.AdminSession["database"], file: string): Promise<Credentials> {
  const { organizationId } = made(await ramp.createOrganization(database, "Demo"));
  const project = { organizationId, name: "Demo" };
  const credentials = made(await ramp.createProject(database, project));
  writeFileSync(file, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  return credentials;
}

function made<T>(outcome: ramp.Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw new Error(outcome.problems.join(" "));
}

/** Takes the project's events and prints a line for each. */
async function startReceiver(): Promise<{ readonly url: string; stop(): Promise<unknown> }> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      console.log(`event  ${body}`);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}/events`,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}
