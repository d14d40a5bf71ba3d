import { dataApiListener, strangerHeaders } from "./data-api.js";
import { Builds } from "./endpoint/builds.js";
import type { Live } from "./endpoint/live.js";
import { Metrics } from "./endpoint/metrics.js";
import { openGateway } from "./endpoint/open-gateway.js";
import type { RefreshAnswer } from "./endpoint/refresh.js";
import { requestFields } from "./endpoint/request-line.js";
import type { Environment } from "./environment/environment.js";
import { infoLineOf, type Logger } from "./http/logger.js";
import { type Intake, listen, listening, type RunningServer } from "./http/server.js";
import { Usage } from "./usage/usage.js";

export interface DataServiceOptions {
  readonly environment: Environment;
  readonly databaseUrl: string;
  /** Of the API. */
  readonly title: string;
  /** What is served, which may change. */
  readonly live: Live;
  /** Re-reads the manifest. */
  readonly refresh: () => Promise<RefreshAnswer>;
  readonly log: Logger;
  /** Where connections come from; from the port of the environment when left out. */
  readonly intake?: Intake;
  /** What `/metrics` shows: this process's own, unless others are to be shown with them. */
  readonly metricsText?: () => Promise<string>;
}

/** The data API of one process. */
export interface DataService extends RunningServer {
  readonly builds: Builds;
  readonly metrics: Metrics;
}

/** Serves the data API. Rejects with a clear line when it cannot be; then nothing is left open. */
export async function startDataService(options: DataServiceOptions): Promise<DataService> {
  const { environment, databaseUrl, title, live, refresh, log, intake = listening } = options;
  const builds = new Builds();
  const metrics = new Metrics(live);
  const usage = environment.usageEnabled ? new Usage({ databaseUrl, log }) : null;
  const tell = infoLineOf(log);
  const gateway = openGateway({
    ...environment,
    databaseUrl,
    builds,
    log,
    observe(observation) {
      metrics.count(observation);
      usage?.count(observation);
      tell(requestFields(observation), "request");
    },
  });
  const { contentType } = metrics;
  const service = {
    title,
    openApi: () => live.current.openApi,
    metrics: { contentType, text: options.metricsText ?? (() => metrics.text()) },
    metricsPublic: environment.metricsPublic,
  };
  const listener = dataApiListener({ gateway, service, routes: () => live.current.routes, refresh });
  const server = await listen(
    listener,
    environment.host,
    environment.port,
    strangerHeaders({ gateway }),
    intake,
  ).catch(async (error: unknown) => {
    await usage?.close();
    await gateway.close();
    throw error;
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    await usage?.close();
    await gateway.close();
  };
  return { url: server.url, stop, builds, metrics };
}
