import { Writable } from "node:stream";
import { pino, type Logger } from "pino";

/** A real log, whose lines a test can read. */
export function readableLog(): { readonly log: Logger; readonly lines: readonly string[] } {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  return { log: pino({ base: null }, stream), lines };
}
