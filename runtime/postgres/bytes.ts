/** Writing bytes four at a time, through views: a loop over single bytes took twice as long (rows.ts). */
import { BUFFERED_BYTES } from "../core/warehouse/warehouse.js";

/**
 * Memory in which results are written, used again. With new memory for each, 100 rows took twice their bytes outside of V8's
 * heap: at half load it collected all garbage for every 16 requests, and Node took 209 µs a request instead of 132.
 */
export class Memory {
  static readonly #free: Memory[] = [];
  static #freeBytes = 0;
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Not the view's: V8 does not compile `byteLength` into its callers. */
  readonly length: number;

  constructor(length: number) {
    this.length = length;
    this.bytes = Buffer.allocUnsafeSlow(length);
    this.view = new DataView(this.bytes.buffer);
  }

  /** With room for so many bytes at least. */
  static take(length: number): Memory {
    const free = Memory.#free.pop();
    Memory.#freeBytes -= free?.length ?? 0;
    return free !== undefined && free.length >= length ? free : new Memory(Math.max(FIRST_BYTES, length));
  }

  release(): void {
    if (this.length === 0 || Memory.#freeBytes + this.length > MOST_KEPT) return;
    Memory.#freeBytes += this.length;
    Memory.#free.push(this);
  }

  /**
   * As `take`, with these bytes in it; grows to what a buffered result may have, so that few are copied. A longer row takes half as
   * much more each time: with as much as it needs, one value of 24 MB was copied for each 4 KiB and took 43 s.
   */
  grown(bytes: number, length: number): Memory {
    const larger = this.length < LONGEST ? Math.min(2 * this.length, LONGEST) : Math.ceil(1.5 * this.length);
    const memory = Memory.take(Math.max(larger, bytes + length));
    this.bytes.copy(memory.bytes, 0, 0, bytes);
    return memory;
  }
}

const FIRST_BYTES = 64 * 1024;
const LONGEST = BUFFERED_BYTES + FIRST_BYTES;

/** Bytes of the memory that waits for its next use: with 4 MiB in pieces of at most 512 KiB, 5,000 rows took 6.1 ms instead of 4.4. */
const MOST_KEPT = 8 * 1024 * 1024;

export const NO_MEMORY = new Memory(0);

/** The view of the memory of frames that was used last: a socket reads into one memory. */
let frames = {
  memory: new ArrayBuffer(0) as ArrayBufferLike,
  view: new DataView(new ArrayBuffer(0)),
  length: 0,
};

export function framesIn(memory: ArrayBufferLike): typeof frames {
  if (frames.memory !== memory)
    frames = { memory, view: new DataView(memory as ArrayBuffer), length: memory.byteLength };
  return frames;
}

/** A text as its bytes in words of four, which are written at once; after its length are zeros. */
export interface PaddedText {
  readonly words: Int32Array;
  readonly length: number;
}

export function paddedText(text: string): PaddedText {
  const bytes = Buffer.from(text);
  const words = new Int32Array(Math.ceil(bytes.length / 4));
  const view = new DataView(words.buffer);
  bytes.forEach((byte, i) => view.setUint8(i, byte));
  return { words: words.map((_, i) => view.getInt32(4 * i, true)), length: bytes.length };
}

/** Writes a text and perhaps zeros after it, and returns where it ends. */
export function put({ words, length }: PaddedText, out: DataView, at: number): number {
  for (let i = 0; i < words.length; i++) out.setInt32(at + 4 * i, words[i] as number, true);
  return at + length;
}

/** Writes a text of ASCII. */
export function putText(text: string, out: DataView, at: number): number {
  for (let i = 0; i < text.length; i++) out.setUint8(at + i, text.charCodeAt(i));
  return at + text.length;
}

export function bytesOf({ buffer }: DataView, from: number, to: number): Buffer {
  return Buffer.from(buffer, from, to - from);
}

/** Bytes as text. */
export function textOf(source: DataView, from: number, to: number): string {
  return bytesOf(source, from, to).toString();
}

/** Copies a long value. */
export function copy(source: DataView, from: number, to: number, out: DataView, at: number): void {
  new Uint8Array(out.buffer).set(new Uint8Array(source.buffer, from, to - from), at);
}

/** What bytes become inside quotes; most stay as they are. */
export interface Escapes {
  readonly isEscaped: Uint8Array;
  readonly texts: readonly Buffer[];
}

export function escapesOf(texts: Readonly<Record<number, string>>): Escapes {
  const bytes = Array.from({ length: 256 }, (_, byte) => Buffer.from(texts[byte] ?? ""));
  return { isEscaped: Uint8Array.from(bytes, ({ length }) => Math.min(1, length)), texts: bytes };
}

/** Copies bytes with escapes, and returns where they end. */
export function escape(
  escapes: Escapes,
  source: DataView,
  from: number,
  to: number,
  out: DataView,
  at: number,
): number {
  let end = at;
  let i = from;
  for (; i + 4 <= to; i += 4) {
    const word = source.getInt32(i, true);
    if (isPlain(word)) {
      out.setInt32(end, word, true);
      end += 4;
    } else end = escapeBytes(escapes, source, i, i + 4, out, end);
  }
  return escapeBytes(escapes, source, i, to, out, end);
}

/** Whether none of four bytes is a control character, a quote or a backslash: no format escapes another. */
function isPlain(word: number): boolean {
  const quotes = word ^ 0x22222222;
  const backslashes = word ^ 0x5c5c5c5c;
  const found =
    ((word - 0x20202020) & ~word) |
    ((quotes - 0x01010101) & ~quotes) |
    ((backslashes - 0x01010101) & ~backslashes);
  return (found & 0x80808080) === 0;
}

function escapeBytes(
  { isEscaped, texts }: Escapes,
  source: DataView,
  from: number,
  to: number,
  out: DataView,
  at: number,
): number {
  let end = at;
  for (let i = from; i < to; i++) {
    const byte = source.getUint8(i);
    if (isEscaped[byte] === 0) out.setUint8(end++, byte);
    else {
      const text = texts[byte] as Buffer;
      for (let j = 0; j < text.length; j++) out.setUint8(end++, text[j] as number);
    }
  }
  return end;
}
