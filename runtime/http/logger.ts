import pino, { type Logger } from "pino";

export type { Logger };

/**
 * The log: one JSON object a line on standard output, written in the background. Keys, headers and bodies are never
 * given to it.
 */
export function openLog(level: string): Logger {
  return pino({ level, base: null, timestamp: isoTime() }, pino.destination({ sync: false }));
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
