/** Each pause is off by up to this share, lest many processes knock at the same moment. */
const JITTER = 0.25;

/** Does something at once and then again and again, never twice at a time. It keeps no process alive. */
export class HealthCheck {
  readonly #beat: () => Promise<void>;
  readonly #pauseMs: number;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  /** `beat` must not reject. */
  constructor(beat: () => Promise<void>, pauseMs: number) {
    this.#beat = beat;
    this.#pauseMs = pauseMs;
    void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    await this.#beat();
    if (this.#isStopped) return;
    const pause = this.#pauseMs * (1 + JITTER * (2 * Math.random() - 1));
    this.#timer = setTimeout(() => void this.#run(), pause).unref();
  }
}
