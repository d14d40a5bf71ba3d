import { readFileSync } from "node:fs";

/** 10,000 idle connections take about 150 MB. */
const MAX_CONNECTIONS = 10_000;
/** Other file descriptors of a process: connections to databases, logs, modules. */
const OTHER_FILES = 200;
/** Servers of one process: the data API and the ramp. */
const SERVERS = 2;

/** Limits per client and per server; times are in milliseconds. */
export const SERVER_LIMITS = {
  /** Time to receive a request's headers. */
  headersMs: 10_000,
  /** Time to receive a whole request, including its body. */
  requestMs: 30_000,
  /** Without a request. Longer than the idle timeout of common load balancers (60 s): the load balancer must close first. */
  keepAliveMs: 65_000,
  /**
   * What a client must take in each window while more waits for it, or its connection is reset: about 9 kB/s, as an average
   * that allows a pause of two minutes. What waits takes memory, disk and a place of its caller's share
   * (runtime/docs/limits.md): 100 clients that read nothing of 1.9 MB held it for 10 minutes, and clients that read a byte
   * per minute for ever.
   */
  minimumRate: { bytes: 1024 * 1024, windowMs: 120_000 },
  /** Time for the client of a closing connection to read its last response. */
  lingerMs: 5_000,
  /** Interval of the checks. */
  checkMs: 1_000,
  /** Open connections; new ones beyond it evict idle ones. */
  connections: maxConnections(),
  /** Requests that may be pending on one connection: their results wait in memory. Load generators send 16 at a time. */
  pipelined: 20,
};

export type ServerLimits = typeof SERVER_LIMITS;

/** Keeps file descriptors free for everything else, such as database connections. */
function maxConnections(): number {
  const share = Math.floor((openFilesLimit() - OTHER_FILES) / SERVERS);
  return Math.max(1, Math.min(MAX_CONNECTIONS, share));
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
