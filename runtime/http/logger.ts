import pino, { type Logger } from "pino";

export type { Logger };

/**
 * The log: one JSON object a line on standard output, written in the background. Keys, headers and bodies are never
 * given to it.
 */
export function openLog(level: string): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ sync: false }),
  );
}
