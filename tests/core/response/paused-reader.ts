import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { createGunzip } from "node:zlib";
import { MessagePort } from "node:worker_threads";
import { Memory } from "../../../runtime/postgres/bytes.js";
import type { Random } from "../../ramp/simulation/random.js";
import { atEnd } from "../../support/at-end.js";

/** Overwrites memory as it is freed or given back: who still reads it sends this byte. */
export function poisonFreedMemory(): void {
  const poison = 0x7e;
  const { prototype } = Memory;

  const { release } = prototype;

  const { postMessage } = MessagePort.prototype;
  prototype.release = function (this: Memory) {
    this.bytes.fill(poison);
    release.call(this);
  };
  MessagePort.prototype.postMessage = function (this: MessagePort, ...[value, transferred]) {
    if (value === null && Array.isArray(transferred))
      for (const each of transferred) if (each instanceof ArrayBuffer) new Uint8Array(each).fill(poison);
    postMessage.call(this, value, transferred);
  };
  atEnd(() => {
    prototype.release = release;
    MessagePort.prototype.postMessage = postMessage;
  });
}

/** Reads in pieces of random sizes. */
async function* piecesOf(body: Readable, random: Random): AsyncGenerator<Buffer> {
  const failure = new Promise<never>((_, reject) => body.once("error", reject));
  failure.catch(() => undefined);
  const ended = once(body, "end");
  ended.catch(() => undefined);
  while (!body.readableEnded) {
    const piece = (body.read(1 + Math.floor(random.next() * 70_000)) ?? body.read()) as Buffer | null;
    if (piece !== null) yield piece;
    else await Promise.race([once(body, "readable"), ended, failure]);
  }
}

/**
 * Compares a body with the bytes that it must have, with pauses, and leaves one time in four, or when the time is over. Resolves with the bytes that it
 * compared; rejects at the first that differs.
 */
export async function readSlowly(
  response: IncomingMessage,
  expected: Buffer,
  { random, until }: { readonly random: Random; readonly until: number },
): Promise<number> {
  const isCompressed = response.headers["content-encoding"] === "gzip";
  const body = isCompressed ? response.pipe(createGunzip()) : response;
  response.once("error", (error) => body.destroy(error));
  response.once("close", () => {
    if (!response.complete && response !== body) body.destroy(new Error("The response is not whole."));
  });
  let leavesAt = random.next() < 0.25 ? random.next() * expected.length : Infinity;
  const [pauses, longest] = random.pick([
    [0.2, 3],
    [0.05, 40],
    [0.01, 400],
    [0, 0],
  ] as const);
  let at = 0;
  for await (const piece of piecesOf(body, random)) {
    const of = expected.subarray(at, at + piece.length);
    if (!piece.equals(of)) throw new Error(differenceAt(at, piece, of));
    at += piece.length;
    if (Date.now() > until) leavesAt = 0;
    if (at > leavesAt) break;
    if (random.next() < pauses) await pause(random.next() * longest);
  }
  response.destroy();
  if (at < expected.length && leavesAt === Infinity)
    throw new Error(`The body ends after ${String(at)} of ${String(expected.length)} bytes.`);
  return at;
}

function differenceAt(start: number, piece: Buffer, of: Buffer): string {
  const at = piece.findIndex((byte, i) => byte !== of[i]);
  const around = ({ buffer, byteOffset, length }: Buffer): string =>
    JSON.stringify(
      Buffer.from(buffer, byteOffset, length)
        .subarray(Math.max(0, at - 20), at + 60)
        .toString("latin1"),
    );
  return `Byte ${String(start + at)} differs: ${around(piece)} in place of ${around(of)}.`;
}
