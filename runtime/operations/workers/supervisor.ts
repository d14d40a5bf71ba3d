import { randomBytes } from "node:crypto";
import cluster, { type Worker } from "node:cluster";
import type { StdioOptions } from "node:child_process";
import { createServer } from "node:net";
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
import { bind } from "../../server/listen.js";
import { forwardLog, type Logger } from "../../server/logger.js";
import { type GeneratedRelease, keepsManifest, readGeneratedRelease } from "../../release/release.js";
import { messageOf } from "../../model/error-message.js";
import { type Environment, readEnvironment } from "../environment.js";
import { warnOfCursorKey } from "../../release/gateway.js";
import { KeyFileWatcher } from "../key-file-watcher.js";
import { type DataConfig, DataWorkers } from "./data-workers.js";
import type { PrimaryFunctions } from "./messages.js";
import { WorkerPool } from "./worker-pool.js";
import { WorkerProcess } from "./worker-process.js";

export interface SupervisorOptions {
  readonly variables: NodeJS.ProcessEnv;
  /** Worker processes of the data API. */
  readonly workers: number;
  /** The generated folder; null: the data API is not served. */
  readonly generated: string | null;
  /** Whether modules may differ from what was generated. */
  readonly allowEdited: boolean;
  /** Whether the ramp is served, by a process of its own: a crash cannot affect the data API. */
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

/**
 * The primary process of `serve --workers`: starts, restarts and replaces the workers, which serve. node:cluster
 * distributes the connections; the port is closed while no worker serves.
 */
export class Supervisor {
  /** Resolves to the reason once no worker serves and none can be started. */
  readonly gaveUp: Promise<string>;
  readonly #options: SupervisorOptions;
  readonly #pools: WorkerPool[] = [];
  /** Called after the workers have stopped. */
  readonly #closers: (() => Promise<void>)[] = [];
  readonly #builds = new BuildRecords();
  readonly #refreshLog: RefreshLog;
  readonly #reloads = new CoalescingRunner(() => this.#reload());
  readonly #cursorKey = randomBytes(32).toString("hex");
  #giveUp: (reason: string) => void = () => undefined;
  #starting: Promise<void> | null = null;
  #isStopping = false;
  #data: DataWorkers | null = null;
  #databaseUrl: string | null = null;
  #dataPort = 0;
  #ramp: WorkerPool | null = null;
  #refresher: Refresher | null = null;
  #keyWatcher: KeyFileWatcher | null = null;

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
    this.#keyWatcher?.close();
    const stopPools = (): Promise<unknown> => Promise.all(this.#pools.map((pool) => pool.stop()));
    await stopPools();
    await this.#starting?.catch(() => undefined);
    await stopPools();
    await this.#options.renderer?.close();
    for (const close of this.#closers.reverse()) await close();
  }

  async #start(): Promise<void> {
    const { ramp, generated, script } = this.#options;
    cluster.setupPrimary({ exec: script, args: [], serialization: "advanced", stdio: STDIO });
    const environment = this.#readEnvironment();
    const embedded = await this.#openEmbedded(environment);
    this.#databaseUrl = environment.clickhouseUrl ?? environment.databaseUrl ?? embedded;
    if (generated !== null) await this.#startData(generated, environment);
    if (ramp) await this.#startRamp(environment);
  }

  #readEnvironment(): Environment {
    const reading = readEnvironment(this.#options.variables);
    if (!reading.ok) throw new Error(reading.problems.join(" "));
    return reading.environment;
  }

  /** Address of the embedded database, or null where none is needed. The ramp's process opens it too. */
  async #openEmbedded({ clickhouseUrl, databaseUrl, rampDatabaseUrl }: Environment): Promise<string | null> {
    const { dataDir, generated, ramp, log, startEmbedded } = this.#options;
    const isForData = generated !== null && clickhouseUrl === null;
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

