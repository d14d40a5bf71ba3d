import { type Build, BuildTimes, type TestRun } from "../data-api/data-versions.js";
import {
  noManifest,
  type RefreshResult,
  Refresher,
  type Renderer,
  RefreshLog,
  SingleFlight,
} from "../data-api/refresh.js";
import type { Logger } from "../http/logger.js";
import { type WorkerConfig, readWorkerConfig } from "./worker-config.js";
import type { WorkerPool } from "./worker-pool.js";
import { DataWorkers } from "./data-workers.js";
import { ConnectionDispatcher } from "./listener.js";
import { RampWorkers } from "./ramp-workers.js";

export interface SupervisorOptions {
  readonly variables: NodeJS.ProcessEnv;
  /** Worker processes of the data API. */
  readonly workers: number;
  /** The generated folder; null: the data API is not served. */
  readonly generated: string | null;
  /** Whether the ramp is served, by a process of its own. */
  readonly ramp: boolean;
  /** Where the embedded database and compiled routes are kept. */
  readonly dataDir: string;
  /** Renders the manifest anew for a refresh; null where no manifest is configured. Closed with the supervisor. */
  readonly renderer: Renderer | null;
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

/** A port and the workers behind it. */
interface Service {
  readonly front: ConnectionDispatcher;
  readonly crew: WorkerPool;
}

/** The primary process of `serve --workers`: it serves nothing itself, and keeps those alive that do. */
export class Supervisor {
  /** Resolves to the reason once no worker serves any more and none comes up. */
  readonly gaveUp: Promise<string>;
  readonly #options: SupervisorOptions;
  readonly #services: Service[] = [];
  /** What is closed behind the workers. */
  readonly #closers: (() => Promise<void>)[] = [];
  readonly #builds = new BuildTimes();
  readonly #refreshLog: RefreshLog;
  readonly #reloads = new SingleFlight(() => this.#reload());
  #giveUp: (reason: string) => void = () => undefined;
  #starting: Promise<void> | null = null;
  #isStopping = false;
  #data: DataWorkers | null = null;
  #refresher: Refresher | null = null;
  #ramp: RampWorkers | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#refreshLog = new RefreshLog(options.log);
    this.gaveUp = new Promise((resolve) => (this.#giveUp = resolve));
  }

  /** Resolves once workers serve. Rejects with a clear line when it cannot be; what was begun is ended by `stop`. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Re-reads the manifest and brings what has changed into service in all workers; what came of it is logged. */
  async refresh(): Promise<RefreshResult> {
    const standing = this.#data?.standing ?? { manifest: null, endpoints: 0 };
    return this.#refreshLog.tell((await this.#refresher?.refresh()) ?? noManifest(standing));
  }

  /** Takes what dbt has built, for all workers: those that are there and those that come. */
  built(builds: readonly Build[], tests: readonly TestRun[] = []): void {
    this.#builds.record(builds, tests);
    this.#data?.built(builds, tests);
  }

  /**
   * Renews all workers, one at a time, with the keys, the environment's files and the generated folder as they are now.
   * Never rejects: where something is wrong with them, it is logged and the old workers go on.
   */
  reload(): Promise<void> {
    return this.#reloads.run();
  }

  /** Lets all workers finish what is under way, and closes all. May be called at any time. */
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
    const blueprint = await this.#readBlueprint();
    const embedded = await this.#openEmbedded(blueprint);
    if (blueprint.data !== null) await this.#startData(blueprint, blueprint.data, embedded);
    if (ramp) await this.#startRamp(blueprint);
  }

  #readBlueprint(): Promise<WorkerConfig> {
    return readWorkerConfig(this.#options);
  }

  /** Address of the embedded database, or null where none is needed. The ramp's process joins it by itself. */
  async #openEmbedded({ environment, data }: WorkerConfig): Promise<string | null> {
    const { dataDir, ramp, log, startEmbedded } = this.#options;
    const { databaseUrl, rampDatabaseUrl } = environment;
    const isNeeded = databaseUrl === null && (data !== null || (ramp && rampDatabaseUrl === null));
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
    embedded: string | null,
  ): Promise<void> {
    const { workers, renderer, log } = this.#options;
    const { host, port, keys, redisUrl } = environment;
    const front = await this.#openFront(host, port);
    const data = new DataWorkers({
      ...this.#crewOptions(front),
      size: workers,
      databaseUrl: environment.databaseUrl ?? embedded ?? "",
      blueprint: { variables, keysFile: environment.keysFile, title },
      edition: release,
      builds: this.#builds,
      refresh: () => this.refresh(),
    });
    this.#data = data;
    this.#refresher = renderer && new Refresher(data, renderer);
    if (redisUrl === null) log.warn({ workers }, LIMITS_APART);
    await this.#startCrew(front, data.crew);
    log.info({ url: front.url, endpoints: release.modules.length, keys: keys.size, workers }, "listening");
  }

  async #startRamp({ environment, variables }: WorkerConfig): Promise<void> {
    const { dataDir } = this.#options;
    const front = await this.#openFront(environment.host, environment.rampPort);
    this.#ramp = new RampWorkers({ ...this.#crewOptions(front), dataDir, variables });
    await this.#startCrew(front, this.#ramp.crew);
  }

  async #openFront(host: string, port: number): Promise<ConnectionDispatcher> {
    if (this.#isStopping) throw new Error("It is being stopped.");
    return ConnectionDispatcher.open(host, port);
  }

  #crewOptions(front: ConnectionDispatcher) {
    const { log, script } = this.#options;
    return { front, script, log, givesUp: (reason: string) => this.#isTheEnd(reason) };
  }

  async #startCrew(front: ConnectionDispatcher, crew: WorkerPool): Promise<void> {
    this.#services.push({ front, crew });
    if (!this.#isStopping) await crew.start();
  }

  /** As long as another service has workers, one that has none is tried on. */
  #isTheEnd(reason: string): boolean {
    const isEnd = this.#services.every(({ crew }) => crew.serving.length === 0);
    if (isEnd) this.#giveUp(reason);
    return isEnd;
  }

  async #reload(): Promise<void> {
    const { log } = this.#options;
    const problem = await this.#renewAll().catch((error: unknown) => (error as Error).message);
    if (this.#isStopping) return;
    if (problem === null) log.info("reloaded");
    else log.error({ detail: problem }, "not reloaded");
  }

  /** Null, or what was in the way. */
  async #renewAll(): Promise<string | null> {
    const { variables, environment, data } = await this.#readBlueprint();
    const problem =
      this.#data && data
        ? await this.#data.reload(
            { variables, keysFile: environment.keysFile, title: data.title },
            data.release,
          )
        : null;
    return problem ?? (await this.#ramp?.reload(variables)) ?? null;
  }

  async #stopServices(): Promise<void> {
    for (const { front } of this.#services) front.close();
    await Promise.all(this.#services.map(({ crew }) => crew.stop()));
  }
}

const LIMITS_APART =
  "rate limits are counted in each worker by itself, so a caller may get its limit several times over: set REDIS_URL to count them together";
