/** The demo: the starter's manifest generated, its relations built, served until Ctrl-C. */
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { KeyFile } from "@routewright/runtime/keys";
import { type Tier, TIER_NAMES, TIERS } from "@routewright/runtime/model";
import { type RampEnvironment, rampSettings } from "@routewright/ramp/environment";
import {
  type Environment,
  readEnvironments,
  startEmbeddedPostgres,
  startService,
} from "@routewright/runtime/server";
import { stopSignal } from "../../generator/commands/command.js";
import { run } from "../../generator/dist/cli.js";
import type { DemoCopy } from "./clickhouse.js";
import { type DemoRamp, startDemoRamp } from "./ramp.js";
import { buildDemoRelations, type BuildResults } from "./relations.js";

const STARTER = "templates/starter";
const DATA_DIR = ".data";
const KEY_FILE = `${DATA_DIR}/demo_api_keys.json`;

/** Port of `routewright ramp sandbox`. */
const SANDBOX_PORT = 8002;

/** A key per tier, to try the API with. */
type DemoKeys = Readonly<Record<Tier, string>>;

const ENGINES = ["postgres", "clickhouse"];

/** `npm start -- --engine clickhouse` serves a copy. */
function engineIn(args: readonly string[]): string {
  const [flag, engine = "", ...others] = args;
  if (flag === undefined) return "postgres";
  if (flag === "--engine" && ENGINES.includes(engine) && others.length === 0) return engine;
  throw new Error("npm start takes `-- --engine postgres` or `-- --engine clickhouse` only.");
}

