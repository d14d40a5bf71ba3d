import pino, { type Logger } from "pino";
import { LineBuffer } from "./line-buffer.js";

export type { Logger };

/** Bytes that a pipe takes in one piece, whoever else writes to it (`PIPE_BUF`; POSIX grants 512). */
const PIPE_WRITE = process.platform === "linux" ? 4096 : 512;

/** Characters that are written in one piece where no other process writes. */
const PIECE = 16 * 1024;

/**
 * The log: one JSON object a line on standard output, written in the background. Keys, headers and bodies are never
 * given to it.
 */
export function openLog(level: string): Logger {
  const lines = new LineBuffer(pino.destination({ sync: false }), PIECE);
  return pino({ level, base: null, timestamp: isoTime() }, lines);
}

/** The log of one of several processes that share an output: its lines name the process, and never get into others'. */
export function openSharedLog(level: string, worker: number): Logger {
  const lines = new LineBuffer(pino.destination({ sync: false, maxWrite: PIPE_WRITE }), PIPE_WRITE);
  return pino({ level, base: { worker }, timestamp: isoTime() }, lines);
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
