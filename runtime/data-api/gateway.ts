import type { Logger } from "pino";
import type { KeyOwner } from "../access/keyring.js";
import type { PerTier, Tier } from "../model/tier.js";
import type { ResultService } from "../results/result-service.js";
import type { Trace } from "../http/trace.js";
import type { Warehouse } from "../query/warehouse.js";
import type { AccessControl } from "../access/authorize.js";
import type { Versions } from "./data-versions.js";

/** What all handlers share: who may call, how often, and where the rows are. */
export interface Gateway extends AccessControl {
  readonly warehouse: Warehouse;
  readonly results: ResultService;
  readonly versions: Versions;
  /** How long a query may run for a caller of each tier, in milliseconds; 0: no limit. */
  readonly timeouts: Readonly<PerTier<number>>;
  readonly log: Logger;
  /** Told of each answer, once it is sent. */
  readonly recordRequest: (observation: RequestRecord) => void;
}

/** What is worth knowing of an answer; nothing in it is secret. */
export interface RequestRecord {
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
