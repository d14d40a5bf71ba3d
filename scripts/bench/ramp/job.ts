/** A stretch of load: plain data, it crosses to the process that makes it. */
interface Stretch {
  /** Each has one thing under way at a time. */
  readonly connections: number;
  readonly milliseconds: number;
}

/** Keyed `POST /v1/intent`, each with a key of its own. */
export interface CreateJob extends Stretch {
  readonly kind: "create";
  readonly port: number;
  /** Customers' tokens, used in turn. */
  readonly tokens: readonly string[];
}

/** The same rows written by `pg` alone. */
export interface BareJob extends Stretch {
  readonly kind: "bare";
  readonly databaseUrl: string;
  /** Whose intents they are, in turn: as many as there are tokens, so that neither side has rows all to itself. */
  readonly owners: readonly Owner[];
}

export interface Owner {
  readonly projectId: string;
  readonly customerId: string;
  readonly connectionId: string;
}

export type Job = CreateJob | BareJob;

/** What came of it. */
export interface JobResult {
  /** Intents made within the time. */
  readonly intentsPerSecond: number;
  /** Milliseconds each took. */
  readonly p50: number;
  readonly p99: number;
  /** What went wrong first; its figures mean nothing then. */
  readonly failure: string | null;
  /** Share of one core that the process which made the load used itself. */
  readonly load: number;
}
