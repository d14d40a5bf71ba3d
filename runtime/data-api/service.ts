import { dataApiListener, earlyErrorHeaders } from "./listener.js";
import { BuildTimes } from "./data-versions.js";
import type { ActiveRelease, Release } from "./release.js";
import { Metrics } from "../observability/metrics.js";
import { openGateway } from "./gateway.js";
import { activate, type RefreshResult } from "./refresh.js";
import { Documents } from "./documents.js";
import { requestFields } from "../observability/request-log.js";
import type { Environment } from "../environment/environment.js";
import { KeyFileWatcher } from "../environment/keys.js";
import type { Logger } from "../http/logger.js";
import { type ConnectionSource, listen, type RunningServer } from "../http/server.js";
import { Usage } from "../observability/usage.js";

export interface DataServiceOptions {
  readonly environment: Environment;
  readonly databaseUrl: string;
  /** Of the API. */
  readonly title: string;
  readonly active: ActiveRelease;
  /** Re-reads the manifest. */
  readonly refresh: () => Promise<RefreshResult>;
  readonly log: Logger;
  /** Where connections come from; by default, the port of the environment. */
  readonly intake?: ConnectionSource;
  /** Text of `/metrics`; by default, of this process only. */
  readonly metricsText?: () => Promise<string>;
}

/** The data API of one process. */
export interface DataService extends RunningServer {
  readonly builds: BuildTimes;
  readonly metrics: Metrics;
  /** Puts a release into service. Rejects, and keeps the old one, when it does not load. */
  activate(release: Release): Promise<RefreshResult>;
  /** Reads the key file when it has changed; it is also checked every 2 s. */
  readonly readKeys: () => void;
}

/** Serves the data API. Rejects with a clear message when it cannot, and leaves nothing open. */
export async function startDataService(options: DataServiceOptions): Promise<DataService> {
  const { environment, databaseUrl, title, active, refresh, log, intake } = options;
  const builds = new BuildTimes();
  const usage = environment.usageEnabled ? new Usage({ databaseUrl, log }) : null;
  const metrics: Metrics = new Metrics(() => ({
    ...active.current,
    missingRelations: gateway.warehouse.missingRelations,
  }));
  const gateway = openGateway({
    ...environment,
    databaseUrl,
    builds,
    log,
    recordRequest(record) {
      metrics.count(record);
      usage?.count(record);
      if (log.isLevelEnabled("info")) log.info(requestFields(record), "request");
    },
  });
  const { contentType } = metrics;
  const service = {
    title,
    documents: new Documents(title, active, builds, environment.lineageTier),
    heldBack: () => active.current.manifest?.heldBack ?? [],
    metrics: { contentType, text: options.metricsText ?? (() => metrics.text()) },
    metricsPublic: environment.metricsPublic,
  };
  const listener = dataApiListener({ gateway, service, active, refresh });
  const server = await listen(listener, environment.host, environment.port, {
    earlyErrorHeaders: earlyErrorHeaders(gateway),
    source: intake,
    log,
  }).catch(async (error: unknown) => {
    await usage?.close();
    await gateway.close();
    throw error;
  });
  const { keys, keysFile } = environment;
  const watcher = keysFile === null ? null : new KeyFileWatcher(keys, keysFile, log);
  const stop = async (): Promise<void> => {
    watcher?.close();
    await server.stop();
    await usage?.close();
    await gateway.close();
  };
  return {
    url: server.url,
    stop,
    builds,
    metrics,
    readKeys: () => watcher?.check(),
    activate: (next) =>
      activate(active, next, gateway.warehouse, intake ? "after the swap" : "before the swap"),
  };
}
