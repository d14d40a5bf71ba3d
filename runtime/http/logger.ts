import pino, { type Logger } from "pino";
import { LineBuffer } from "./line-buffer.js";

export type { Logger };

/** Bytes that a pipe takes in one piece, whoever else writes to it (`PIPE_BUF`; POSIX grants 512). */
const PIPE_WRITE = process.platform === "linux" ? 4096 : 512;

/** Characters that are written in one piece where no other process writes: each piece wakes a thread. */
const PIECE = 64 * 1024;

/** Writes a line of level `info`: the JSON of its fields, without braces, and its message, which needs no escape. */
export type InfoLine = (fields: string, message: string) => void;

/**
 * The log: one JSON object a line on standard output, written in the background. Keys, headers and bodies are never
 * given to it.
 */
export function openLog(level: string): Logger {
  return logTo(new LineBuffer(pino.destination({ sync: false, maxWrite: PIECE }), PIECE), level, null);
}

/** The log of one of several processes that share an output: its lines name the process, and never get into others'. */
export function openSharedLog(level: string, worker: number): Logger {
  const lines = new LineBuffer(pino.destination({ sync: false, maxWrite: PIPE_WRITE }), PIPE_WRITE);
  return logTo(lines, level, { worker });
}

function logTo(lines: LineBuffer, level: string, base: { readonly worker: number } | null): Logger {
  const time = isoTime();
  const log = pino({ level, base, timestamp: time }, lines);
  const prefix = `{"level":${String(log.levels.values["info"])}`;
  const bindings = base === null ? "," : `,"worker":${String(base.worker)},`;
  infoLines.set(log, (fields, message) => {
    if (log.isLevelEnabled("info"))
      lines.write(`${prefix}${time()}${bindings}${fields},"msg":"${message}"}\n`);
  });
  return log;
}

const infoLines = new WeakMap<Logger, InfoLine>();

/** For lines that are written with each request: they look as the log's own, whose making costs as much as a query's. */
export function infoLineOf(log: Logger): InfoLine {
  return infoLines.get(log) ?? ((fields, message) => log.info(JSON.parse(`{${fields}}`), message));
}

/** RFC 3339 times for log lines. Writing a date down takes as long as the rest of a line, and many share a millisecond. */
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
