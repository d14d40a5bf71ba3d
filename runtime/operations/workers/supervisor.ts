import { type NodeBuild, BuildRecords, type TestRun } from "../../warehouse/data-versions.js";
import { noManifest, type RefreshResult } from "../../release/activate.js";
import {
  CoalescingRunner,
  type ManifestRenderer,
  NOT_RELOADED,
  Refresher,
  RefreshLog,
  reloadMessage,
} from "../../release/refresh.js";
import type { Logger } from "../../server/logger.js";
import type { WorkerPool } from "./worker-pool.js";
import { DataWorkers, RampWorkers } from "./service-workers.js";
import { ConnectionDispatcher } from "./connection-dispatcher.js";
import { type GeneratedRelease, keepsManifest, readGeneratedRelease } from "../../release/release.js";
import { type Environment, readEnvironment } from "../environment.js";
import { withKeysInline } from "../key-file-watcher.js";
import type { EnvironmentVariables } from "./messages.js";
import { messageOf } from "../../model/error-message.js";

export interface SupervisorOptions {
  readonly variables: NodeJS.ProcessEnv;
  /** Worker processes of the data API. */
  readonly workers: number;
  /** The generated folder; null: the data API is not served. */
  readonly generated: string | null;
  /** Whether modules may differ from what was generated. */
  readonly allowEdited: boolean;
  /** Whether the ramp is served, by a process of its own. */
  readonly ramp: boolean;
  /** Where the embedded database and compiled routes are kept. */
  readonly dataDir: string;
  /** Renders the manifest for a refresh; null where no manifest is configured. Closed with the supervisor. */
  readonly renderer: ManifestRenderer | null;
  readonly log: Logger;
  /** Script that a worker process runs. */
  readonly script: string;
  /** Starts the embedded database, or joins the one that runs. */
  readonly startEmbedded: (options: {
    readonly dataDir: string;
    readonly log: (line: string) => void;
    readonly warn: (line: string) => void;
  }) => Promise<{ readonly url: string; stop(): Promise<void> }>;
}

/** A port and its workers. */
interface Service {
  readonly dispatcher: ConnectionDispatcher;
  readonly pool: WorkerPool;
}

/** The primary process of `serve --workers`: starts, restarts and replaces the workers, which serve. */
export class Supervisor {
  /** Resolves to the reason once no worker serves and none can be started. */
  readonly gaveUp: Promise<string>;
  readonly #options: SupervisorOptions;
  readonly #services: Service[] = [];
  /** Closed after the workers. */
  readonly #closers: (() => Promise<void>)[] = [];
  readonly #builds = new BuildRecords();
  readonly #refreshLog: RefreshLog;
  readonly #reloads = new CoalescingRunner(() => this.#reload());
  #giveUp: (reason: string) => void = () => undefined;
  #starting: Promise<void> | null = null;
  #isStopping = false;
  #data: DataWorkers | null = null;
  #databaseUrl: string | null = null;
  #refresher: Refresher | null = null;
  #ramp: RampWorkers | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#refreshLog = new RefreshLog(options.log);
    this.gaveUp = new Promise((resolve) => (this.#giveUp = resolve));
  }

  /** URL of the data API's database, also of the embedded one; null before the start and without one. */
  get databaseUrl(): string | null {
    return this.#databaseUrl;
  }

  /** Resolves once workers serve. Rejects with a clear message when they cannot; `stop` ends what was started. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Re-reads the manifest, activates what changed in all workers and logs the result. */
  async refresh(): Promise<RefreshResult> {
    const status = this.#data?.status ?? { manifest: null, endpoints: 0 };
    return this.#refreshLog.record((await this.#refresher?.refresh()) ?? noManifest(status));
  }

  /** Records what dbt has built, for present and future workers. */
  recordBuilds(builds: readonly NodeBuild[], tests: readonly TestRun[] = []): void {
    this.#builds.record(builds, tests);
    this.#data?.recordBuilds(builds, tests);
  }

  /**
   * Replaces all workers, one at a time, with the current keys, environment files and generated folder. Never rejects:
   * when one of them is invalid, that is logged and the old workers keep serving.
   */
  reload(): Promise<void> {
    return this.#reloads.run();
  }

  /** Stops all workers gracefully, then everything else. May be called at any time. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#stopServices();
    await this.#starting?.catch(() => undefined);
    await this.#stopServices();
    await this.#options.renderer?.close();
    for (const close of this.#closers.reverse()) await close();
  }

  async #start(): Promise<void> {
    const { ramp } = this.#options;
    const config = await this.#readConfig();
    const embedded = await this.#openEmbedded(config);
    const { clickhouseUrl, databaseUrl } = config.environment;
    this.#databaseUrl = clickhouseUrl ?? databaseUrl ?? embedded;
    if (config.data !== null) await this.#startData(config, config.data, this.#databaseUrl ?? "");
    if (ramp) await this.#startRamp(config);
  }

  #readConfig(): Promise<WorkerConfig> {
    return readWorkerConfig(this.#options);
  }

  /** Address of the embedded database, or null where none is needed. The ramp's process opens it too. */
  async #openEmbedded({ environment, data }: WorkerConfig): Promise<string | null> {
    const { dataDir, ramp, log, startEmbedded } = this.#options;
    const { clickhouseUrl, databaseUrl, rampDatabaseUrl } = environment;
    const isForData = data !== null && clickhouseUrl === null;
    const isNeeded = databaseUrl === null && (isForData || (ramp && rampDatabaseUrl === null));
    if (!isNeeded) return null;
    const database = await startEmbedded({
      dataDir,
      log: (line) => log.info(line),
      warn: (line) => log.warn(line),
    });
    this.#closers.push(() => database.stop());
    return database.url;
  }

