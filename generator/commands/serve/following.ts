import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tier } from "@routewright/runtime/model";
import { type Environment, openLog, type Renderer, type RunningService } from "@routewright/runtime/server";
import { readCatalogue } from "../../catalogue/catalogue-file.js";
import { readReviewed } from "../../diff/guard.js";
import { openRunResults, type RunResults } from "../../watch/poll-run-results.js";
import { startPolling } from "../../watch/poll.js";
import { workerRenderer } from "../../watch/worker-renderer.js";
import { DATA_DIR, type ServeOptions } from "./options.js";

/**
 * The renderer of the manifest; null where none is configured. Endpoints without a tier tag keep the default tier that
 * the folder was reviewed with: another `DEFAULT_ENDPOINT_TIER` would open or close them at the next refresh.
 */
export function rendererOf(options: ServeOptions, environment: Environment): Renderer | null {
  const { generated, catalog, severities, accept, minimumNoticeDays } = options;
  const { manifest, apiTitle, defaultTier, logLevel, refreshGuard } = environment;
  if (manifest === null) return null;
  const recorded = recordedTier(generated);
  if (recorded !== null && recorded !== defaultTier)
    openLog(logLevel).warn(
      { recorded, environment: defaultTier },
      "DEFAULT_ENDPOINT_TIER differs from that of the generated folder: refreshes keep the recorded one; run `routewright generate` to change it",
    );
  // Throws where the guard has nothing to compare a change with.
  if (refreshGuard) readReviewed(generated);
  const guard = refreshGuard ? { generated, severities, accept, minimumNoticeDays } : null;
  return workerRenderer({ manifest, catalog, title: apiTitle, defaultTier: recorded ?? defaultTier, guard });
}

function recordedTier(generated: string): Tier | null {
  const file = join(generated, "catalogue.json");
  if (!existsSync(file)) return null;
  const reading = readCatalogue(readFileSync(file, "utf8"), file);
  return reading.ok ? reading.catalogue.defaultTier : null;
}

/** Refreshes the service when the manifest changes, if the options enable it. Returns the function that stops this. */
export function followManifest(
  { watch }: ServeOptions,
  { manifest, refreshEnabled, refreshIntervalSeconds: intervalSeconds }: Environment,
  service: Pick<RunningService, "refresh">,
): () => Promise<void> {
  if (manifest === null || !(watch || refreshEnabled)) return () => Promise.resolve();
  return startPolling({ source: manifest, intervalSeconds, poll: () => service.refresh() });
}

/** dbt's run results; null where the environment names none. */
export async function runResultsOf(environment: Environment): Promise<RunResults | null> {
  const { runResults: source, refreshIntervalSeconds: intervalSeconds, logLevel } = environment;
  if (source === null) return null;
  const log = openLog(logLevel);
  const onProblem = (detail: string): void => log.warn({ detail }, "run results not read");
  const onSaveFailed = (detail: string): void => log.warn({ detail }, "builds not stored for the next start");
  return openRunResults({
    source,
    intervalSeconds,
    onProblem,
    storeFile: join(DATA_DIR, "builds.json"),
    onSaveFailed,
  });
}
