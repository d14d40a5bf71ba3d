import type { Worker } from "node:cluster";
import { EventEmitter } from "node:events";
import {
  type Assignment,
  type Message,
  MessageChannel,
  type PrimaryFunctions,
  type WorkerFunctions,
} from "../../../runtime/operations/workers/messages.js";
import type { RefreshResult } from "../../../runtime/release/activate.js";
import type { Release } from "../../../runtime/release/release.js";

/** A worker process without a process: it records what it is called with, and ends when the test says so. */
export class FakeWorker extends EventEmitter {
  readonly id: number;
  /** Assigned at its start. */
  assignment: Assignment | null = null;
  /** Releases, in the order of their activation. */
  readonly activated: Release[] = [];
  readonly keys: unknown[] = [];
  isFrozen = false;
  isStopped = false;
  readonly process = Object.assign(new EventEmitter(), {
    pid: 0,
    send: (message: Message) => queueMicrotask(() => this.#receive(message)),
    kill: () => this.end(null, "SIGKILL"),
  });
  readonly #channel: MessageChannel<WorkerFunctions, PrimaryFunctions>;
  #hasEnded = false;

  constructor(id: number, functions: Partial<WorkerFunctions> = {}) {
    super();
    this.id = id;
    this.process.pid = 1000 + id;
    const own = { ...this.#functions(), ...functions };
    this.#channel = new MessageChannel(own, (message) => void this.emit("message", message));
    queueMicrotask(() => this.emit("message", { id: 0 }));
  }

  /** As node:cluster gives it. */
  get worker(): Worker {
    return this as unknown as Worker;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  end(code: number | null, signal: string | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    queueMicrotask(() => this.process.emit("close", code, signal));
  }

  metricsText(): Promise<string> {
    return this.#channel.call("metricsText");
  }

  #receive(message: Message): void {
    if (!this.#hasEnded && !this.isFrozen) void this.#channel.receive(message);
  }

  #functions(): WorkerFunctions {
    return {
      start: (assignment) => {
        this.assignment = assignment;
        return Promise.resolve();
      },
      activate: (release) => {
        this.activated.push(release);
        return Promise.resolve(RELOADED);
      },
      recordBuilds: () => Promise.resolve(),
      setKeys: (keys) => Promise.resolve(void this.keys.push(keys)),
      metrics: () => Promise.resolve(null),
      stop: () => {
        this.isStopped = true;
        return Promise.resolve(null);
      },
      exit: () => Promise.resolve(this.end(0, null)),
      ping: () => Promise.resolve(),
    };
  }
}

const RELOADED: RefreshResult = {
  status: "reloaded",
  models: 1,
  endpoints: 1,
  added: [],
  removed: [],
  changed: [],
  skipped: [],
  held_back: [],
  warnings: [],
  manifest_hash: "",
  loaded_at: "",
};
