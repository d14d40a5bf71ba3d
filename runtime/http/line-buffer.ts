/** How long a line may wait for others. */
const DELAY_MS = 20;

/** Where lines go in the end; what is written is kept in order. */
export interface LineSink {
  write(text: string): unknown;
  flushSync(): void;
}

/**
 * Gathers lines and hands them over together: each hand-over wakes a thread that writes, which costs more than a whole
 * line. What is left when the process ends is written then.
 */
export class LineBuffer {
  readonly #sink: LineSink;
  readonly #most: number;
  #text = "";
  #timer: NodeJS.Timeout | null = null;

  /** `most`: characters that go over in one piece; a line that is longer goes alone. */
  constructor(sink: LineSink, most: number) {
    this.#sink = sink;
    this.#most = most;
    process.once("exit", () => this.flushSync());
  }

  write(line: string): void {
    if (this.#text.length + line.length > this.#most) this.#handOver();
    this.#text += line;
    this.#timer ??= setTimeout(() => this.#handOver(), DELAY_MS);
  }

  /** Writes what is left at once. */
  flushSync(): void {
    this.#handOver();
    try {
      this.#sink.flushSync();
    } catch {
      // Standard output may be closed by now, and then nobody reads it.
    }
  }

  #handOver(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#text === "") return;
    this.#sink.write(this.#text);
    this.#text = "";
  }
}
