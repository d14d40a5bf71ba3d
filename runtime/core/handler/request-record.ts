import type { HttpError } from "../model/errors.js";
import type { Caller } from "../model/caller.js";
import type { Trace } from "../http/headers.js";

/** The steps of a request (runtime/core/handler/handle-request.ts). */
export type RequestStep = "authorize" | "resolve" | "run" | "respond";

/** What is recorded of a request. Contains no secrets. */
export interface RequestRecord {
  readonly requestId: string;
  readonly method: string;
  /** The endpoint's path, not the path as sent: it labels metrics. Null when no endpoint has the path. */
  readonly route: string | null;
  readonly status: number;
  /** From the arrival of the request to the end of its response. */
  readonly milliseconds: number;
  /** How long each step took, in milliseconds. */
  readonly steps: Readonly<Record<RequestStep, number>>;
  /** Rows sent; null for a response without rows. */
  readonly rows: number | null;
  /** Bytes of the body, as sent. */
  readonly bytes: number;
  /** Milliseconds that the database took; null when this request ran no query. */
  readonly databaseMs: number | null;
  /** The roll-up that answered, as `schema.name`; null or absent where none did. */
  readonly rollUp?: string | null;
  readonly caller: Caller;
  /** Why the request was refused or failed; null for a success. */
  readonly error: Pick<HttpError, "code" | "parameter"> | null;
  /** The path as sent where no endpoint has it, or the former path of the endpoint; null elsewhere. */
  readonly path: string | null;
  /** Names of the parameters of a valid request, with `fields=<column>` for each column that it chooses, and `group_by=<group>` and `measures=<measure>`. Never values. */
  readonly parameters: readonly string[];
  /** What the request depends on, without values (`shapeOf`); null where it is not known. */
  readonly shape?: string | null;
  /** Null where the caller sent none. */
  readonly trace: Trace | null;
}

/** What usage sums of them, in the order in which reports show it. */
export const SUMS = ["requests", "refused", "errors", "rows", "bytes"] as const;
