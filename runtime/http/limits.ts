import { close, open, readFileSync } from "node:fs";
import type { Logger } from "./logger.js";

/** What a client may hold of a server; times are in milliseconds. */
export interface Limits {
  /** A request's headers must be here by then. */
  readonly headersMs: number;
  /** The whole request, body included. */
  readonly requestMs: number;
  /** A connection without a request is closed after this time. */
  readonly keepAliveMs: number;
  /** So is one whose client has read nothing of its response for this time. */
  readonly stalledMs: number;
  /** What is written in one piece must be read whole by then, however slowly. */
  readonly pieceMs: number;
  /** How long a client of a closing connection may take to read its last response. */
  readonly lingerMs: number;
  /** How often all this is checked. */
  readonly checkMs: number;
  /** Connections at a time; beyond them the idle ones make room. */
  readonly connections: number;
  /** Requests that may wait for their turn on one connection. */
  readonly pipelined: number;
}

/** Of a process that serves nothing else: 10,000 idle connections take some 150 MB. */
const MAX_CONNECTIONS = 10_000;
/** Files that a process needs besides: connections to databases, logs, modules. */
const OTHER_FILES = 200;
/** Servers of one process: the data API and the ramp. */
const SERVERS = 2;
/** With fewer descriptors an ordinary load runs out of them. */
const ENOUGH_FILES = 1024;

export const LIMITS: Limits = {
  headersMs: 10_000,
  requestMs: 30_000,
  // Longer than the idle time of the usual load balancers (60 s), which must be the ones to close.
  keepAliveMs: 65_000,
  // A slow reader's progress shows only when a large part of the system's socket buffer has become free.
  stalledMs: 120_000,
  pieceMs: 600_000,
  lingerMs: 5_000,
  checkMs: 1_000,
  connections: maxConnections(openFilesLimit()),
  // Few clients send a request ahead of its turn; load generators send 16 at a time.
  pipelined: 32,
};

/** Without files to spare not even a connection to the database can be opened. */
function maxConnections(files: number): number {
  return Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor((files - OTHER_FILES) / SERVERS)));
}

/** The limit on open files, where the system tells it: Linux. Elsewhere Node has raised it as far as it goes. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

const REPEAT_MS = 60_000;

/**
 * Logs when file descriptors are few at the start, and when none is left: Node then closes new connections without an event
 * (runtime/README.md, Operations).
 */
export class FileDescriptorMonitor {
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #loggedAt = -Infinity;

  constructor(log: Logger, checkMs = LIMITS.checkMs) {
    this.#log = log;
    const files = openFilesLimit();
    if (files < ENOUGH_FILES) log.warn({ openFiles: files, connections: maxConnections(files) }, FEW_FILES);
    this.#timer = setInterval(() => this.#check(), checkMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    open("/dev/null", (error, file) => {
      if (error === null) return close(file);
      const now = performance.now();
      if (!/^E[MN]FILE$/.test(error.code ?? "") || now - this.#loggedAt < REPEAT_MS) return;
      this.#loggedAt = now;
      this.#log.error({ code: error.code, openFiles: openFilesLimit() }, NO_FILES);
    });
  }
}

const FEW_FILES =
  "few file descriptors: beyond this number of connections callers get 503; raise the limit, for example with `ulimit -n 65536`";
const NO_FILES =
  "no file descriptor is left: new connections are reset and the database may be out of reach; raise the limit, for example with `ulimit -n 65536`";
