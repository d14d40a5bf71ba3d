import { readFileSync } from "node:fs";
import type { Logger } from "./logger.js";

/** What a client must take of its responses, while more waits for it: so much in each window. */
export interface ReadRate {
  readonly bytes: number;
  readonly windowMs: number;
}

/** Limits per client and per server; times are in milliseconds. */
export interface ServerLimits {
  /** Time to receive a request's headers. */
  readonly headersMs: number;
  /** Time to receive a whole request, including its body. */
  readonly requestMs: number;
  /** A connection without a request is closed after this time. */
  readonly keepAliveMs: number;
  /** A connection whose client reads more slowly is reset. */
  readonly minimumRate: ReadRate;
  /** Time for the client of a closing connection to read its last response. */
  readonly lingerMs: number;
  /** Interval of the checks. */
  readonly checkMs: number;
  /** Open connections; new ones beyond it evict idle ones. */
  readonly connections: number;
  /** Requests that may be pending on one connection. */
  readonly pipelined: number;
}

/** 10,000 idle connections take about 150 MB. */
const MAX_CONNECTIONS = 10_000;
/** Other file descriptors of a process: connections to databases, logs, modules. */
const OTHER_FILES = 200;
/** Servers of one process: the data API and the ramp. */
const SERVERS = 2;
/** With fewer file descriptors the server warns at start. */
const ENOUGH_FILES = 1024;

/**
 * About 9 kB/s, as an average that allows a pause of two minutes. What waits for a client takes memory, disk and a place of
 * its caller's share (runtime/docs/limits.md): 100 clients that read nothing of 1.9 MB held it for 10 minutes, and
 * clients that read a byte per minute for ever.
 */
const MINIMUM_RATE: ReadRate = { bytes: 1024 * 1024, windowMs: 120_000 };

export const SERVER_LIMITS: ServerLimits = {
  headersMs: 10_000,
  requestMs: 30_000,
  // Longer than the idle timeout of common load balancers (60 s): the load balancer must close first.
  keepAliveMs: 65_000,
  minimumRate: MINIMUM_RATE,
  lingerMs: 5_000,
  checkMs: 1_000,
  connections: maxConnections(openFilesLimit()),
  // Few clients send a request ahead of its turn; load generators send 16 at a time. Their results wait in memory.
  pipelined: 20,
};

/** Keeps file descriptors free for everything else, such as database connections. */
function maxConnections(files: number): number {
  return Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor((files - OTHER_FILES) / SERVERS)));
}

/** The limit on open files on Linux. On other systems Node raises it to the maximum. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** Warns at the start: past the limit new connections get 503. */
export function warnOfFewFiles(log: Logger): void {
  const files = openFilesLimit();
  if (files < ENOUGH_FILES) log.warn({ openFiles: files, connections: maxConnections(files) }, FEW_FILES);
}

const FEW_FILES =
  "few file descriptors: more connections than this get 503; raise the limit, for example with `ulimit -n 65536`";
