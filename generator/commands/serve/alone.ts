import { type Environment, openLog, startService } from "@routewright/runtime/server";
import { EXIT, type CommandResult, stopSignal } from "../command.js";
import { verifyInThread } from "../verify.js";
import { followManifest, rendererOf, runResultsOf } from "./following.js";
import { DATA_DIR, isRampServed, type ServeOptions } from "./options.js";

/** Serves in this process alone; SIGHUP renews keys and folder. Returns once a signal has stopped it. */
export async function serveAlone(options: ServeOptions, environment: Environment): Promise<CommandResult> {
  const stops: (() => Promise<void>)[] = [];
  // Without the data API there is nothing to renew.
  let reload = (): Promise<void> => Promise.resolve();
  const onHangup = (): void => void reload();
  process.on("SIGHUP", onHangup);
  try {
    if (options.only !== "ramp") {
      const data = await serveData(options, environment);
      stops.push(data.stop);
      ({ reload } = data);
    }
    if (isRampServed(options, environment)) stops.push(await serveRamp(environment));
    await stopSignal();
  } finally {
    await Promise.all(stops.map((stop) => stop()));
    process.off("SIGHUP", onHangup);
  }
  return { exit: EXIT.ok };
}

interface Serving {
  readonly stop: () => Promise<void>;
  readonly reload: () => Promise<void>;
}

async function serveData(options: ServeOptions, environment: Environment): Promise<Serving> {
  const { generated } = options;
  const renderer = rendererOf(options, environment);
  const runResults = await runResultsOf(environment);
  const service = await startService({ environment, generated, dataDir: DATA_DIR, renderer });
  verifyInThread(generated, environment);
  const unfollow = [followManifest(options, environment, service)];
  if (runResults !== null) unfollow.push(runResults.follow((builds, tests) => service.built(builds, tests)));
  const stop = (): Promise<void> => Promise.all(unfollow.map((end) => end())).then(() => service.stop());
  return { stop, reload: () => service.reload() };
}

async function serveRamp(environment: Environment): Promise<() => Promise<void>> {
  // Loaded only where it is served: it brings a queue, signatures and more.
  const { startRampService } = await import("@routewright/runtime/ramp");
  const log = openLog(environment.logLevel);
  const server = await startRampService({ environment, dataDir: DATA_DIR, log });
  return () => server.stop();
}
