/** The demo: the starter's manifest generated, its relations built, served until Ctrl-C. */
import { readEnvironment, startEmbeddedPostgres, startService } from "@routewright/runtime/server";
import { mkdirSync } from "node:fs";
import { run } from "../../generator/dist/cli.js";
import { demoKeys } from "./keys.js";
import { buildDemoRelations } from "./relations.js";
import { welcome } from "./welcome.js";

const STARTER = "templates/starter";
const DATA_DIR = ".data";
const KEY_FILE = `${DATA_DIR}/demo_api_keys.json`;

async function start(): Promise<void> {
  mkdirSync(DATA_DIR, { recursive: true });
  const keys = demoKeys(KEY_FILE, `${DATA_DIR}/demo_keys_shown.json`);
  const reading = readEnvironment({ API_KEYS_FILE: KEY_FILE, LOG_LEVEL: "warn", ...process.env });
  if (!reading.ok) throw new Error(reading.problems.join("\n"));
  const { environment } = reading;
  console.log("Generating handlers and OpenAPI from the starter's manifest …");
  if ((await run(["generate", "--manifest", `${STARTER}/manifest.json`])) !== 0)
    throw new Error("Generating failed.");
  console.log(
    environment.databaseUrl === null ? "Starting the embedded PostgreSQL …" : "Using DATABASE_URL.",
  );
  const database =
    environment.databaseUrl === null ? await startEmbeddedPostgres({ dataDir: DATA_DIR }) : null;
  const databaseUrl = database?.url ?? environment.databaseUrl ?? "";
  try {
    const { built } = await buildDemoRelations(databaseUrl, STARTER);
    console.log(built > 0 ? `Built ${String(built)} demo relations.` : "The demo relations are up to date.");
    const service = await startService({
      environment: { ...environment, databaseUrl },
      generated: "generated",
      dataDir: DATA_DIR,
    });
    console.log(welcome(service.url, keys));
    await stopSignal();
    console.log("Stopping …");
    await service.stop();
  } finally {
    await database?.stop();
  }
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

try {
  await start();
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
