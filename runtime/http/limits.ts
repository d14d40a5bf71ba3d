import { readFileSync } from "node:fs";

/** What a client may hold of a server; times are in milliseconds. */
export interface Limits {
  /** A request's headers must be here by then. */
  readonly headersMs: number;
  /** The whole request, body included. */
  readonly requestMs: number;
  /** A connection without a request is closed after this time. */
  readonly keepAliveMs: number;
  /** So is one whose client has taken nothing of its answer for this time. */
  readonly stalledMs: number;
  /** What is written in one piece must be taken whole by then, however it trickles. */
  readonly pieceMs: number;
  /** How long a client that was told to go may take to read why. */
  readonly lingerMs: number;
  /** How often all this is looked at. */
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

export const LIMITS: Limits = {
  headersMs: 10_000,
  requestMs: 30_000,
  // Longer than the idle time of the usual load balancers (60 s), which must be the ones to close.
  keepAliveMs: 65_000,
  stalledMs: 30_000,
  pieceMs: 600_000,
  lingerMs: 5_000,
  // Node looks every 30 s, which would make 40 of the 10.
  checkMs: 1_000,
  connections: mostConnections(),
  // Few clients send a request ahead of its turn; load generators send 16 at a time.
  pipelined: 32,
};

/** Without files to spare not even a connection to the database could be opened any more. */
function mostConnections(): number {
  const files = openFilesLimit();
  return Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor((files - OTHER_FILES) / SERVERS)));
}

/** The limit on open files, where it can be told: Linux. Elsewhere Node has raised it as far as it goes. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}
