import { type Environment, openLog, type Renderer, type RunningService } from "@routewright/runtime/server";
import { openRunResults, type RunResults } from "../../watch/run-results.js";
import { follow } from "../../watch/schedule.js";
import { workerRenderer } from "../../watch/worker-renderer.js";
import type { ServeFlags } from "./flags.js";

/** What renders the manifest; null where none is configured. */
export function rendererOf({ manifest, apiTitle, defaultTier }: Environment): Renderer | null {
  return manifest === null ? null : workerRenderer({ manifest, title: apiTitle, defaultTier });
}

/** Brings a manifest that changes into service, where that is asked for. Returns what ends it. */
export function followManifest(
  { watch }: ServeFlags,
  { manifest, refreshEnabled, refreshIntervalSeconds: intervalSeconds }: Environment,
  service: Pick<RunningService, "refresh">,
): () => Promise<void> {
  if (manifest === null || !(watch || refreshEnabled)) return () => Promise.resolve();
  return follow({ source: manifest, intervalSeconds, look: () => service.refresh() });
}

/** What dbt tells of its builds; null where the environment names none. */
export async function runResultsOf(environment: Environment): Promise<RunResults | null> {
  const { runResults: source, refreshIntervalSeconds: intervalSeconds, logLevel } = environment;
  if (source === null) return null;
  const log = openLog(logLevel);
  const onProblem = (detail: string): void => log.warn({ detail }, "run results not read");
  return openRunResults({ source, intervalSeconds, onProblem });
}
