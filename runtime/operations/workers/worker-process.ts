import cluster, { type Worker } from "node:cluster";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { forwardLog } from "../../server/logger.js";
import {
  type Assignment,
  type WorkerMessage,
  type ToPrimary,
  type ToWorker,
  PendingRequests,
} from "./messages.js";
/** A process that takes longer to start is stuck. */
const START_MS = 120_000;
/** A graceful stop ends sooner than this. */
const LEAVE_MS = 30_000;

/** How often a worker is pinged, and how long it has to respond: after two missed pings it is killed, within 5 s. */
const PING_MS = 1_000;
const PONG_MS = 1_750;

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it could not start, where that is known. */
  readonly detail: string | null;
}

/** `leaving`: it gets no more connections and ends once its open requests are done. */
export type WorkerState = "starting" | "serving" | "leaving" | "ended";

export type Receive = (worker: WorkerProcess, message: WorkerMessage) => void;

/** A worker process, as the primary sees it. */
export class WorkerProcess {
  /** Resolves to whether it started. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<Ending>;
  readonly #worker: Worker;
  readonly #requests = new PendingRequests();
  #state: WorkerState = "starting";
  #readyAt = Infinity;
  #detail: string | null = null;
  #isStopRequested = false;
  /** Messages from before it listens; null once it does. */
  #early: ToWorker[] | null = [];

  /** Starts a process with the script. */
  constructor(script: string, assignment: Assignment, receive: Receive) {
    const stdio = ["ignore", "pipe", "inherit", "ipc"] as const;
    cluster.setupPrimary({ exec: script, args: [], serialization: "advanced", stdio: [...stdio] });
    this.#worker = cluster.fork();
    if (this.#worker.process.stdout) forwardLog(this.#worker.process.stdout);
    this.ended = this.#end();
    this.ready = this.#start(receive);
    this.send({ kind: "start", assignment });
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
    return this.#readyAt < Infinity;
  }

  /** Since it started to serve; 0 when it never did. */
  get servedMs(): number {
    return this.hasServed ? performance.now() - this.#readyAt : 0;
  }

  /** Whether it was asked to stop. */
  get isStopRequested(): boolean {
    return this.#isStopRequested;
  }

  /** Does nothing when the process has ended. */
  send(message: ToWorker): void {
    if (this.#early) this.#early.push(message);
    else this.#send(message);
  }

  /** Sends it a connection; it confirms with `accepted`. */
  dispatch(id: number, socket: Socket): void {
    this.#send({ kind: "connection", id }, socket);
  }

  /** Resolves to null when no response comes in time, or the process ends. */
  async ask<T>(request: (id: number) => ToWorker, withinMs: number): Promise<T | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), withinMs)));
    const response = this.#requests.ask<T>((id) => this.send(request(id)));
    const first = await Promise.race([response, late, this.ended.then(() => null)]);
    clearTimeout(timer);
    return first;
  }

  /** Stops it gracefully. Resolves once it has ended. */
  async stop(): Promise<void> {
    if (this.#state === "ended") return;
    this.#state = "leaving";
    this.#isStopRequested = true;
    this.send({ kind: "stop" });
    const timer = setTimeout(() => this.kill(), LEAVE_MS);
    await this.ended;
    clearTimeout(timer);
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }

  #send(message: ToWorker, socket?: Socket): void {
    // The connection stays open here until the worker confirms it.
    this.#worker.process.send(message, socket, { keepOpen: true }, () => undefined);
  }

  #end(): Promise<Ending> {
    return new Promise((resolve) => {
      const end = (code: number | null, signal: string | null): void => {
        this.#state = "ended";
        resolve({ code, signal, detail: this.#detail });
      };
      this.#worker.once("exit", (code, signal) => {
        // Its last messages, with what it has counted, may arrive after its exit.
        if (this.#worker.isConnected()) this.#worker.process.once("disconnect", () => end(code, signal));
        else end(code, signal);
      });
      // The process could not be created.
      this.#worker.on("error", ({ message }) => {
        this.#detail ??= message;
        if (this.#worker.process.pid === undefined) end(null, null);
      });
    });
  }

  #start(receive: Receive): Promise<boolean> {
    const timer = setTimeout(() => this.kill(), START_MS);
    const up = new Promise<boolean>((resolve) => {
      this.#worker.on("message", (message: ToPrimary) => {
        if (message.kind === "ready") resolve(this.#isUp());
        else this.#receive(message, receive);
      });
    });
    return Promise.race([up, this.ended.then(() => false)]).finally(() => clearTimeout(timer));
  }

  #isUp(): boolean {
    if (this.#state !== "starting") return false;
    this.#state = "serving";
    this.#readyAt = performance.now();
    void this.#watch();
    return true;
  }

  /** Kills it when it does not respond: frozen or in an endless loop, it would hold its requests forever. */
  async #watch(): Promise<void> {
    const responds = (): Promise<true | null> => this.ask<true>((id) => ({ kind: "ping", id }), PONG_MS);
    // Twice: after a pause of this process the first timer may fire before the response is read.
    while (this.#state !== "ended" && ((await responds()) ?? (await responds())) !== null)
      await sleep(PING_MS);
    if (this.#state === "ended") return;
    this.#detail ??= "it did not respond to two pings and was killed";
    this.kill();
  }

  #receive(message: Exclude<ToPrimary, { kind: "ready" }>, receive: Receive): void {
    switch (message.kind) {
      case "listening":
        return this.#sendEarly();
      case "failed":
        this.#detail = message.detail;
        return;
      case "response":
        return this.#requests.resolve(message.id, message.value);
      default:
        return receive(this, message);
    }
  }

  #sendEarly(): void {
    for (const message of this.#early ?? []) this.#send(message);
    this.#early = null;
  }
}
