import { readEnvironment, startService } from "@routewright/runtime/server";
import { EXIT, type Outcome } from "./outcome.js";

export interface ServeFlags {
  /** The generated folder. */
  readonly generated: string;
  /** Overrides `PORT`. */
  readonly port?: string;
}

/** What the server keeps on this machine: the embedded database and compiled routes. */
const DATA_DIR = ".data";

/** `routewright serve`: brings the service up and returns once a signal has stopped it. */
export async function serve({ generated, port }: ServeFlags): Promise<Outcome> {
  const reading = readEnvironment(port === undefined ? process.env : { ...process.env, PORT: port });
  if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
  const service = await startService({ environment: reading.environment, generated, dataDir: DATA_DIR });
  await stopSignal();
  await service.stop();
  return { exit: EXIT.ok };
}

/** Resolves at the first Ctrl-C or `kill`; a second one ends the process at once, as is usual. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}
