import { startDataService } from "./data-service.js";
import type { Build } from "./endpoint/builds.js";
import { bringUp } from "./endpoint/edition.js";
import { Live } from "./endpoint/live.js";
import { noManifest, type RefreshAnswer, Refresher, type Renderer, stageOf } from "./endpoint/refresh.js";
import { RefreshLog } from "./endpoint/refresh-log.js";
import type { Environment } from "./environment/environment.js";
import { readGeneratedEdition } from "./generated-edition.js";
import { type Logger, openLog } from "./http/logger.js";
import type { RunningServer } from "./http/server.js";
import { startEmbeddedPostgres } from "./warehouse/embedded/embedded-postgres.js";
import { keepGarbageYoung } from "./young-garbage.js";

export interface ServiceOptions {
  readonly environment: Environment;
  /** The generated folder. */
  readonly generated: string;
  /** Where the embedded database and compiled routes are kept. */
  readonly dataDir: string;
  /** Renders the manifest anew for a refresh; null where no manifest is configured. Closed with the service. */
  readonly renderer?: Renderer | null;
}

/** A service that is up. */
export interface RunningService extends RunningServer {
  /** Re-reads the manifest and swaps what has changed into service; what came of it is logged. */
  refresh(): Promise<RefreshAnswer>;
  /** Takes what dbt has built: answers of the endpoints made from it have a new version from here on. */
  built(builds: readonly Build[]): void;
}

/** Brings the service up. Rejects with a clear line when it cannot be; then nothing is left running. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  keepGarbageYoung();
  const log = openLog(options.environment.logLevel);
  const database = await openDatabase(options, log);
  try {
    const service = await startDataApi(options, database.url, log);
    return { ...service, stop: () => service.stop().then(() => database.stop()) };
  } catch (error) {
    await database.stop();
    throw error;
  }
}

interface Database {
  readonly url: string;
  stop(): Promise<void>;
}

async function openDatabase({ environment, dataDir }: ServiceOptions, log: Logger): Promise<Database> {
  const { databaseUrl } = environment;
  if (databaseUrl !== null) return { url: databaseUrl, stop: () => Promise.resolve() };
  return startEmbeddedPostgres({ dataDir, log: (line) => log.info(line), warn: (line) => log.warn(line) });
}

async function startDataApi(
  { environment, generated, dataDir, renderer = null }: ServiceOptions,
  databaseUrl: string,
  log: Logger,
): Promise<RunningService> {
  const { apiTitle } = environment;
  const { title, edition } = await readGeneratedEdition({ generated, dataDir, apiTitle });
  const live = new Live(bringUp(edition, null));
  const refresh = refreshing(live, renderer, log);
  const service = await startDataService({ environment, databaseUrl, title, live, refresh, log });
  const { url, builds } = service;
  log.info({ url, endpoints: edition.modules.length, keys: environment.keys.size }, "listening");
  const stop = async (): Promise<void> => {
    await service.stop();
    await renderer?.close();
  };
  return { url, stop, refresh, built: (news) => builds.record(news) };
}

function refreshing(live: Live, renderer: Renderer | null, log: Logger): () => Promise<RefreshAnswer> {
  const stage = stageOf(live);
  if (renderer === null) return () => Promise.resolve(noManifest(stage.standing));
  const refresher = new Refresher(stage, renderer);
  const told = new RefreshLog(log);
  return async () => told.tell(await refresher.refresh());
}
