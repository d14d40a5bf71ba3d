import cluster from "node:cluster";
import type { Readable } from "node:stream";
import pino, { type Logger } from "pino";
import sonicBoom from "sonic-boom";

export type { Logger };

/**
 * Length of a write, and how far its last line may exceed it. sonic-boom counts the bytes of its buffer at each line: with 16
 * KiB a line took 4.6 µs of processor time, with these 3.0.
 */
const WRITE_BYTES = 2048;
const LAST_LINE_BYTES = 512;

/** Longest time that a line is buffered. */
const FLUSH_MS = 50;

let output: InstanceType<typeof sonicBoom.SonicBoom> | null = null;
let droppedCount = 0;

/**
 * One destination per process: two would mix their lines. Not `pino.destination`: with a full disk (`/dev/full`) its flush
 * at exit retries without end, so that SIGTERM did not end the server.
 */
function standardOutput(): NonNullable<typeof output> {
  if (output !== null) return output;
  // Accessing `process.stdout` makes a pipe or a socket non-blocking: a blocking write would delay the process's exit.
  const { fd = 1 } = process.stdout as { readonly fd?: number };
  // A blocked output (full disk, stopped reader) costs lines beyond 1 MiB, which are counted. The next flush retries.
  const limits = {
    maxWrite: WRITE_BYTES + LAST_LINE_BYTES,
    maxLength: 1024 * 1024,
    retryEAGAIN: () => false,
  };
  output = new sonicBoom.SonicBoom({
    ...limits,
    fd,
    sync: false,
    minLength: WRITE_BYTES,
    periodicFlush: FLUSH_MS,
  });
  output.on("drop", (text: string) => (droppedCount += text.split("\n").length - 1));
  output.on("error", () => undefined);
  process.once("beforeExit", () => output?.flush());
  return output;
}

/** The log: one JSON object per line on standard output, written in the background (runtime/docs/operations.md). */
export function createLogger(level: string): Logger {
  const base = cluster.worker ? { worker: cluster.worker.id } : null;
  return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime }, standardOutput());
}

/** Lines that this process has dropped. */
export function droppedLogLines(): number {
  return droppedCount;
}

/**
 * Forwards a worker's log to this process's. Two processes cannot share a non-blocking output: each child process that
 * starts or ends makes it blocking again.
 */
export function forwardLog(worker: Readable): void {
  let rest = "";
  worker.setEncoding("utf8").on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) standardOutput().write(rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
  });
}

/** Resolves once buffered lines are written, or after 500 ms. Call it before `process.exit`, which does not wait. */
export function flushLog(): Promise<void> {
  return new Promise((resolve) => {
    if (output === null) return resolve();
    output.flush(() => resolve());
    setTimeout(resolve, FLUSH_MS * 10).unref();
  });
}
