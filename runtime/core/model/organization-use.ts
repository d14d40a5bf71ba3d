import type { HttpError } from "./errors.js";

/** A request whose use is counted. */
export interface CountedRequest {
  /** Requests of the quota that it has taken and that are not counted yet. */
  taken: number;
}

/** What was sent for a request to an endpoint. */
export interface SentUse {
  /** Id of the key. */
  readonly key: string;
  /** Path of the endpoint. */
  readonly endpoint: string;
  readonly status: number;
  readonly rows: number | null;
  /** Of the body, as sent. */
  readonly bytes: number;
  /** Null when no query ran. */
  readonly databaseMs: number | null;
}

/** The policy of the month, in the form of draft-ietf-httpapi-ratelimit-headers-11: what follows that of the minute. */
export interface MonthPolicy {
  readonly limit: string;
  readonly policy: string;
}

/** Counts what the keys of an organization use, against its quota (runtime/docs/keys.md, Quotas). */
export interface OrganizationUse {
  /** Takes a request of the quota; the refusal where nothing is left. It waits only where this process has no share. */
  take(request: CountedRequest): HttpError | null | Promise<HttpError | null>;
  /** Counts what was sent for a request that was taken, or gives the request back. */
  count(request: CountedRequest, sent: SentUse): void;
  /** Null without a quota. */
  readonly month: MonthPolicy | null;
}