  async #startData(
    { environment, variables }: WorkerConfig,
    { title, release }: NonNullable<WorkerConfig["data"]>,
    databaseUrl: string,
  ): Promise<void> {
    const { workers, renderer, log } = this.#options;
    const { host, port, keys, redisUrl } = environment;
    const dispatcher = await this.#openDispatcher(host, port);
    const data = new DataWorkers({
      ...this.#poolOptions(dispatcher),
      size: workers,
      databaseUrl,
      config: { variables, keysFile: environment.keysFile, title },
      release: release,
      builds: this.#builds,
      refresh: () => this.refresh(),
    });
    this.#data = data;
    this.#refresher = renderer && new Refresher(data, renderer);
    if (redisUrl === null) log.warn({ workers }, LIMITS_PER_WORKER);
    await this.#startPool(dispatcher, data.pool);
    log.info(
      { url: dispatcher.url, endpoints: release.modules.length, keys: keys.size, workers },
      "listening",
    );
  }

  async #startRamp({ environment, variables }: WorkerConfig): Promise<void> {
    const { dataDir } = this.#options;
    const dispatcher = await this.#openDispatcher(environment.host, environment.rampPort);
    this.#ramp = new RampWorkers({ ...this.#poolOptions(dispatcher), dataDir, variables });
    await this.#startPool(dispatcher, this.#ramp.pool);
  }

  async #openDispatcher(host: string, port: number): Promise<ConnectionDispatcher> {
    if (this.#isStopping) throw new Error("The server is stopping.");
    return ConnectionDispatcher.open(host, port);
  }

  #poolOptions(dispatcher: ConnectionDispatcher) {
    const { log, script } = this.#options;
    return {
      dispatcher,
      script,
      log,
      onUnrecoverable: (reason: string) => this.#giveUpUnlessServing(reason),
    };
  }

  async #startPool(dispatcher: ConnectionDispatcher, pool: WorkerPool): Promise<void> {
    this.#services.push({ dispatcher, pool });
    if (!this.#isStopping) await pool.start();
  }

  /** Keeps trying while another service has workers. */
  #giveUpUnlessServing(reason: string): boolean {
    const isEnd = this.#services.every(({ pool }) => pool.serving.length === 0);
    if (isEnd) this.#giveUp(reason);
    return isEnd;
  }

  async #reload(): Promise<void> {
    const { log } = this.#options;
    const problem = await this.#replaceAll().catch(messageOf);
    if (this.#isStopping) return;
    if (problem === null) log.info(reloadMessage(this.#data?.status.manifest ?? null));
    else log.error({ detail: problem }, NOT_RELOADED);
  }

  /** Null, or why it failed. */
  async #replaceAll(): Promise<string | null> {
    const config = await this.#readConfig();
    const problem = this.#data && config.data && (await this.#reloadData(this.#data, config, config.data));
    return problem ?? (await this.#ramp?.reload(config.variables)) ?? null;
  }

  async #reloadData(
    data: DataWorkers,
    { variables, environment }: WorkerConfig,
    folder: GeneratedRelease,
  ): Promise<string | null> {
    const { manifest } = data.status;
    const isKept = keepsManifest(manifest, folder);
    const config = { variables, keysFile: environment.keysFile, title: folder.title };
    const problem = await data.reload(config, isKept ? null : folder.release);
    if (problem === null && !isKept && manifest !== null) await this.refresh();
    return problem;
  }

  async #stopServices(): Promise<void> {
    for (const { dispatcher } of this.#services) dispatcher.close();
    await Promise.all(this.#services.map(({ pool }) => pool.stop()));
  }
}

const LIMITS_PER_WORKER =
  "rate limits are counted per worker, so a caller may get its limit several times: set REDIS_URL to count them together";

/**
 * The configuration of all workers, read at one moment: a worker that replaces a dead one serves the same, whatever
 * happened to the files since.
 */
interface WorkerConfig {
  /** With the keys in them. */
  readonly variables: EnvironmentVariables;
  readonly environment: Environment;
  /** What the generated folder has to serve; null where the data API is not served. */
  readonly data: GeneratedRelease | null;
}

interface WorkerConfigSource {
  readonly variables: NodeJS.ProcessEnv;
  /** The generated folder; null where the data API is not served. */
  readonly generated: string | null;
  readonly allowEdited: boolean;
  readonly dataDir: string;
}

/** Reads the environment, the keys and the generated folder. Rejects with a message for each that is invalid. */
async function readWorkerConfig({
  variables,
  generated,
  allowEdited,
  dataDir,
}: WorkerConfigSource): Promise<WorkerConfig> {
  const reading = readEnvironment(variables);
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const { environment } = reading;
  const { apiTitle } = environment;
  const data =
    generated === null ? null : await readGeneratedRelease({ generated, dataDir, apiTitle, allowEdited });
  return { variables: withKeysInline(variables, environment.keysFile), environment, data };
}
