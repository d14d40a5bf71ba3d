import { dataApiListener } from "./data-api.js";
import { Metrics } from "./endpoint/metrics.js";
import { loadGenerated } from "./endpoint/load.js";
import { openGateway } from "./endpoint/open-gateway.js";
import { RouteTable } from "./endpoint/route-table.js";
import type { Environment } from "./environment/environment.js";
import { openLog } from "./http/logger.js";
import { listen, type RunningServer } from "./http/server.js";

export interface DataApiOptions {
  readonly environment: Environment;
  /** Of the database that holds the relations. */
  readonly databaseUrl: string;
  /** The generated folder. */
  readonly generated: string;
  /** Where compiled routes are kept. */
  readonly cacheDir: string;
}

/** Brings the data API up. Rejects when the folder cannot be loaded or the port cannot be had. */
export async function startDataApi(options: DataApiOptions): Promise<RunningServer> {
  const { environment, databaseUrl, generated, cacheDir } = options;
  const { endpoints, openApi } = await loadGenerated(generated, cacheDir);
  const routes = new RouteTable(endpoints);
  const metrics = new Metrics(() => routes.size);
  const log = openLog(environment.logLevel);
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
