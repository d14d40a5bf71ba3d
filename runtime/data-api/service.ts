import { dataApiListener, earlyErrorHeaders } from "./listener.js";
import { BuildTimes } from "./build-times.js";
import type { ActiveRelease } from "./active-release.js";
import { Metrics } from "../observability/metrics.js";
import { openGateway } from "./open-gateway.js";
import type { RefreshResult } from "./refresh.js";
import { requestFields } from "../observability/request-log.js";
import type { Environment } from "../environment/environment.js";
import { infoLineOf, type Logger } from "../http/logger.js";
import { type ConnectionSource, listen, listening, type RunningServer } from "../http/server.js";
import { Usage } from "../observability/usage.js";

export interface DataServiceOptions {
  readonly environment: Environment;
  readonly databaseUrl: string;
  /** Of the API. */
  readonly title: string;
  /** What is served, which may change. */
  readonly live: ActiveRelease;
  /** Re-reads the manifest. */
  readonly refresh: () => Promise<RefreshResult>;
  readonly log: Logger;
  /** Where connections come from; from the port of the environment when left out. */
  readonly intake?: ConnectionSource;
  /** What `/metrics` shows: this process's own, unless others are to be shown with them. */
  readonly metricsText?: () => Promise<string>;
}

/** The data API of one process. */
export interface DataService extends RunningServer {
  readonly builds: BuildTimes;
  readonly metrics: Metrics;
}

/** Serves the data API. Rejects with a clear line when it cannot be; then nothing is left open. */
export async function startDataService(options: DataServiceOptions): Promise<DataService> {
  const { environment, databaseUrl, title, live, refresh, log, intake = listening } = options;
  const builds = new BuildTimes();
  const metrics = new Metrics(live);
  const usage = environment.usageEnabled ? new Usage({ databaseUrl, log }) : null;
  const tell = infoLineOf(log);
  const gateway = openGateway({
    ...environment,
    databaseUrl,
    builds,
    log,
    recordRequest(observation) {
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
    earlyErrorHeaders({ gateway }),
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
