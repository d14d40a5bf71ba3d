import type { Worker } from "node:cluster";
import { setTimeout as sleep } from "node:timers/promises";
import type { MetricsSnapshot } from "../../../core/http/prometheus.js";
import { messageOf } from "../../../core/model/outcome.js";
import {
  type WorkerMessage,
  MessageChannel,
  type PrimaryFunctions,
  type Role,
  type WorkerFunctions,
} from "./messages.js";

/** A graceful stop ends sooner, unless the database is frozen: then it had not ended after 60 s. */
const STOP_MS = 30_000;
/**
 * How often a worker is pinged, and how long it has to respond: after two missed pings it is killed, within 5 s. A frozen
 * worker would hold its requests, and every refresh, for as long as it runs.
 */
const PING_MS = 1_000;
const PONG_MS = 1_750;

/** A worker process, as the primary sees it. */
export class WorkerProcess {
  readonly role: Role;
  /** Resolves to whether it serves. */
  readonly ready: Promise<boolean>;
  /** Resolves to how it ended. */
  readonly ended: Promise<string>;
  /** As last read. */
  metrics: MetricsSnapshot = [];
  /** What it said of itself when it began to serve. */
  facts: object = {};
  isStopRequested = false;
  hasServed = false;
  readonly #worker: Worker;
  readonly #channel: MessageChannel<PrimaryFunctions, WorkerFunctions>;
  /** Bounded by the calls that wait. A reaction of `ended` for each would stay as long as the worker: 40 MB a day of pings. */
  readonly #waiting = new Set<(error: Error) => void>();
  #hasEnded = false;
  #killedFor: string | null = null;

  constructor(worker: Worker, role: Role, functions: Omit<PrimaryFunctions, "serves" | "fails">) {
    this.role = role;
    this.#worker = worker;
    const { process } = worker;
    this.ended = new Promise<string>((resolve) => {
      // Unlike `exit`, after its last messages and its log.
      process.once("close", (code: number | null, signal: string | null) => {
        const how = signal === null ? `it ended with code ${String(code)}` : `it was ended by ${signal}`;
        resolve(this.#killedFor ?? how);
      });
      // It could not be created.
      process.on("error", ({ message }) => resolve(message));
    }).finally(() => (this.#hasEnded = true));
    void this.ended.then((reason) => {
      for (const reject of this.#waiting) reject(new Error(reason));
    });
    let serves: (isServing: boolean) => void = () => undefined;
    const started = new Promise<boolean>((resolve) => (serves = resolve));
    const own: PrimaryFunctions = {
      ...functions,
      serves: (facts) => Promise.resolve((this.facts = facts)).then(() => serves(true)),
      fails: (reason) => Promise.resolve(this.kill(reason)),
    };
    // Messages to a process that is ending are lost; `ended` settles its calls.
    this.#channel = new MessageChannel(own, (message) => process.send(message, () => undefined));
    worker.on("message", (message: WorkerMessage) => void this.#channel.receive(message));
    this.ready = Promise.race([started, this.ended.then(() => false)]);
    void started.then(() => this.#watch());
  }

  /** Whether it accepts connections. */
  get isServing(): boolean {
    return this.hasServed && !this.#hasEnded && !this.isStopRequested;
  }

  /** For the log. */
  get fields(): object {
    return { worker: this.#worker.id, pid: this.#worker.process.pid ?? null, role: this.role };
  }

  /** Calls a function of the worker. Also rejects when the process ends first; pings end one that does not respond. */
  call<K extends keyof WorkerFunctions>(
    name: K,
    ...args: Parameters<WorkerFunctions[K]>
  ): Promise<Awaited<ReturnType<WorkerFunctions[K]>>> {
    type Value = Awaited<ReturnType<WorkerFunctions[K]>>;
    if (this.#hasEnded) return this.ended.then((reason) => Promise.reject(new Error(reason)));
    return new Promise<Value>((resolve, reject) => {
      this.#waiting.add(reject);
      const called = this.#channel.call(name, ...(args as never)) as Promise<Value>;
      void called.then(resolve, reject).finally(() => this.#waiting.delete(reject));
    });
  }

  /** Changes it once it has started. One that cannot change is killed: it would serve another release than the rest. */
  async change<K extends "activate" | "recordBuilds">(
    name: K,
    ...args: Parameters<WorkerFunctions[K]>
  ): Promise<void> {
    if (!(await this.ready) || !this.isServing) return;
    await this.call(name, ...args).catch((error: unknown) =>
      this.kill(`${name} failed: ${messageOf(error)}`),
    );
  }

  /** Stops it gracefully. Resolves once it has ended. */
  async stop(): Promise<void> {
    this.isStopRequested = true;
    // It has no request to finish, and a message that comes before it listens is lost: Ctrl-C took 30 s.
    if (!this.hasServed) this.kill("it was stopped during its start");
    const timer = setTimeout(() => this.kill("it did not stop in time"), STOP_MS);
    this.metrics = await this.call("stop").catch(() => this.metrics);
    void this.#channel.call("exit");
    await this.ended;
    clearTimeout(timer);
  }

  kill(reason: string): void {
    this.#killedFor ??= reason;
    this.#worker.process.kill("SIGKILL");
  }

  /** Kills it when it does not respond. */
  async #watch(): Promise<void> {
    this.hasServed = true;
    const responds = async (): Promise<boolean> => {
      const pong = this.call("ping").then(() => true);
      return Promise.race([pong, sleep(PONG_MS, false, { ref: false })]).catch(() => false);
    };
    // Twice: after a pause of this process the first timer may fire before the response is read.
    while ((await responds()) || (await responds())) await sleep(PING_MS, null, { ref: false });
    this.kill("it did not respond to two pings and was killed");
  }
}
