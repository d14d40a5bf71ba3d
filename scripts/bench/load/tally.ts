import { quantile } from "../statistics.js";
import type { Answer } from "./answer-reader.js";
import type { Job, JobResult } from "./job.js";

/** A caller has one key and one connection, until so many requests that all may be near their limits: then others come. */
const REQUESTS_A_TURN = 100_000;

/** What the connections of a job share: which request is next, and what has come of those before. */
export class Tally {
  readonly #job: Job;
  readonly #startedAt = performance.now();
  readonly #latencies: number[] = [];
  readonly #heads: readonly string[];
  readonly #tails: readonly string[];
  #endsAt = Infinity;
  #requests = 0;
  #answers = 0;
  #failures = 0;
  #failure: string | null = null;

  constructor(job: Job) {
    this.#job = job;
    this.#heads = job.paths.map((path, i) => {
      const line = job.headerLines?.[i];
      const more = line === undefined ? "" : `${line}\r\n`;
      return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}X-API-Key: `;
    });
    this.#tails = job.keys.map((key) => `${key}\r\n\r\n`);
  }

  /** The next request of a connection, by its number, as it goes over the wire. */
  nextRequest(connection: number): string {
    const i = this.#requests++;
    const turn = Math.floor(i / REQUESTS_A_TURN) * this.#job.connections;
    return (
      (this.#heads[i % this.#heads.length] ?? "") +
      (this.#tails[(connection + turn) % this.#tails.length] ?? "")
    );
  }

  isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /**
   * Takes an answer. The time runs from when there have been as many as there are connections: before that a slow
   * server has not got to its pace. What comes outside the time is not counted, but it must be right all the same.
   */
  count({ status, bodyBytes }: Answer, sentAt: number): void {
    const now = performance.now();
    const isCounted = ++this.#answers > this.#job.connections && now < this.#endsAt;
    if (this.#answers === this.#job.connections) this.#endsAt = now + this.#job.milliseconds;
    if (status !== (this.#job.status ?? 200) || bodyBytes !== this.#job.bodyBytes)
      this.fail(`status ${String(status)} with ${String(bodyBytes)} bytes`);
    else if (isCounted) this.#latencies.push(now - sentAt);
  }

  fail(what: string): void {
    this.#failures++;
    this.#failure ??= what;
  }

  result(cpuMilliseconds: number): JobResult {
    const sorted = Float64Array.from(this.#latencies).sort();
    return {
      answers: sorted.length,
      allAnswers: this.#answers,
      requestsPerSecond: (sorted.length * 1000) / this.#job.milliseconds,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      failures: this.#failures,
      failure: this.#failure,
      load: cpuMilliseconds / (performance.now() - this.#startedAt),
    };
  }
}