async function start(): Promise<void> {
  const engine = engineIn(process.argv.slice(2));
  mkdirSync(DATA_DIR, { recursive: true });
  const keys = await demoKeys(KEY_FILE, `${DATA_DIR}/demo_keys_shown.json`);
  const reading = readEnvironments(
    { API_KEYS_FILE: KEY_FILE, LOG_LEVEL: "warn", ...process.env },
    rampSettings,
  );
  if (!reading.ok) throw new Error(reading.problems.join("\n"));
  const { data: environment, ramp: rampEnvironment } = await withFreePorts(reading.value.environment);
  console.log("Generating handlers and OpenAPI from the starter's manifest …");
  if ((await run(["generate", "--manifest", `${STARTER}/manifest.json`, "--out", "generated"])) !== 0)
    throw new Error("Generating failed.");
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const databaseUrl = await openDatabase(environment, stops);
    const { built, results } = await buildDemoRelations(databaseUrl, STARTER);
    console.log(built > 0 ? `Built ${String(built)} demo relations.` : "The demo relations are up to date.");
    const copy = engine === "clickhouse" ? await openCopy(databaseUrl, results) : null;
    if (copy !== null) stops.push(() => copy.stop());
    const service = await startService({
      environment: {
        ...environment,
        databaseUrl,
        clickhouseUrl: copy?.url ?? null,
        // Tables of ours go into no database of the user's that no variable names for them.
        keysDatabaseUrl:
          environment.keysDatabaseUrl ?? (environment.databaseUrl === null ? databaseUrl : null),
      },
      generated: copy?.generated ?? "generated",
      dataDir: DATA_DIR,
    });
    stops.push(() => service.stop());
    service.recordBuilds(results.builds, results.tests);
    const ramp = hasRamp(rampEnvironment)
      ? await startDemoRamp(rampEnvironment, DATA_DIR, await freePort(environment.host, SANDBOX_PORT))
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
async function withFreePorts({ data, ramp }: { readonly data: Environment; readonly ramp: RampEnvironment }) {
  const portOf = async (
    variable: string,
    { host, port }: { readonly host: string; readonly port: number },
  ) => (process.env[variable] === undefined ? await freePort(host, port) : port);
  return {
    data: { ...data, port: await portOf("PORT", data) },
    ramp: { ...ramp, port: await portOf("RAMP_PORT", ramp) },
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

async function openCopy(databaseUrl: string, { builds }: BuildResults): Promise<DemoCopy> {
  console.log("Starting ClickHouse, and loading a copy of the relations …");
  // Only this engine needs DuckDB.
  const { copyToClickhouse } = await import("./clickhouse.js");
  return copyToClickhouse(databaseUrl, STARTER, `${DATA_DIR}/demo-clickhouse`, builds);
}

/** In a database of its own choice the user must set the ramp's key too. */
function hasRamp({ databaseUrl, secretsKey }: RampEnvironment): boolean {
  return databaseUrl === null || secretsKey !== null;
}

/**
 * The demo's keys: made at the first start and shown at every one, so they are kept readable beside the hashed file
 * that the server reads. Keys for real use are made with `routewright keys create`.
 */
async function demoKeys(keyFile: string, shownFile: string): Promise<DemoKeys> {
  if (existsSync(shownFile) && existsSync(keyFile))
    return JSON.parse(readFileSync(shownFile, "utf8")) as DemoKeys;
  const keys: Record<string, string> = {};
  for (const tier of TIERS) keys[tier] = await makeKey(keyFile, tier);
  writeFileSync(shownFile, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  return keys as DemoKeys;
}

async function makeKey(keyFile: string, tier: Tier): Promise<string> {
  const added = await new KeyFile(keyFile).create({ tier, user: `demo-${tier}`, org: "demo" });
  if (!added.ok) throw new Error(added.problems.join(" "));
  return added.value.key;
}

/** What `npm start` ends with: where things are, a key per tier, and three calls to paste. */
function welcome(url: string, keys: DemoKeys, ramp: DemoRamp | null): string {
  const names = TIERS.map((tier) => `  ${tier}  ${TIER_NAMES[tier].padEnd(9)} ${keys[tier]}`);
  return `
The data API is at ${url}

  explore           ${url}/explore
  guide             ${url}/guide
  documentation     ${url}/docs   (or ${url}/redoc)
  OpenAPI           ${url}/openapi.json
  health, metrics   ${url}/health   ${url}/metrics

A demo key per tier, for the header X-API-Key:

${names.join("\n")}

Three calls to try:

  curl ${url}/v1/bridges/volume/last_7d

  curl -H 'X-API-Key: ${keys.tier3}' \\
    '${url}/v1/altchain/altchain_card_activity_by_action/daily?action=Payment&start_date=2026-06-29'

  curl -H 'X-API-Key: ${keys.tier1}' -H 'Content-Type: application/json' \\
    -d '{"token": "USDC", "sort_by": "amount_usd", "sort_direction": "desc", "limit": 2}' \\
    ${url}/v1/bridges/transactions

${ramp === null ? NO_RAMP : rampWalk(ramp)}
Ctrl-C stops it. The data stay in .data/.
`;
}

const NO_RAMP = "The ramp is not served: set RAMP_SECRETS_KEY beside DATABASE_URL.\n";

/** From customer to a completed on-ramp: 50 dollars by bank transfer become USDC, at the provider that asks for no papers. */
function rampWalk({ url, sandboxUrl, credentials }: DemoRamp): string {
  const { clientId, clientSecret } = credentials;
  const json = `-H 'Content-Type: application/json'`;
  const take = (field: string): string => `node -p 'JSON.parse(require("fs").readFileSync(0)).${field}'`;
  return `The ramp API is at ${url} (documentation: ${url}/docs), its sandbox providers at ${sandboxUrl}.
An on-ramp from customer to COMPLETED; events are printed here:

  RAMP=${url}
  TOKEN=$(curl -s -u ${clientId}:${clientSecret} ${json} \\
    -d '{"id": "alice"}' $RAMP/v1/customers | ${take("accessToken")})

  INTENT=$(curl -s -H "Authorization: Bearer $TOKEN" ${json} -H "Idempotency-Key: $(date +%s)" \\
    -d '{"src": {"currencyCode": "USD", "details": {"countryCode": "US", "rail": "ACH", "provider": "sandbox-south"}},
         "dest": {"currencyCode": "USDC_POLYGON", "details": {"address": "0x52908400098527886E0F7030069857D2E4169EE7"}},
         "srcAmount": "50.00"}' $RAMP/v1/intent | ${take("intent.id")})

  curl -s -X POST -H "Authorization: Bearer $TOKEN" $RAMP/v1/intent/$INTENT/transaction

  sleep 5; curl -s -H "Authorization: Bearer $TOKEN" $RAMP/v1/intent/$INTENT
`;
}

try {
  await start();
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
