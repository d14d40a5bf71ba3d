import { connect } from "node:net";
import { AnswerReader } from "./answer-reader.js";
import type { Tally } from "./tally.js";

/** Answers are read into one buffer: at a thousand rows, a new one per read is what would cost most. */
const BUFFER_BYTES = 64 * 1024;

/** Longer than any answer takes; a server that says nothing for so long has failed. */
const SILENCE_MS = 10_000;

/** One connection: request, answer, request, answer, until the time is up. Resolves when it is closed. */
export function converse(port: number, tally: Tally, connection: number): Promise<void> {
  const answers = new AnswerReader();
  let sentAt = 0;
  const send = (): void => {
    sentAt = performance.now();
    socket.write(tally.nextRequest(connection), "latin1");
  };
  const receive = (bytes: Buffer): void => {
    const answer = answers.take(bytes);
    if (answer === null) return;
    tally.count(answer, sentAt);
    if (tally.isOver()) socket.end();
    else send();
  };
  const callback = (size: number, buffer: Uint8Array): boolean => {
    try {
      receive((buffer as Buffer).subarray(0, size));
    } catch (error) {
      socket.destroy(error as Error);
    }
    return true;
  };
  const onread = { buffer: Buffer.allocUnsafe(BUFFER_BYTES), callback };
  const socket = connect({ host: "127.0.0.1", port, noDelay: true, onread }, send);
  socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error("the server says nothing")));
  return new Promise((resolve) => {
    socket.on("error", (error) => tally.fail(error.message));
    socket.on("close", () => {
      if (!tally.isOver()) tally.fail("the connection was closed");
      resolve();
    });
  });
}
