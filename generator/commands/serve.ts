import {
  type Environment,
  openLog,
  readEnvironment,
  type Renderer,
  startService,
} from "@routewright/runtime/server";
import { follow } from "../watch/schedule.js";
import { workerRenderer } from "../watch/worker-renderer.js";
import { EXIT, type Outcome } from "./outcome.js";
import { stopSignal } from "./stop-signal.js";

export interface ServeFlags {
  /** The generated folder. */
  readonly generated: string;
  /** Overrides `PORT`. */
  readonly port?: string;
  /** Overrides `RAMP_PORT`. */
  readonly rampPort?: string;
  /** Serve one of the two APIs alone. */
  readonly only?: "data" | "ramp";
  /** Follow the manifest that the environment names. */
  readonly watch: boolean;
}

/** What the servers keep on this machine: the embedded database, compiled routes, and the ramp's key beside them. */
const DATA_DIR = ".data";

/** `routewright serve`: brings the servers up and returns once a signal has stopped them. */
export async function serve(flags: ServeFlags): Promise<Outcome> {
  const reading = readEnvironment(withPorts(process.env, flags));
  if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
  const { environment } = reading;
  if (flags.watch && environment.manifest === null) return { exit: EXIT.error, errors: [NOTHING_TO_WATCH] };
  const stops: (() => Promise<void>)[] = [];
  try {
    if (flags.only !== "ramp") stops.push(await serveData(flags, environment));
    if (flags.only !== "data") stops.push(await serveRamp(flags, environment));
    await stopSignal();
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
  return { exit: EXIT.ok };
}

const NOTHING_TO_WATCH = "--watch needs a manifest to follow: set DBT_MANIFEST_PATH or DBT_MANIFEST_URL.";

function withPorts(variables: NodeJS.ProcessEnv, { port, rampPort }: ServeFlags): NodeJS.ProcessEnv {
  return {
    ...variables,
    ...(port !== undefined && { PORT: port }),
    ...(rampPort !== undefined && { RAMP_PORT: rampPort }),
  };
}

async function serveData(
  { generated, watch }: ServeFlags,
  environment: Environment,
): Promise<() => Promise<void>> {
  const { manifest, refreshEnabled, refreshIntervalSeconds: intervalSeconds } = environment;
  const renderer = manifest === null ? null : rendererOf(manifest, environment);
  const service = await startService({ environment, generated, dataDir: DATA_DIR, renderer });
  if (manifest === null || !(watch || refreshEnabled)) return () => service.stop();
  const unfollow = follow({ source: manifest, intervalSeconds, look: () => service.refresh() });
  return () => unfollow().then(() => service.stop());
}

function rendererOf(manifest: string, { apiTitle, defaultTier }: Environment): Renderer {
  return workerRenderer({ manifest, title: apiTitle, defaultTier });
}

/**
 * The ramp keeps tables of its own. It makes them in the embedded database unasked, and in a named one when its secrets
 * key is set too: whoever serves a warehouse alone has not asked for them.
 */
async function serveRamp({ only }: ServeFlags, environment: Environment): Promise<() => Promise<void>> {
  const { databaseUrl, rampDatabaseUrl, rampSecretsKey } = environment;
  const log = openLog(environment.logLevel);
  const isNamed = (rampDatabaseUrl ?? databaseUrl) !== null;
  if (only !== "ramp" && isNamed && rampSecretsKey === null) {
    log.info("the ramp is not served: set RAMP_SECRETS_KEY for it, or serve --only data");
    return () => Promise.resolve();
  }
  // Loaded only where it is served: it brings a queue, signatures and more.
  const { startRampService } = await import("@routewright/runtime/ramp");
  const server = await startRampService({ environment, dataDir: DATA_DIR, log });
  return () => server.stop();
}
