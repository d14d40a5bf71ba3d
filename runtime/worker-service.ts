import type { MetricsSnapshot } from "./operations/metrics.js";
import type { NodeBuild, TestRun } from "./warehouse/data-versions.js";
import { loadRelease, type Release } from "./release/release.js";
import { type DataService, startDataService } from "./data-service.js";
import { type Environment, readEnvironment } from "./operations/environment.js";
import { type Logger, createWorkerLogger } from "./server/logger.js";
import type { ConnectionSource, RunningServer } from "./server/listen.js";
import {
  type Activation,
  type Assignment,
  type DataAssignment,
  type EnvironmentVariables,
  type RampAssignment,
  type WorkerRequest,
  type ToPrimary,
  type ToWorker,
  PendingRequests,
} from "./operations/workers/messages.js";
import type { Socket } from "node:net";
import { messageOf } from "./model/error-message.js";
/** What a worker process serves. */
export type WorkerService = DataWorkerService | RampWorkerService;

export interface DataWorkerService {
  readonly role: "data";
  /** Activates a release. */
  activate(release: Release): Promise<Activation>;
  recordBuilds(builds: readonly NodeBuild[], tests: readonly TestRun[]): void;
  metrics(): Promise<MetricsSnapshot>;
  /** Stops gracefully. */
  stop(): Promise<void>;
}

export interface RampWorkerService {
  readonly role: "ramp";
  /** Stops gracefully. */
  stop(): Promise<void>;
}

/** Starts the ramp; the composition root passes it in. */
export type StartRamp = (
  options: { readonly environment: Environment; readonly dataDir: string; readonly log: Logger },
  connections: ConnectionSource,
) => Promise<RunningServer>;

/** Starts what a worker serves. Rejects with a clear message when it cannot. */
export function startWorkerService(
  assignment: Assignment,
  worker: number,
  primary: PrimaryLink,
  startRamp: StartRamp,
): Promise<WorkerService> {
  switch (assignment.role) {
    case "data":
      return serveData(assignment, worker, primary);
    case "ramp":
      return serveRamp(assignment, worker, primary, startRamp);
  }
}

async function serveData(
  { variables, keysFile, url, databaseUrl, title, release, builds, tests }: DataAssignment,
  worker: number,
  primary: PrimaryLink,
): Promise<DataWorkerService> {
  const environment = { ...environmentOf(variables), keysFile };
  const active = { current: loadRelease(release, null) };
  const service = await startDataService({
    environment,
    databaseUrl,
    title,
    active,
    refresh: () => primary.ask("refresh"),
    log: createWorkerLogger(environment.logLevel, worker),
    connections: primary.connectionSource(url),
    metricsText: () => primary.ask("metrics"),
  });
  service.builds.record(builds, tests);
  return {
    role: "data",
    activate: (next) => activationOf(service, next),
    recordBuilds: (...results) => service.builds.record(...results),
    metrics: () => service.metrics.snapshot(),
    stop: () => service.stop(),
  };
}

async function activationOf(service: DataService, release: Release): Promise<Activation> {
  try {
    return { ok: true, result: await service.activate(release) };
  } catch (error) {
    return { ok: false, detail: messageOf(error) };
  }
}

async function serveRamp(
  { variables, url, dataDir }: RampAssignment,
  worker: number,
  primary: PrimaryLink,
  startRamp: StartRamp,
): Promise<RampWorkerService> {
  const environment = environmentOf(variables);
  const log = createWorkerLogger(environment.logLevel, worker);
  const server = await startRamp({ environment, dataDir, log }, primary.connectionSource(url));
  return { role: "ramp", stop: () => server.stop() };
}

/** The primary has read the same. */
function environmentOf(variables: EnvironmentVariables): Environment {
  const reading = readEnvironment(variables);
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return reading.environment;
}

/** Delay after a connection has closed, within which the number of open connections is sent. */
const OPEN_INTERVAL_MS = 100;

/** The primary, as a worker process sees it. */
export class PrimaryLink {
  readonly #requests = new PendingRequests();
  readonly #sockets = new Set<Socket>();
  #accept: (socket: Socket) => void = (socket) => void socket.destroy();
  #timer: NodeJS.Timeout | null = null;

  /** `done`: called once it is sent. */
  send(message: ToPrimary, done: () => void = () => undefined): void {
    process.send?.(message, undefined, undefined, done);
  }

  ask<T>(request: WorkerRequest): Promise<T> {
    return this.#requests.ask<T>((id) => this.send({ kind: "request", id, request }));
  }

  /** The primary has responded to a request. */
  responded({ id, value }: Extract<ToWorker, { kind: "response" }>): void {
    this.#requests.resolve(id, value);
  }

  /** The connections that the primary dispatches to this worker; `url` is its address. */
  connectionSource(url: string): ConnectionSource {
    return (accept) => {
      this.#accept = accept;
      return Promise.resolve({ url, close: () => undefined });
    };
  }

  /** Receives a connection; it is undefined when the client disconnected on the way. */
  accept(id: number, socket: Socket | undefined): void {
    if (socket) this.#sockets.add(socket);
    this.send({ kind: "accepted", id, open: this.#sockets.size });
    if (!socket) return;
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#timer ??= setTimeout(() => this.#sendOpen(), OPEN_INTERVAL_MS);
    });
    this.#accept(socket);
  }

  #sendOpen(): void {
    this.#timer = null;
    this.send({ kind: "open", open: this.#sockets.size });
  }
}
