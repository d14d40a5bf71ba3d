import { type Environment, openLog, startService } from "@routewright/runtime/server";
import { EXIT, type Outcome } from "../outcome.js";
import { stopSignal } from "../stop-signal.js";
import { DATA_DIR, type ServeFlags } from "./flags.js";
import { followManifest, rendererOf, runResultsOf } from "./following.js";
import { isRampServed } from "./ramp.js";

/** Serves in this process alone. Returns once a signal has stopped it. */
export async function serveAlone(flags: ServeFlags, environment: Environment): Promise<Outcome> {
  const stops: (() => Promise<void>)[] = [];
  try {
    if (flags.only !== "ramp") stops.push(await serveData(flags, environment));
    if (isRampServed(flags, environment)) stops.push(await serveRamp(environment));
    await stopSignal();
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
  return { exit: EXIT.ok };
}

async function serveData(flags: ServeFlags, environment: Environment): Promise<() => Promise<void>> {
  const { generated } = flags;
  const renderer = rendererOf(flags, environment);
  const runResults = await runResultsOf(environment);
  const service = await startService({ environment, generated, dataDir: DATA_DIR, renderer });
  const unfollow = [followManifest(flags, environment, service)];
  if (runResults !== null) unfollow.push(runResults.follow((builds) => service.built(builds)));
  return () => Promise.all(unfollow.map((end) => end())).then(() => service.stop());
}

async function serveRamp(environment: Environment): Promise<() => Promise<void>> {
  // Loaded only where it is served: it brings a queue, signatures and more.
  const { startRampService } = await import("@routewright/runtime/ramp");
  const log = openLog(environment.logLevel);
  const server = await startRampService({ environment, dataDir: DATA_DIR, log });
  return () => server.stop();
}
