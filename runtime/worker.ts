/** The script of a worker process of `serve --workers`: it serves what the primary assigns, and ends with the primary. */
import cluster from "node:cluster";
import { type DataService, startDataService } from "./data-service.js";
import { type Environment, readEnvironment } from "./operations/environment.js";
import {
  type Assignment,
  type DataAssignment,
  type Message,
  MessageChannel,
  type PrimaryFunctions,
  type RampAssignment,
  type WorkerFunctions,
} from "./operations/workers/messages.js";
import { loadRelease } from "./release/release.js";
import { Keyring } from "./request/keyring.js";
import { createLogger, flushLog, type Logger } from "./server/logger.js";
import type { RunningServer } from "./server/listen.js";
import { BuildRecords } from "./warehouse/data-versions.js";

// A terminal and a process manager send these signals to all processes; the primary stops its workers.
for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.on(signal, () => undefined);

/** What this process serves; null before the start. */
let server: RunningServer | null = null;
let data: Promise<DataWorker> = Promise.reject(new Error("it does not serve the data API"));
data.catch(() => undefined);

interface DataWorker {
  readonly service: DataService;
  readonly keys: Keyring;
}

const functions: WorkerFunctions = {
  async start(assignment) {
    if (assignment.role === "data") {
      data = startData(assignment);
      server = (await data).service;
    } else server = await startRamp(assignment);
  },
  activate: async (release) => (await data).service.activate(release),
  recordBuilds: async (builds, tests) => (await data).service.builds.record(builds, tests),
  setKeys: async (owners) => (await data).keys.replaceWith(new Keyring(owners)),
  metrics: async () => (await data).service.metrics.registry.getMetricsAsJSON(),
  async stop() {
    await server?.stop();
    await flushLog();
    return data.then(
      ({ service }) => service.metrics.registry.getMetricsAsJSON(),
      () => null,
    );
  },
  exit: () => process.exit(0),
  ping: () => Promise.resolve(),
};

const send = (message: Message): void => void process.send?.(message, undefined, undefined, () => undefined);
const primary = new MessageChannel<WorkerFunctions, PrimaryFunctions>(functions, send);
process.on("message", (message: Message) => void primary.receive(message));
send({ id: 0 });

async function startData(assignment: DataAssignment): Promise<DataWorker> {
  const { databaseUrl, title, release, port } = assignment;
  const builds = new BuildRecords();
  builds.record(assignment.builds, assignment.tests);
  const keys = new Keyring(assignment.keys);
  // The primary watches the key file.
  const environment = { ...environmentOf(assignment), port, keys, keysFile: null };
  const refreshes = { reloaded: 0, unchanged: 0, error: 0 };
  const service = await startDataService({
    environment,
    databaseUrl,
    title,
    active: { current: loadRelease(release, null) },
    refresh: () => primary.call("refresh"),
    refreshes,
    builds,
    log: workerLogger(environment),
    metricsText: () => primary.call("metricsText"),
  });
  return { service, keys };
}

async function startRamp(assignment: RampAssignment): Promise<RunningServer> {
  // Loaded only where the ramp is served: it has many dependencies.
  const { startRampService } = await import("./ramp.js");
  const environment = { ...environmentOf(assignment), rampPort: assignment.port };
  const { dataDir } = assignment;
  return startRampService({ environment, dataDir, log: workerLogger(environment) });
}

function workerLogger({ logLevel }: Environment): Logger {
  return createLogger(logLevel, cluster.worker?.id ?? 0);
}

/** The primary has read the same. */
function environmentOf({ variables }: Assignment): Environment {
  const reading = readEnvironment(variables);
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return reading.environment;
}