  async #startData(generated: string, environment: Environment): Promise<void> {
    const { workers: size, renderer, log } = this.#options;
    const { keys, keysFile, redisUrl } = environment;
    const { url, port } = await this.#reservePort(environment.host, environment.port);
    this.#dataPort = port;
    const folder = await this.#readFolder(generated, environment);
    const data = new DataWorkers({
      fork: forkWorker,
      size,
      log,
      onUnrecoverable: (reason) => this.#giveUpUnlessServing(reason),
      config: this.#configOf(folder, environment),
      builds: this.#builds,
      refresh: () => this.refresh(),
    });
    this.#data = data;
    this.#refresher = renderer && new Refresher(data, renderer);
    if (redisUrl === null) log.warn({ workers: size }, LIMITS_PER_WORKER);
    warnOfCursorKey(environment, folder.release, log);
    if (keysFile !== null)
      this.#keyWatcher = new KeyFileWatcher(keys, keysFile, log, ({ owners }) => void data.setKeys(owners));
    await this.#startPool(data.pool);
    log.info({ url, endpoints: data.status.endpoints, keys: keys.size, workers: size }, "listening");
  }

  #readFolder(generated: string, { apiTitle }: Environment): Promise<GeneratedRelease> {
    const { dataDir, allowEdited } = this.#options;
    return readGeneratedRelease({ generated, dataDir, apiTitle, allowEdited });
  }

  #configOf({ title, release }: GeneratedRelease, { keys }: Environment): DataConfig {
    const databaseUrl = this.#databaseUrl ?? "";
    return {
      variables: this.#variables,
      port: this.#dataPort,
      keys: keys.owners,
      databaseUrl,
      title,
      release,
    };
  }

  async #startRamp({ host, rampPort }: Environment): Promise<void> {
    const { dataDir, log } = this.#options;
    const { port } = await this.#reservePort(host, rampPort);
    const assignment = { role: "ramp", variables: this.#variables, port, dataDir } as const;
    this.#ramp = new WorkerPool({
      role: "ramp",
      size: 1,
      launch: () => new WorkerProcess(forkWorker(), assignment, NO_FUNCTIONS),
      onUnrecoverable: (reason) => this.#giveUpUnlessServing(reason),
      log,
    });
    await this.#startPool(this.#ramp);
  }

  /**
   * The keys are sent apart: a worker that starts while the key file is invalid gets those in force. All workers sign
   * cursors with one key.
   */
  get #variables(): NodeJS.ProcessEnv {
    const { variables } = this.#options;
    const CURSOR_KEY = variables["CURSOR_KEY"]?.trim() || this.#cursorKey;
    return { ...variables, API_KEYS: "{}", CURSOR_KEY };
  }

  /** Finds out whether the port is free, and chooses one for port 0: all workers must listen on the same. */
  async #reservePort(host: string, port: number): Promise<{ readonly url: string; readonly port: number }> {
    if (this.#isStopping) throw new Error("The server is stopping.");
    const server = createServer();
    const url = await bind(server, host, port);
    server.close();
    return { url, port: Number(new URL(url).port) };
  }

  async #startPool(pool: WorkerPool): Promise<void> {
    this.#pools.push(pool);
    if (!this.#isStopping) await pool.start();
  }

  /** Keeps trying while another pool has workers. */
  #giveUpUnlessServing(reason: string): boolean {
    const isEnd = this.#pools.every(({ serving }) => serving.length === 0);
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
    const environment = this.#readEnvironment();
    const problem = this.#data && (await this.#reloadData(this.#data, environment));
    return problem ?? (await this.#ramp?.restartAll())?.problem ?? null;
  }

  async #reloadData(data: DataWorkers, environment: Environment): Promise<string | null> {
    const folder = await this.#readFolder(this.#options.generated ?? "", environment);
    const { manifest } = data.status;
    const isKept = keepsManifest(manifest, folder);
    const problem = await data.reload(this.#configOf(folder, environment), isKept);
    if (problem === null && !isKept && manifest !== null) await this.refresh();
    return problem;
  }
}

const LIMITS_PER_WORKER =
  "rate limits are counted per worker, so a caller may get its limit several times: set REDIS_URL to count them together";

/** Two processes cannot share a non-blocking output: the primary writes the workers' log. */
const STDIO = ["ignore", "pipe", "inherit", "ipc"] satisfies StdioOptions;

function forkWorker(): Worker {
  const worker = cluster.fork();
  if (worker.process.stdout) forwardLog(worker.process.stdout);
  return worker;
}

/** The ramp calls nothing in the primary. */
const NO_FUNCTIONS: PrimaryFunctions = {
  refresh: () => Promise.reject(new Error("only the data API is refreshed")),
  metricsText: () => Promise.reject(new Error("only the data API has metrics here")),
};
