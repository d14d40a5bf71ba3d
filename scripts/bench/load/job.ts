/** A stretch of load. All of it is plain data: it crosses to the load generator's process. */
export interface Job {
  readonly port: number;
  /** Asked for in turn. */
  readonly paths: readonly string[];
  /** API keys: one for each connection at a time. */
  readonly keys: readonly string[];
  /** Status of the one right answer to all of the paths; 200 when left out. */
  readonly status?: number;
  /** Bytes of its body. */
  readonly bodyBytes: number;
  /** Sent with each path in turn besides the key, as a header line without its end; none when left out. */
  readonly headerLines?: readonly string[];
  /** Each has one request under way at a time. */
  readonly connections: number;
  readonly milliseconds: number;
}

/** What came of it. */
export interface JobResult {
  /** Right answers that came within the time. */
  readonly answers: number;
  /** All answers, those before and after it too. */
  readonly allAnswers: number;
  readonly requestsPerSecond: number;
  /** Milliseconds from request to complete answer. */
  readonly p50: number;
  readonly p99: number;
  /** Wrong answers and broken connections. */
  readonly failures: number;
  /** What the first of them was. */
  readonly failure: string | null;
  /** Share of one core that the load generator itself used: near 1, it was the bottleneck. */
  readonly load: number;
}
