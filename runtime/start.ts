import { dataApiListener } from "./data-api.js";
import { loadGenerated } from "./endpoint/load.js";
import { Metrics } from "./endpoint/metrics.js";
import { openGateway } from "./endpoint/open-gateway.js";
import { RouteTable } from "./endpoint/route-table.js";
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
}

/** Brings the service up. Rejects with a clear line when it cannot be; then nothing is left running. */
export async function startService(options: ServiceOptions): Promise<RunningServer> {
  const log = openLog(options.environment.logLevel);
  const database = await openDatabase(options, log);
  try {
    const server = await startDataApi(options, database.url, log);
    return { url: server.url, stop: () => server.stop().then(() => database.stop()) };
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
  if (environment.databaseUrl !== null)
    return { url: environment.databaseUrl, stop: () => Promise.resolve() };
  return startEmbeddedPostgres({ dataDir, log: (line) => log.info(line) });
}

async function startDataApi(
  options: ServiceOptions,
  databaseUrl: string,
  log: Logger,
): Promise<RunningServer> {
  const { environment, generated, dataDir } = options;
  const { endpoints, openApi } = await loadGenerated(generated, `${dataDir}/cache`);
  const routes = new RouteTable(endpoints);
  const metrics = new Metrics(() => routes.size);
  const gateway = openGateway({
    ...environment,
    databaseUrl,
    log,
    observe(observation) {
      metrics.count(observation);
      log.info(observation, "request");
    },
  });
  const { title, text } = titled(openApi, environment.apiTitle);
  const service = { title, openApi: () => text, metrics, metricsPublic: environment.metricsPublic };
  const listener = dataApiListener({ gateway, service, routes: () => routes });
  const server = await listen(listener, environment.host, environment.port);
  log.info({ url: server.url, endpoints: routes.size, keys: environment.keys.size }, "listening");
  return { url: server.url, stop: () => server.stop().then(() => gateway.close()) };
}

/** `API_TITLE` renames the document; the generated file stays as it was reviewed. */
function titled(openApi: string, title: string | null): { title: string; text: string } {
  const document = JSON.parse(openApi) as { info: { title: string } };
  if (title === null) return { title: document.info.title, text: openApi };
  return { title, text: JSON.stringify({ ...document, info: { ...document.info, title } }) };
}
