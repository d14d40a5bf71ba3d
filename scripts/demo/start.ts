/** The demo: the starter's manifest generated, its relations built, served until Ctrl-C. */
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { addKey } from "@routewright/runtime/keys";
import { type Tier, TIERS } from "@routewright/runtime/model";
import {
  type Environment,
  readEnvironment,
  startEmbeddedPostgres,
  startService,
} from "@routewright/runtime/server";
import { stopSignal } from "../../generator/commands/command.js";
import { run } from "../../generator/dist/cli.js";
import { startDemoRamp } from "./ramp.js";
import { buildDemoRelations } from "./relations.js";
import { type DemoKeys, welcome } from "./welcome.js";

const STARTER = "templates/starter";
const DATA_DIR = ".data";
const KEY_FILE = `${DATA_DIR}/demo_api_keys.json`;

/** Port of `routewright ramp sandbox`. */
const SANDBOX_PORT = 8002;

async function start(): Promise<void> {
  mkdirSync(DATA_DIR, { recursive: true });
  const keys = demoKeys(KEY_FILE, `${DATA_DIR}/demo_keys_shown.json`);
  const reading = readEnvironment({ API_KEYS_FILE: KEY_FILE, LOG_LEVEL: "warn", ...process.env });
  if (!reading.ok) throw new Error(reading.problems.join("\n"));
  const environment = await withFreePorts(reading.environment);
  console.log("Generating handlers and OpenAPI from the starter's manifest …");
  if ((await run(["generate", "--manifest", `${STARTER}/manifest.json`, "--out", "generated"])) !== 0)
    throw new Error("Generating failed.");
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const databaseUrl = await openDatabase(environment, stops);
    const { built, results } = await buildDemoRelations(databaseUrl, STARTER);
    console.log(built > 0 ? `Built ${String(built)} demo relations.` : "The demo relations are up to date.");
    const service = await startService({
      environment: { ...environment, databaseUrl, clickhouseUrl: null },
      generated: "generated",
      dataDir: DATA_DIR,
    });
    stops.push(() => service.stop());
    service.recordBuilds(results.builds, results.tests);
    const ramp = hasRamp(environment)
      ? await startDemoRamp(environment, DATA_DIR, await freePort(environment.host, SANDBOX_PORT))
      : null;
    if (ramp !== null) stops.push(() => ramp.stop());
    console.log(welcome(service.url, keys, ramp));
    await stopSignal();
    console.log("Stopping …");
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

/** A port that the environment names is used or reported; a default one that is taken is replaced by a free one. */
async function withFreePorts(environment: Environment): Promise<Environment> {
  const { host, port, rampPort } = environment;
  return {
    ...environment,
    port: process.env["PORT"] === undefined ? await freePort(host, port) : port,
    rampPort: process.env["RAMP_PORT"] === undefined ? await freePort(host, rampPort) : rampPort,
  };
}

/** The port where it is free, else 0: any free one. */
async function freePort(host: string, port: number): Promise<number> {
  const server = createServer();
  const found = await once(server.listen(port, host), "listening").then(
    () => port,
    () => 0,
  );
  if (found === 0)
    console.log(`Port ${String(port)} is taken: another one is used. PORT and RAMP_PORT choose it.`);
  await new Promise((resolve) => server.close(resolve));
  return found;
}

async function openDatabase(environment: Environment, stops: (() => Promise<unknown>)[]): Promise<string> {
  if (environment.databaseUrl !== null) {
    console.log("Using DATABASE_URL.");
    return environment.databaseUrl;
  }
  console.log("Starting the embedded PostgreSQL …");
  const database = await startEmbeddedPostgres({ dataDir: DATA_DIR });
  stops.push(() => database.stop());
  return database.url;
}

/** In a database of its own choice the user must set the ramp's key too. */
function hasRamp({ databaseUrl, rampDatabaseUrl, rampSecretsKey }: Environment): boolean {
  return (rampDatabaseUrl ?? databaseUrl) === null || rampSecretsKey !== null;
}

/**
 * The demo's keys: made at the first start and shown at every one, so they are kept readable beside the hashed file
 * that the server reads. Keys for real use are made with `routewright keys create`.
 */
function demoKeys(keyFile: string, shownFile: string): DemoKeys {
  if (existsSync(shownFile) && existsSync(keyFile))
    return JSON.parse(readFileSync(shownFile, "utf8")) as DemoKeys;
  const keys = Object.fromEntries(TIERS.map((tier) => [tier, makeKey(keyFile, tier)])) as DemoKeys;
  writeFileSync(shownFile, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  return keys;
}

function makeKey(keyFile: string, tier: Tier): string {
  const added = addKey(keyFile, { tier, user: `demo-${tier}`, org: "demo" });
  if (!added.ok) throw new Error(added.problem);
  return added.value.key;
}

try {
  await start();
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
