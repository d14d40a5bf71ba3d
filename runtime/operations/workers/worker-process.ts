import type { Worker } from "node:cluster";
import { messageOf } from "../../model/error-message.js";
import type { MetricsSnapshot } from "./worker-metrics.js";
import {
  type Assignment,
  type Message,
  MessageChannel,
  type PrimaryFunctions,
  type WorkerFunctions,
} from "./messages.js";

/** A process that takes longer to start is stuck. */
const START_MS = 120_000;
/** A graceful stop ends sooner than this. */
const STOP_MS = 30_000;
/**
 * How often a worker is pinged, and how long it has to respond: after two missed pings it is killed, within 5 s. A frozen
 * worker would hold its requests, and every refresh, for as long as it runs.
 */
const PING_MS = 1_000;
const PONG_MS = 1_750;

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it was killed, or could not start. */
  readonly detail: string | null;
}

/** `leaving`: it accepts no more connections and ends once its open requests are done. */
type WorkerState = "starting" | "serving" | "leaving" | "ended";

/** A worker process, as the primary sees it. */
export class WorkerProcess {
  /** Resolves to whether it started. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<Ending>;
  /** As last read. */
  metrics: MetricsSnapshot | null = null;
  readonly #worker: Worker;
  readonly #channel: MessageChannel<PrimaryFunctions, WorkerFunctions>;
  #state: WorkerState = "starting";
  #servingSince = Infinity;
  #detail: string | null = null;
  #isStopRequested = false;

  constructor(worker: Worker, assignment: Assignment, functions: PrimaryFunctions) {
    this.#worker = worker;
    // node:cluster loses messages that are sent before the script listens; the first one that it sends says so. Messages
    // to a process that is ending are lost; `ended` settles its calls.
    const listening = new Promise((resolve) => worker.once("message", resolve));
    this.#channel = new MessageChannel(functions, (message) => {
      void listening.then(() => worker.process.send(message, () => undefined));
    });
    worker.on("message", (message: Message) => void this.#channel.receive(message));
    this.ended = this.#end();
    this.ready = this.#start(assignment);
  }

  get id(): number {
    return this.#worker.id;
  }

  get pid(): number | null {
    return this.#worker.process.pid ?? null;
  }

  get state(): WorkerState {
    return this.#state;
  }

  get hasServed(): boolean {
    return this.#servingSince < Infinity;
  }

  /** Since it started to serve; 0 when it never did. */
  get servedMs(): number {
    return this.hasServed ? performance.now() - this.#servingSince : 0;
  }

  get isStopRequested(): boolean {
    return this.#isStopRequested;
  }

  /** Calls a function of the worker. Also rejects when the process ends first, or takes longer than `withinMs`. */
  async call<K extends keyof WorkerFunctions>(
    withinMs: number,
    name: K,
    ...args: Parameters<WorkerFunctions[K]>
  ): Promise<Awaited<ReturnType<WorkerFunctions[K]>>> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`it did not respond within ${withinMs / 1000} s`)), withinMs);
    });
    const gone = this.ended.then((ending) => Promise.reject(new Error(reasonOf(ending))));
    const called = this.#channel.call(name, ...(args as never)) as ReturnType<WorkerFunctions[K]>;
    return Promise.race([called, late, gone]).finally(() => clearTimeout(timer));
  }

  /** Stops it gracefully. Resolves once it has ended. */
  async stop(): Promise<void> {
    if (this.#state === "ended") return;
    this.#state = "leaving";
    this.#isStopRequested = true;
    try {
      this.metrics = await this.call(STOP_MS, "stop");
      void this.#channel.call("exit");
    } catch (error) {
      this.kill(messageOf(error));
    }
    await this.ended;
  }

  kill(reason: string): void {
    if (this.#state !== "ended") this.#detail ??= reason;
    this.#worker.process.kill("SIGKILL");
  }

  #end(): Promise<Ending> {
    const { process } = this.#worker;
    return new Promise((resolve) => {
      const end = (code: number | null, signal: string | null): void => {
        this.#state = "ended";
        resolve({ code, signal, detail: this.#detail });
      };
      // Unlike `exit`, after its last messages and its log.
      process.once("close", end);
      process.on("error", ({ message }) => {
        this.#detail ??= message;
        // It could not be created.
        if (process.pid === undefined) end(null, null);
      });
    });
  }

  async #start(assignment: Assignment): Promise<boolean> {
    try {
      await this.call(START_MS, "start", assignment);
    } catch (error) {
      this.kill(messageOf(error));
      await this.ended;
    }
    if (this.#state !== "starting") return false;
    this.#state = "serving";
    this.#servingSince = performance.now();
    void this.#watch();
    return true;
  }

  /** Kills it when it does not respond. */
  async #watch(): Promise<void> {
    const responds = (): Promise<boolean> =>
      this.call(PONG_MS, "ping").then(
        () => true,
        () => false,
      );
    // Twice: after a pause of this process the first timer may fire before the response is read.
    while ((await responds()) || (await responds()))
      await new Promise((resolve) => setTimeout(resolve, PING_MS).unref());
    if (this.#state !== "ended") this.kill("it did not respond to two pings and was killed");
  }
}

export function reasonOf({ code, signal, detail }: Ending): string {
  if (detail !== null) return detail;
  return signal === null ? `it ended with code ${String(code)}` : `it was ended by ${signal}`;
}
