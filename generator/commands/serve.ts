import { type Environment, readEnvironment, type Renderer, startService } from "@routewright/runtime/server";
import { follow } from "../watch/schedule.js";
import { workerRenderer } from "../watch/worker-renderer.js";
import { EXIT, type Outcome } from "./outcome.js";
import { stopSignal } from "./stop-signal.js";

export interface ServeFlags {
  /** The generated folder. */
  readonly generated: string;
  /** Overrides `PORT`. */
  readonly port?: string;
  /** Follow the manifest that the environment names. */
  readonly watch: boolean;
}

/** What the server keeps on this machine: the embedded database and compiled routes. */
const DATA_DIR = ".data";

/** `routewright serve`: brings the service up and returns once a signal has stopped it. */
export async function serve({ generated, port, watch }: ServeFlags): Promise<Outcome> {
  const reading = readEnvironment(port === undefined ? process.env : { ...process.env, PORT: port });
  if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
  const { environment } = reading;
  const { manifest, refreshEnabled, refreshIntervalSeconds } = environment;
  if (watch && manifest === null) return { exit: EXIT.error, errors: [NOTHING_TO_WATCH] };
  const renderer = manifest === null ? null : rendererOf(manifest, environment);
  const service = await startService({ environment, generated, dataDir: DATA_DIR, renderer });
  const unfollow =
    manifest !== null && (watch || refreshEnabled)
      ? follow({ source: manifest, intervalSeconds: refreshIntervalSeconds, look: () => service.refresh() })
      : () => Promise.resolve();
  await stopSignal();
  await unfollow();
  await service.stop();
  return { exit: EXIT.ok };
}

const NOTHING_TO_WATCH = "--watch needs a manifest to follow: set DBT_MANIFEST_PATH or DBT_MANIFEST_URL.";

function rendererOf(manifest: string, { apiTitle, defaultTier }: Environment): Renderer {
  return workerRenderer({ manifest, title: apiTitle, defaultTier });
}
