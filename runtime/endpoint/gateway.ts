import type { Logger } from "pino";
import type { KeyOwner } from "../auth/keyring.js";
import type { PerTier, Tier } from "../auth/tier.js";
import type { Answers } from "../answers/answers.js";
import type { Trace } from "../http/trace.js";
import type { Warehouse } from "../warehouse/warehouse.js";
import type { Gate } from "./admission.js";
import type { Versions } from "./versions.js";

/** What all handlers share: who may call, how often, and where the rows are. */
export interface Gateway extends Gate {
  readonly warehouse: Warehouse;
  readonly answers: Answers;
  readonly versions: Versions;
  /** How long a query may run for a caller of each tier, in milliseconds; 0: no limit. */
  readonly timeouts: Readonly<PerTier<number>>;
  readonly log: Logger;
  /** Told of each answer, once it is sent. */
  readonly observe: (observation: Observation) => void;
}

/** What is worth knowing of an answer; nothing in it is secret. */
export interface Observation {
  readonly requestId: string;
  readonly method: string;
  /** The endpoint's path, never the caller's own text: it labels metrics. Null when no endpoint has the path. */
  readonly route: string | null;
  readonly status: number;
  /** From the request's arrival to its answer, a streamed one to its last byte. */
  readonly milliseconds: number;
  /** Rows answered; null where the answer is none of rows. */
  readonly rows: number | null;
  /** Bytes of the body, as sent. */
  readonly bytes: number;
  /** What the database took of it; null when it was not asked for this request. */
  readonly databaseMs: number | null;
  /** Null without a key. */
  readonly owner: KeyOwner | null;
  readonly tier: Tier;
  /** Null where the caller sent none. */
  readonly trace: Trace | null;
}
