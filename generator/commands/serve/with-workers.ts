import { type Environment, openLog, openSupervisor, type Supervisor } from "@routewright/runtime/server";
import { EXIT, type CommandResult, stopSignal } from "../command.js";
import { verifyInThread } from "../verify.js";
import { followManifest, rendererOf, runResultsOf } from "./following.js";
import { DATA_DIR, isRampServed, type ServeOptions } from "./options.js";

/**
 * Serves in several processes, which this one looks after; SIGHUP renews them one by one. Returns once a signal has
 * stopped them, or none of them can be kept alive.
 */
export async function serveWithWorkers(
  options: ServeOptions,
  environment: Environment,
  variables: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  const stopped = stopSignal();
  const hasData = options.only !== "ramp";
  const supervisor = openSupervisor({
    variables,
    workers: options.workers,
    generated: hasData ? options.generated : null,
    ramp: isRampServed(options, environment),
    dataDir: DATA_DIR,
    renderer: hasData ? rendererOf(options, environment) : null,
    log: openLog(environment.logLevel),
  });
  const reload = (): void => void supervisor.reload();
  process.on("SIGHUP", reload);
  const unfollow: (() => Promise<void>)[] = [];
  try {
    const runResults = hasData ? await runResultsOf(environment) : null;
    // Before there are workers: their first answers have their versions.
    if (runResults !== null)
      unfollow.push(runResults.follow((builds, tests) => supervisor.built(builds, tests)));
    const started = supervisor.start().then(() => true);
    if (!(await Promise.race([started, stopped.then(() => false)]))) return { exit: EXIT.ok };
    if (hasData) {
      verifyInThread(options.generated, environment);
      unfollow.push(followManifest(options, environment, supervisor));
    }
    return await outcome(supervisor, stopped);
  } finally {
    await Promise.all(unfollow.map((end) => end()));
    await supervisor.stop();
    process.off("SIGHUP", reload);
  }
}

async function outcome(supervisor: Supervisor, stopped: Promise<void>): Promise<CommandResult> {
  const reason = await Promise.race([supervisor.gaveUp, stopped]);
  if (reason === undefined) return { exit: EXIT.ok };
  return { exit: EXIT.error, errors: [`No worker process can be kept alive: ${reason}.`] };
}
