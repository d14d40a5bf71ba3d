import {
  ConnectionShare,
  createLogger,
  type EmbeddedPostgres,
  flushLog,
  openPrimary,
  type Primary,
  startEmbeddedPostgres,
  WorkerCluster,
} from "@routewright/runtime/server";
import type { RampEnvironment } from "@routewright/ramp/environment";
import { type CommandResult, DATA_DIR, EXIT, stopSignal, versionOf } from "../command.js";
import { withProgress } from "../progress.js";
import { followManifest, runResultsOf, serveData } from "./data-api.js";
import { loadRamp, rampMissing } from "../ramp-package.js";
import type { Environments, ServeOptions } from "./serve-options.js";

/** Serves in this process; SIGHUP reloads keys and folder. Returns once a signal has stopped it; the primary ends a worker. */
export function serveHere(options: ServeOptions, environments: Environments): Promise<CommandResult> {
  const primary = openPrimary();
  return primary === null ? serveAlone(options, environments) : serveAsWorker(primary, options, environments);
}

async function serveAlone(options: ServeOptions, environments: Environments): Promise<CommandResult> {
  const { data: environment } = environments;
  const stops: (() => Promise<unknown>)[] = [];
  // Without the data API there is nothing to reload.
  let reload = (): Promise<void> => Promise.resolve();
  const onHangup = (): void => void reload();
  process.on("SIGHUP", onHangup);
  try {
    if (options.only !== "ramp") {
      const runResults = await runResultsOf(environment);
      const service = await withProgress("Starting", (progress) =>
        serveData({ ...options, progress }, environment),
      );
      const results = runResults?.follow((...results) => service.recordBuilds(...results)) ?? null;
      if (results !== null) stops.push(results.stop);
      stops.push(followManifest(options, environment, service, results), () => service.stop());
      reload = () => service.reload();
    }
    const ramp = servedRamp(options, environments);
    if (ramp !== null) stops.push(await serveRamp(ramp));
    await stopSignal();
  } finally {
    for (const stop of stops) await stop();
    process.off("SIGHUP", onHangup);
  }
  return { exit: EXIT.ok };
}

/** A worker serves one role; the primary follows the manifest and dbt's results, and stops it. */
async function serveAsWorker(
  primary: Primary,
  options: ServeOptions,
  { data: environment, ramp }: Environments,
): Promise<never> {
  const { role, port, cursorKey, ...shared } = await primary.call("join");
  if (role === "ramp" && ramp !== null) {
    const stop = await serveRamp({ ...ramp, port });
    return primary.serve(
      {
        stop: () =>
          stop()
            .then(flushLog)
            .then(() => []),
      },
      {},
    );
  }
  const service = await serveData(
    options,
    { ...environment, port, cursorKey: environment.cursorKey ?? cursorKey },
    {
      ...shared,
      share: (release) => primary.call("share", release),
      refresh: () => primary.call("refresh"),
      metricsText: () => primary.call("metricsText"),
    },
  );
  const share = new ConnectionShare(service.connections, (open) => primary.call("shareOf", open));
  return primary.serve(
    {
      ...service,
      ...share.functions,
      recordBuilds: (...builds) => Promise.resolve(service.recordBuilds(...builds)),
      stop: () =>
        service
          .stop()
          .then(flushLog)
          .then(() => service.metrics()),
    },
    service.facts,
  );
}

async function serveRamp(environment: RampEnvironment): Promise<() => Promise<void>> {
  // Loaded only where it is served: it has many modules.
  const ramp = await loadRamp();
  if (ramp === null) throw new Error(rampMissing());
  const log = createLogger(environment.logLevel);
  const server = await ramp.startRampService({ environment, dataDir: DATA_DIR, log });
  return () => server.stop();
}

/**
 * Serves in several processes, which this one supervises; SIGHUP restarts them one by one. Returns once a signal has
 * stopped them.
 */
export async function serveWithWorkers(
  options: ServeOptions,
  environments: Environments,
): Promise<CommandResult> {
  const { data: environment } = environments;
  const ramp = servedRamp(options, environments);
  const stopped = stopSignal();
  const hasData = options.only !== "ramp";
  const log = createLogger(environment.logLevel);
  const sizes = { data: hasData ? options.workers : 0, ramp: Number(ramp !== null) };
  const ports = { data: environment.port, ramp: ramp?.port ?? 0 };
  const cluster = new WorkerCluster({ sizes, environment, ports, log });
  const reload = (): void => void cluster.reload();
  process.on("SIGHUP", reload);
  const stops: (() => Promise<void>)[] = [];
  let embedded: EmbeddedPostgres | null = null;
  try {
    // Here, so that a worker that stops does not stop the server.
    if (needsEmbedded(hasData ? environment : null, ramp))
      embedded = await startEmbeddedPostgres({ dataDir: DATA_DIR });
    const runResults = hasData ? await runResultsOf(environment) : null;
    // Before the workers start: their first responses carry data versions.
    const results = runResults?.follow((...results) => cluster.recordBuilds(...results)) ?? null;
    if (results !== null) stops.push(results.stop);
    const started = cluster.start().then(() => true);
    if (!(await Promise.race([started, stopped.then(() => false)]))) return { exit: EXIT.ok };
    if (hasData) stops.push(followManifest(options, environment, cluster, results));
    await stopped;
    return { exit: EXIT.ok };
  } finally {
    for (const stop of stops) await stop();
    await cluster.stop();
    await embedded?.stop();
    process.off("SIGHUP", reload);
  }
}

/** Whether one of the served APIs has no database named. */
function needsEmbedded(data: Environments["data"] | null, ramp: Environments["ramp"]): boolean {
  const hasNoData = data?.databaseUrl === null && data.clickhouseUrl === null;
  return hasNoData || ramp?.databaseUrl === null;
}

/** The ramp's settings where it is served; else null, and the log says why it is not. */
function servedRamp({ only }: ServeOptions, environments: Environments): Environments["ramp"] {
  const { data, ramp } = environments;
  if (only !== undefined) return only === "ramp" ? ramp : null;
  const reason =
    ramp === null ? `\`npm install @routewright/ramp@${versionOf()}\` adds it` : unservedBecause(data, ramp);
  if (reason === null) return ramp;
  createLogger(data.logLevel).info(`the ramp is not served: ${reason}, or serve --only data`);
  return null;
}

/**
 * It creates tables: in the embedded database always, in a named one only when its secrets key is set too. A warehouse
 * served alone gets none.
 */
function unservedBecause(data: Environments["data"], ramp: RampEnvironment): string | null {
  const isNamed = ramp.databaseUrl !== null;
  if (!isNamed && data.clickhouseUrl !== null) return "it stores in PostgreSQL. Set RAMP_DATABASE_URL for it";
  return !isNamed || ramp.secretsKey !== null ? null : "set RAMP_SECRETS_KEY for it";
}
