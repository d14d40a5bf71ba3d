import { dataApiListener, strangerHeaders } from "./data-api.js";
import { inService, Live } from "./endpoint/live.js";
import { loadGenerated } from "./endpoint/load.js";
import { Metrics } from "./endpoint/metrics.js";
import { openGateway } from "./endpoint/open-gateway.js";
import { noManifest, type RefreshAnswer, Refresher, type Renderer } from "./endpoint/refresh.js";
import type { Environment } from "./environment/environment.js";
import { type Logger, openLog } from "./http/logger.js";
import { listen, type RunningServer } from "./http/server.js";
import { startEmbeddedPostgres } from "./warehouse/embedded/embedded-postgres.js";

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
}

/** Brings the service up. Rejects with a clear line when it cannot be; then nothing is left running. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
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
  return startEmbeddedPostgres({ dataDir, log: (line) => log.info(line) });
}

async function startDataApi(
  options: ServiceOptions,
  databaseUrl: string,
  log: Logger,
): Promise<RunningService> {
  const { environment, generated, dataDir, renderer = null } = options;
  const { endpoints, openApi } = await loadGenerated(generated, `${dataDir}/cache`);
  const { title, text } = titled(openApi, environment.apiTitle);
  const live = new Live(inService(endpoints, text, null));
  const metrics = new Metrics(live);
  const gateway = openGateway({
    ...environment,
    databaseUrl,
    log,
    observe(observation) {
      metrics.count(observation);
      log.info(observation, "request");
    },
  });
  const refresh = refreshing(live, renderer, log);
  const service = {
    title,
    openApi: () => live.current.openApi,
    metrics,
    metricsPublic: environment.metricsPublic,
  };
  const listener = dataApiListener({ gateway, service, routes: () => live.current.routes, refresh });
  const server = await listen(listener, environment.host, environment.port, strangerHeaders({ gateway }));
  log.info({ url: server.url, endpoints: endpoints.length, keys: environment.keys.size }, "listening");
  const stop = async (): Promise<void> => {
    await server.stop();
    await renderer?.close();
    await gateway.close();
  };
  return { url: server.url, stop, refresh };
}

/** `API_TITLE` renames the document; the generated file stays as it was reviewed. */
function titled(openApi: string, title: string | null): { title: string; text: string } {
  const document = JSON.parse(openApi) as { info: { title: string } };
  if (title === null) return { title: document.info.title, text: openApi };
  return { title, text: JSON.stringify({ ...document, info: { ...document.info, title } }) };
}

/** A refresh that logs what came of it; a problem that lasts is told once, not every time. */
function refreshing(live: Live, renderer: Renderer | null, log: Logger): () => Promise<RefreshAnswer> {
  if (renderer === null) return () => Promise.resolve(noManifest(live.current));
  const refresher = new Refresher(live, renderer);
  let told = "";
  return async () => {
    const answer = await refresher.refresh();
    if (answer.status === "error") {
      if (answer.detail !== told) log.warn({ detail: answer.detail }, "manifest not refreshed");
      told = answer.detail;
    } else {
      told = "";
      if (answer.status === "reloaded") log.info(countsOf(answer), "manifest refreshed");
    }
    return answer;
  };
}

function countsOf(answer: Exclude<RefreshAnswer, { status: "error" }>) {
  const { endpoints, added, removed, changed, skipped, manifest_hash } = answer;
  const counts = {
    added: added.length,
    removed: removed.length,
    changed: changed.length,
    skipped: skipped.length,
  };
  return { endpoints, ...counts, manifest_hash };
}
