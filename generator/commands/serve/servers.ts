import {
  createLogger,
  type EmbeddedPostgres,
  flushLog,
  openPrimary,
  type Primary,
  startEmbeddedPostgres,
  WorkerCluster,
} from "@routewright/runtime/server";
import { type CommandResult, DATA_DIR, EXIT, stopSignal } from "../command.js";
import { withProgress } from "../progress.js";
import { followManifest, runResultsOf, serveData } from "./data-api.js";
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
      const results = runResults?.follow((builds, tests) => service.recordBuilds(builds, tests)) ?? null;
      if (results !== null) stops.push(results.stop);
      stops.push(followManifest(options, environment, service, results), () => service.stop());
      reload = () => service.reload();
    }
    if (isRampServed(options, environments)) stops.push(await serveRamp(environments.ramp));
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
  if (role === "ramp") {
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
  return primary.serve(
    {
      ...service,
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

async function serveRamp(environment: Environments["ramp"]): Promise<() => Promise<void>> {
  // Loaded only where it is served: it has many modules.
  const { startRampService } = await import("@routewright/runtime/ramp");
  const log = createLogger(environment.logLevel);
  const server = await startRampService({ environment, dataDir: DATA_DIR, log });
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
  const { data: environment, ramp } = environments;
  const stopped = stopSignal();
  const hasData = options.only !== "ramp";
  const log = createLogger(environment.logLevel);
  const sizes = { data: hasData ? options.workers : 0, ramp: Number(isRampServed(options, environments)) };
  const ports = { data: environment.port, ramp: ramp.port };
  const cluster = new WorkerCluster({ sizes, environment, ports, log });
  const reload = (): void => void cluster.reload();
  process.on("SIGHUP", reload);
  const stops: (() => Promise<void>)[] = [];
  let embedded: EmbeddedPostgres | null = null;
  try {
    // Here, so that a worker that stops does not stop the server.
    if (needsEmbedded(environments, sizes)) embedded = await startEmbeddedPostgres({ dataDir: DATA_DIR });
    const runResults = hasData ? await runResultsOf(environment) : null;
    // Before the workers start: their first responses carry data versions.
    const results = runResults?.follow((builds, tests) => cluster.recordBuilds(builds, tests)) ?? null;
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

function needsEmbedded(
  { data, ramp }: Environments,
  sizes: { readonly data: number; readonly ramp: number },
): boolean {
  const hasNoData = data.databaseUrl === null && data.clickhouseUrl === null;
  return (sizes.data > 0 && hasNoData) || (sizes.ramp > 0 && ramp.databaseUrl === null);
}

/**
 * Whether the ramp is served. It creates tables: in the embedded database always, in a named one only when its secrets
 * key is set too. A warehouse served alone gets none.
 */
function isRampServed({ only }: ServeOptions, { data, ramp }: Environments): boolean {
  if (only !== undefined) return only === "ramp";
  const isNamed = ramp.databaseUrl !== null;
  const log = createLogger(ramp.logLevel);
  if (!isNamed && data.clickhouseUrl !== null) {
    log.info(
      "the ramp is not served: it stores in PostgreSQL. Set RAMP_DATABASE_URL for it, or serve --only data",
    );
    return false;
  }
  const isServed = !isNamed || ramp.secretsKey !== null;
  if (!isServed) log.info("the ramp is not served: set RAMP_SECRETS_KEY for it, or serve --only data");
  return isServed;
}
