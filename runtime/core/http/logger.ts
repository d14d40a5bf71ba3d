import cluster from "node:cluster";
import pino, { type Logger } from "pino";
import sonicBoom from "sonic-boom";

export type { Logger };

/** Longest time that a line waits for others, and the characters that are written together. */
const FLUSH_MS = 50;
const BATCH_LENGTH = 16 * 1024;

/**
 * Standard output; one per process: two would mix their lines. Not `pino.destination`: it writes synchronously when the
 * process exits, so that with a full disk, or a pipe that is read slowly or not at all, SIGTERM did not end the server
 * within 8 s (6 of 6 runs).
 */
const output = new sonicBoom.SonicBoom({
  fd: 1,
  sync: false,
  // With 0 its `flush` would not wait for the write.
  minLength: 1,
  // A blocked output (full disk, stopped reader) costs lines beyond 1 MiB, which are counted.
  maxLength: 1024 * 1024,
  retryEAGAIN: () => false,
});
let droppedCount = 0;
output.on("drop", (text: string) => (droppedCount += text.split("\n").length - 1));
/** Not sonic-boom's `periodicFlush`: it writes nothing 20 times a second, each time as a task of another thread. */
let retry: NodeJS.Timeout | undefined;
output.on("error", () => {
  retry ??= setTimeout(() => {
    retry = undefined;
    output.flush();
  }, FLUSH_MS).unref();
});

/**
 * Lines that are written together: sonic-boom counts the bytes of what it holds at each line, and each write is a task of
 * another thread. A line of a request took 12 to 14 µs of processor time without this, and 8 with it.
 */
class LineBatch {
  #lines = "";
  #timer: NodeJS.Timeout | undefined;

  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length >= BATCH_LENGTH) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines !== "") output.write(this.#lines);
    this.#lines = "";
  }
}
const batch = new LineBatch();
process.once("beforeExit", () => batch.flush());

/** A terminal gets lines for people, anything else the JSON. */
export const sink: { readonly write: (line: string) => unknown } = process.stdout.isTTY
  ? await readable()
  : batch;

async function readable() {
  const pretty = await import("pino-pretty").catch(() => null);
  if (pretty === null) {
    process.stderr.write("Log lines are JSON here: run `npm install pino-pretty` for readable ones.\n");
    return batch;
  }
  const { prettyFactory, isColorSupported } = pretty;
  const prettify = prettyFactory({
    colorize: isColorSupported,
    translateTime: "SYS:HH:MM:ss",
    ignore: "pid,hostname",
    singleLine: true,
  });
  return { write: (line: string) => batch.write(prettify(line)) };
}

/** The log: one JSON object per line on standard output, written in the background (runtime/docs/operations.md). */
export function createLogger(level: string): Logger {
  const base = cluster.worker ? { worker: cluster.worker.id } : null;
  return pino({ level, base, timestamp }, sink);
}

/** The current time, as a field: the text of a second is kept, as a time took 0.5 µs of a line. */
export function timestamp(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (second !== textOfTime.second)
    textOfTime = { second, text: `,"time":"${new Date(second * 1000).toISOString().slice(0, -4)}` };
  return `${textOfTime.text}${String(now - second * 1000).padStart(3, "0")}Z"`;
}

let textOfTime = { second: NaN, text: "" };

/** Lines that this process has dropped. */
export function droppedLogLines(): number {
  return droppedCount;
}

/** Resolves once buffered lines are written, or after 500 ms. Call it before `process.exit`, which does not wait. */
export function flushLog(): Promise<void> {
  batch.flush();
  return new Promise((resolve) => {
    output.flush(() => resolve());
    setTimeout(resolve, FLUSH_MS * 10).unref();
  });
}
