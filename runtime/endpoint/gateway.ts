import type { Logger } from "pino";
import type { Warehouse } from "../warehouse/warehouse.js";
import type { Gate } from "./admission.js";

/** What all handlers share: who may call, how often, and where the rows are. */
export interface Gateway extends Gate {
  readonly warehouse: Warehouse;
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
  readonly milliseconds: number;
  /** Id of the caller's key; null without one. */
  readonly key: string | null;
  readonly tier: string;
}
