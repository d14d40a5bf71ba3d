import type { HttpError } from "../model/errors.js";
import type { Tier } from "../model/tier.js";
import type { KeyOwner } from "../request/keyring.js";
import type { Trace } from "../http/headers.js";

/** The steps of a request (runtime/handler/handle-request.ts). */
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
  /** Null without a key. */
  readonly owner: KeyOwner | null;
  /** The key's id, `key:<id>`, or the caller's network address, `ip:<address>`. */
  readonly callerId: string;
  /** Why the request was refused or failed; null for a success. */
  readonly error: Pick<HttpError, "code" | "parameter"> | null;
  /** The path as sent where no endpoint has it, or the former path of the endpoint; null elsewhere. */
  readonly path: string | null;
  readonly tier: Tier;
  /** Null where the caller sent none. */
  readonly trace: Trace | null;
}
