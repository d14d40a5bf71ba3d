import { hash, randomBytes } from "node:crypto";

/** A place in the table; -1: none. */
type WindowPlace = number;

const NONE: WindowPlace = -1;

/** The beginning of a caller's digest. */
interface Digest {
  readonly low: number;
  readonly high: number;
}

/**
 * A fixed number of windows outside of the heap of JavaScript, in the order in which they end: 24 bytes for each. As objects by name they
 * took 160, and were garbage of the old generation a minute later. A caller is known by 64 bits of a digest: two of 100,000 callers have
 * the same with a probability of 3 in 10 thousand million.
 */
export class WindowTable {
  readonly #capacity: number;
  readonly #lows: Uint32Array;
  readonly #highs: Uint32Array;
  readonly #counts: Uint32Array;
  readonly #resets: Float64Array;
  /** The next place of the same bucket, plus one: the system gives a table memory only where something other than 0 is written. */
  readonly #next: Uint32Array;
  /** The newest place of each bucket, plus one. */
  readonly #buckets: Uint32Array;
  /** Keeps callers from choosing names that share a digest. */
  readonly #secret = randomBytes(16).toString("base64");
  #oldest = 0;
  #size = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#lows = new Uint32Array(capacity);
    this.#highs = new Uint32Array(capacity);
    this.#counts = new Uint32Array(capacity);
    this.#resets = new Float64Array(capacity);
    this.#next = new Uint32Array(capacity);
    this.#buckets = new Uint32Array(2 ** Math.ceil(Math.log2(capacity)));
  }

  get size(): number {
    return this.#size;
  }

  get isFull(): boolean {
    return this.#size === this.#capacity;
  }

  digestOf(caller: string): Digest {
    const text = hash("sha256", this.#secret + caller, "binary");
    return { low: numberAt(text, 0), high: numberAt(text, 4) };
  }

  /** The newest window of a caller. */
  find({ low, high }: Digest): WindowPlace | null {
    let place = placeIn(this.#buckets, this.#bucketOf(low));
    while (place !== NONE && (this.#lows[place] !== low || this.#highs[place] !== high))
      place = placeIn(this.#next, place);
    return place === NONE ? null : place;
  }

  /** Adds a window of one request, which ends after all others. There must be room. */
  add({ low, high }: Digest, resetAt: number): void {
    const place = (this.#oldest + this.#size++) % this.#capacity;
    const bucket = this.#bucketOf(low);
    this.#lows[place] = low;
    this.#highs[place] = high;
    this.#counts[place] = 1;
    this.#resets[place] = resetAt;
    this.#next[place] = this.#buckets[bucket] ?? 0;
    this.#buckets[bucket] = place + 1;
  }

  resetAt(place: WindowPlace): number {
    return this.#resets[place] ?? 0;
  }

  count(place: WindowPlace): number {
    return this.#counts[place] ?? 0;
  }

  increment(place: WindowPlace): number {
    return (this.#counts[place] = this.count(place) + 1);
  }

  /** Removes the windows that have ended, up to the first that has not. */
  sweep(isOpen: (resetAt: number) => boolean): void {
    for (; this.#size > 0 && !isOpen(this.resetAt(this.#oldest)); this.#size--) {
      this.#unlink(this.#oldest);
      this.#oldest = (this.#oldest + 1) % this.#capacity;
    }
  }

  /** The oldest place is the last of its bucket. */
  #unlink(oldest: WindowPlace): void {
    let [list, at] = [this.#buckets, this.#bucketOf(this.#lows[oldest] ?? 0)];
    while (list[at] !== oldest + 1) [list, at] = [this.#next, placeIn(list, at)];
    list[at] = 0;
  }

  #bucketOf(low: number): number {
    return low & (this.#buckets.length - 1);
  }
}

const placeIn = (places: Uint32Array, at: number): WindowPlace => (places[at] ?? 0) - 1;

/** Four bytes of a text in which each character is a byte. */
function numberAt(text: string, at: number): number {
  let number = 0;
  for (let i = at; i < at + 4; i++) number = (number << 8) | text.charCodeAt(i);
  return number >>> 0;
}
