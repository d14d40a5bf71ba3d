import { readEnvironment } from "@routewright/runtime/server";
import { EXIT, type Outcome } from "./outcome.js";
import { serveAlone } from "./serve/alone.js";
import type { ServeFlags } from "./serve/flags.js";
import { serveWithWorkers } from "./serve/with-workers.js";

/** `routewright serve`: brings the servers up and returns once a signal has stopped them. */
export async function serve(flags: ServeFlags): Promise<Outcome> {
  const variables = withFlags(process.env, flags);
  const reading = readEnvironment(variables);
  if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
  const { environment } = reading;
  if (flags.watch && environment.manifest === null) return { exit: EXIT.error, errors: [NOTHING_TO_WATCH] };
  return flags.workers === 1
    ? serveAlone(flags, environment)
    : serveWithWorkers(flags, environment, variables);
}

const NOTHING_TO_WATCH = "--watch needs a manifest to follow: set DBT_MANIFEST_PATH or DBT_MANIFEST_URL.";

function withFlags(variables: NodeJS.ProcessEnv, { port, rampPort, guard }: ServeFlags): NodeJS.ProcessEnv {
  return {
    ...variables,
    ...(port !== undefined && { PORT: port }),
    ...(rampPort !== undefined && { RAMP_PORT: rampPort }),
    ...(guard && { REFRESH_GUARD: "true" }),
  };
}
