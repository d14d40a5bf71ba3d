import { hash } from "node:crypto";
import { httpError, type HttpError, isHttpError } from "../../../core/model/errors.js";
import type { Reply } from "../../../core/http/send.js";
import type { Statements } from "../../../postgres/own-tables.js";

/** A request that changes something once, however often it is sent. */
export interface RepeatableRequest {
  /** Who sends it: an `Idempotency-Key` is its own. */
  readonly actor: string;
  /** The `Idempotency-Key`; null: none is sent. */
  readonly key: string | null;
  /** Method, path and body. */
  readonly content: string;
}

/** A response, and what is stored of it: the response without the key that is shown once. */
export interface Answered extends Reply {
  readonly stored?: string;
}

/** The response of the first such request, or what `work` gives. In the transaction of `tables`, so that both are there or none. */
export async function once(
  tables: Statements,
  { actor, key, content }: RepeatableRequest,
  work: () => Promise<Answered | HttpError>,
): Promise<Reply | HttpError> {
  if (key === null) return work();
  const fingerprint = hash("sha256", content, "hex");
  const [known] = await tables.run<StoredAnswer>([LOCK, FORGET, FIND], [actor, key]);
  if (known !== undefined && known.fingerprint !== fingerprint) return USED;
  if (known !== undefined) return { status: known.status, body: known.body, headers: REPEATED };
  const answered = await work();
  if (isHttpError(answered)) return answered;
  const { stored = String(answered.body), ...reply } = answered;
  await tables.run([STORE], [actor, key, fingerprint, reply.status, stored]);
  return reply;
}

interface StoredAnswer {
  readonly fingerprint: string;
  readonly status: number;
  readonly body: string;
}

const REPEATED = { "Idempotent-Replayed": "true" };

const USED = httpError("valueNotOfType", {
  name: "Idempotency-Key",
  type: "a text that no other request of the last day had",
});

/** Two requests with one key at the same time: the second waits for the first. Each statement has the same values. */
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 0))";
const FORGET = `DELETE FROM routewright_keys.idempotency WHERE at < now() - interval '1 day' AND $1 || $2 IS NOT NULL`;
const FIND =
  "SELECT fingerprint, status, body FROM routewright_keys.idempotency WHERE actor = $1 AND key = $2";
const STORE = `INSERT INTO routewright_keys.idempotency (actor, key, fingerprint, status, body) VALUES ($1, $2, $3, $4, $5)`;
