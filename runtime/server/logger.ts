import type { Readable } from "node:stream";
import pino, { type Logger } from "pino";
import sonicBoom from "sonic-boom";

export type { Logger };

type Destination = InstanceType<typeof sonicBoom.SonicBoom>;

/** Characters per write: each write has a fixed cost and wakes a thread. */
const WRITE_CHARS = 64 * 1024;
/** Longest time that a line is buffered. */
const FLUSH_MS = 50;
/** Characters buffered while the output is blocked (full disk, stopped reader). Further lines are dropped. */
const MAX_BUFFERED_CHARS = 1024 * 1024;

/**
 * The log: one JSON object per line on standard output, written in the background, without keys, headers or bodies. A
 * blocked output stops neither requests nor the process: lines are dropped and counted
 * (runtime/README.md, Operations).
 */
export function createLogger(level: string): Logger {
  return pino({ level, base: null, timestamp: isoTime() }, batchedOutput());
}

/** The log of a worker process, which the primary forwards (`forwardLog`). Its lines carry the worker's number. */
export function createWorkerLogger(level: string, worker: number): Logger {
  return pino({ level, base: { worker }, timestamp: isoTime() }, batchedOutput());
}

let output: Destination | null = null;
let droppedCount = 0;

/** Lines that this process has dropped. */
export function droppedLogLines(): number {
  return droppedCount;
}

let bufferedLines = "";

function batchedOutput(): { write(line: string): void } {
  standardOutput();
  return {
    write(line) {
      if (bufferedLines === "") setTimeout(writeLines, FLUSH_MS).unref();
      bufferedLines += line;
      if (bufferedLines.length >= WRITE_CHARS) writeLines();
    },
  };
}

function writeLines(): void {
  if (bufferedLines !== "") standardOutput().write(bufferedLines);
  bufferedLines = "";
}

/** One destination per process: two would mix their lines. */
function standardOutput(): Destination {
  if (output !== null) return output;
  // Accessing `process.stdout` makes a pipe or a socket non-blocking: a blocking write would delay the process's exit.
  const { fd = 1 } = process.stdout as { readonly fd?: number };
  const destination = new sonicBoom.SonicBoom({
    fd,
    sync: false,
    maxWrite: WRITE_CHARS,
    maxLength: MAX_BUFFERED_CHARS,
    periodicFlush: FLUSH_MS,
    // The next flush retries. The library's own timer would keep the process alive.
    retryEAGAIN: () => false,
  });
  destination.on("drop", (text: string) => {
    droppedCount += text.split("\n").length - 1;
  });
  // Full disk, closed pipe, stopped reader: the next flush retries.
  destination.on("error", () => undefined);
  process.once("beforeExit", () => {
    writeLines();
    destination.flush();
  });
  return (output = destination);
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
    writeLines();
    if (output === null) return resolve();
    output.flush(() => resolve());
    setTimeout(resolve, FLUSH_MS * 10).unref();
  });
}

/** RFC 3339 times, cached per millisecond: formatting a date takes as long as the rest of a log line. */
function isoTime(): () => string {
  let last = 0;
  let text = "";
  return () => {
    const now = Date.now();
    if (now !== last) text = `,"time":"${new Date(now).toISOString()}"`;
    last = now;
    return text;
  };
}
