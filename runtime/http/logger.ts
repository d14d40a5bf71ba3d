import type { Readable } from "node:stream";
import pino, { type Logger } from "pino";
import sonicBoom from "sonic-boom";

export type { Logger };

type Destination = InstanceType<typeof sonicBoom.SonicBoom>;

/** Characters that are written together: each write is measured, copied, and wakes a thread. */
const WRITE = 64 * 1024;
/** How long a line may wait for others. */
const FLUSH_MS = 50;
/** Characters that wait for an output that takes none, as a full disk or a reader that stopped: beyond, lines are dropped. */
const MAX_WAITING = 1024 * 1024;

/**
 * The log: one JSON object a line on standard output, written in the background. It never holds keys, headers or bodies.
 * An output that takes no lines stops neither requests nor the process: lines are dropped and counted
 * (runtime/README.md, Operations).
 */
export function openLog(level: string): Logger {
  return pino({ level, base: null, timestamp: isoTime() }, batchedOutput());
}

/** The log of a worker process, which the primary forwards (`forwardLog`): its lines name the process. */
export function openSharedLog(level: string, worker: number): Logger {
  return pino({ level, base: { worker }, timestamp: isoTime() }, batchedOutput());
}

let output: Destination | null = null;
let dropped = 0;

/** Lines that this process could not log, so far. */
export function droppedLogLines(): number {
  return dropped;
}

/** Lines that wait for others. */
let lines = "";

function batchedOutput(): { write(line: string): void } {
  standardOutput();
  return {
    write(line) {
      if (lines === "") setTimeout(writeLines, FLUSH_MS).unref();
      lines += line;
      if (lines.length >= WRITE) writeLines();
    },
  };
}

function writeLines(): void {
  if (lines !== "") standardOutput().write(lines);
  lines = "";
}

/** One for the process: two would mix their lines. */
function standardOutput(): Destination {
  if (output !== null) return output;
  // Makes a pipe or a socket non-blocking: a blocking write would hold a thread, and with it the end of the process.
  const { fd = 1 } = process.stdout as { readonly fd?: number };
  const destination = new sonicBoom.SonicBoom({
    fd,
    sync: false,
    maxWrite: WRITE,
    maxLength: MAX_WAITING,
    periodicFlush: FLUSH_MS,
    // The next flush tries again. The library's own timer would keep the process from ending.
    retryEAGAIN: () => false,
  });
  destination.on("drop", (text: string) => {
    dropped += text.split("\n").length - 1;
  });
  // A full disk, a closed pipe, a reader that stopped: the lines wait, and the next flush tries again.
  destination.on("error", () => undefined);
  process.once("beforeExit", () => {
    writeLines();
    destination.flush();
  });
  return (output = destination);
}

/**
 * Writes the log of a worker process to this one's: two processes cannot share an output that must not block, because each
 * child process that starts or ends makes it blocking again.
 */
export function forwardLog(worker: Readable): void {
  let rest = "";
  worker.setEncoding("utf8").on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) standardOutput().write(rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
  });
}

/** Resolves once waiting lines are written, or the output took none: before `process.exit`, which does not wait. */
export function flushLog(): Promise<void> {
  return new Promise((resolve) => {
    writeLines();
    if (output === null) return resolve();
    output.flush(() => resolve());
    setTimeout(resolve, FLUSH_MS * 10).unref();
  });
}

/** RFC 3339 times for log lines. Formatting a date takes as long as the rest of a line, and many share a millisecond. */
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
