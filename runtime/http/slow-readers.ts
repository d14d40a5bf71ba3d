import type { Socket } from "node:net";

/** What a client must take of its responses, while more waits for it: so much in each window. */
export interface ReadRate {
  readonly bytes: number;
  readonly windowMs: number;
}

/**
 * About 9 kB/s, as an average that allows a pause of two minutes. What waits for a client takes memory, disk and a place of
 * its caller's share (runtime/docs/limits.md): 100 clients that read nothing of 1.9 MB held it for 10 minutes, and
 * clients that read a byte per minute for ever.
 */
export const MINIMUM_RATE: ReadRate = { bytes: 1024 * 1024, windowMs: 120_000 };

/** How fast the client of one connection takes what is sent to it. */
export class ReadProgress {
  #taken = 0;
  #since = performance.now();

  /** Whether the client has taken less than the rate in the current window. */
  isBelow({ bytes, windowMs }: ReadRate, socket: Socket, now: number): boolean {
    const taken = takenBytes(socket);
    if (socket.writableLength === 0 || taken - this.#taken >= bytes) {
      this.#taken = taken;
      this.#since = now;
    }
    return now - this.#since >= windowMs;
  }
}

/**
 * Bytes that the system has taken for the client. Of a body that is one write, `bytesWritten` and `writableLength` show no
 * progress before its end; Node's own timeout of a socket reads the same two counters.
 */
function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : socket.bytesWritten;
}
