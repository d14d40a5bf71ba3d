import cluster, { type Worker } from "node:cluster";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { forwardLog } from "../http/logger.js";
import type { Assignment, News, ToPrimary, ToWorker } from "./messages.js";
import { Questions } from "./questions.js";

/** A process that has not come up by then is taken for stuck. */
const START_MS = 120_000;
/** One that was told to drain ends by itself sooner than this. */
const LEAVE_MS = 30_000;

/** A worker is checked so often, and killed when it answers neither of two pings: within 5 s of its last sign of life. */
const PING_MS = 1_000;
const PONG_MS = 1_750;

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it could not start, where it has told. */
  readonly detail: string | null;
}

/** `leaving`: it takes no more connections, and ends when it has answered what is under way. */
export type WorkerState = "starting" | "serving" | "leaving" | "ended";

export type Receive = (worker: WorkerProcess, news: News) => void;

/** A worker process, as the primary sees it. */
export class WorkerProcess {
  /** Resolves to whether it came up. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<Ending>;
  readonly #worker: Worker;
  readonly #questions = new Questions();
  #state: WorkerState = "starting";
  #readyAt = Infinity;
  #detail: string | null = null;
  #wasToLeave = false;
  /** What it is told before it listens; null once it does. */
  #early: ToWorker[] | null = [];

  /** Starts it. `script` is what it runs. */
  constructor(script: string, assignment: Assignment, receive: Receive) {
    const stdio = ["ignore", "pipe", "inherit", "ipc"] as const;
    cluster.setupPrimary({ exec: script, args: [], serialization: "advanced", stdio: [...stdio] });
    this.#worker = cluster.fork();
    if (this.#worker.process.stdout) forwardLog(this.#worker.process.stdout);
    this.ended = this.#end();
    this.ready = this.#start(receive);
    this.tell({ kind: "start", assignment });
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

  get wasUp(): boolean {
    return this.#readyAt < Infinity;
  }

  /** Since it came up; 0 when it never did. */
  get servedMs(): number {
    return this.wasUp ? performance.now() - this.#readyAt : 0;
  }

  /** Whether it was told to end. */
  get wasToLeave(): boolean {
    return this.#wasToLeave;
  }

  /** To a process that has ended nothing is sent. */
  tell(message: ToWorker): void {
    if (this.#early) this.#early.push(message);
    else this.#send(message);
  }

  /** Hands it a connection; it says that it has it by `taken`. */
  hand(id: number, socket: Socket): void {
    this.#send({ kind: "connection", id }, socket);
  }

  /** Resolves to null when no answer comes in time, or none can come any more. */
  async ask<T>(question: (id: number) => ToWorker, withinMs: number): Promise<T | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), withinMs)));
    const answer = this.#questions.ask<T>((id) => this.tell(question(id)));
    const first = await Promise.race([answer, late, this.ended.then(() => null)]);
    clearTimeout(timer);
    return first;
  }

  /** Lets it finish what is under way. Resolves once it has ended. */
  async leave(): Promise<void> {
    if (this.#state === "ended") return;
    this.#state = "leaving";
    this.#wasToLeave = true;
    this.tell({ kind: "drain" });
    const timer = setTimeout(() => this.kill(), LEAVE_MS);
    await this.ended;
    clearTimeout(timer);
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }

  #send(message: ToWorker, socket?: Socket): void {
    // A connection stays open here too, until the worker has said that it has it.
    this.#worker.process.send(message, socket, { keepOpen: true }, () => undefined);
  }

  #end(): Promise<Ending> {
    return new Promise((resolve) => {
      const end = (code: number | null, signal: string | null): void => {
        this.#state = "ended";
        resolve({ code, signal, detail: this.#detail });
      };
      this.#worker.once("exit", end);
      // It could not be made at all.
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
        else this.#hear(message, receive);
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

  /** Kills it when it does not respond: frozen or in an endless loop, it would hold its requests for ever. */
  async #watch(): Promise<void> {
    const responds = (): Promise<true | null> => this.ask<true>((id) => ({ kind: "ping", id }), PONG_MS);
    // Twice: after a pause of this process itself the first timer may run before the answer is read.
    while (this.#state !== "ended" && ((await responds()) ?? (await responds())) !== null)
      await sleep(PING_MS);
    if (this.#state === "ended") return;
    this.#detail ??= "it did not respond to two pings and was killed";
    this.kill();
  }

  #hear(message: Exclude<ToPrimary, { kind: "ready" }>, receive: Receive): void {
    switch (message.kind) {
      case "listening":
        return this.#sendEarly();
      case "failed":
        this.#detail = message.detail;
        return;
      case "answer":
        return this.#questions.settle(message.id, message.value);
      default:
        return receive(this, message);
    }
  }

  #sendEarly(): void {
    for (const message of this.#early ?? []) this.#send(message);
    this.#early = null;
  }
}
