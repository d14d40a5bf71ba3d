interface Deadline {
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly act: () => void;
  timer?: NodeJS.Timeout;
}

/** The sandbox's clock: the machine's, until it is moved ahead. What has become due by then happens at once, in its order. */
export class SandboxClock {
  #ahead = 0;
  readonly #deadlines = new Set<Deadline>();

  now(): Date {
    return new Date(Date.now() + this.#ahead);
  }

  after(milliseconds: number, act: () => void): void {
    const deadline: Deadline = { at: this.now().getTime() + milliseconds, act };
    this.#deadlines.add(deadline);
    this.#start(deadline);
  }

  advance(milliseconds: number): void {
    const end = this.now().getTime() + milliseconds;
    const [first, ...later] = [...this.#deadlines].sort((left, right) => left.at - right.at);
    if (first === undefined || first.at > end) {
      this.#ahead += milliseconds;
      for (const deadline of later.concat(first ?? [])) this.#start(deadline);
      return;
    }
    // What it does can set new deadlines before the end.
    this.#ahead += Math.max(first.at - this.now().getTime(), 0);
    this.#reach(first);
    this.advance(Math.max(end - this.now().getTime(), 0));
  }

  #start(deadline: Deadline): void {
    clearTimeout(deadline.timer);
    const left = Math.max(deadline.at - this.now().getTime(), 0);
    deadline.timer = setTimeout(() => this.#reach(deadline), left).unref();
  }

  #reach(deadline: Deadline): void {
    clearTimeout(deadline.timer);
    if (this.#deadlines.delete(deadline)) deadline.act();
  }
}
