import type { HttpError } from "./errors.js";
import type { CountedRequest, OrganizationUse } from "./organization-use.js";
import { allows, allowsPath, type Tier } from "./tier.js";

/** An API key as its owner got it, or the JWT of a user. */
export interface ApiKey {
  /** First digits of the key's hash, or of its user's: safe in logs and metrics. */
  readonly id: string;
  readonly user: string;
  readonly tier: Tier;
  /** Empty: none. */
  readonly org: string;
  /** When it expires, in milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
  /** The categories and paths that it is limited to; null: all that its tier may call. */
  readonly allowed: readonly string[] | null;
  /** Of a token whose tier is its highest scope: one with more scopes has a higher tier. */
  readonly isByScope?: true;
  /** Of its organization's plan; absent: that of the tier. */
  readonly requestsPerMinute?: number;
  /** Counts what its organization uses; absent where nothing does. */
  readonly use?: OrganizationUse;
}

/** Who sends a request: the owner of a key or, without one, a network address (runtime/docs/keys.md). */
export interface Caller {
  /** `key:<id>` or `ip:<network>`. Rate limits and shares count by it. */
  readonly id: string;
  readonly tier: Tier;
  /** The organization whose rows it may read (`*`: of all); null: of none. */
  readonly org: string | null;
  /** The categories and paths that it is limited to; null: all of its tier. */
  readonly allowed: readonly string[] | null;
  /** Null without a key. */
  readonly key: ApiKey | null;
}

/** What decides what a caller may call. */
export type Access = Pick<Caller, "tier" | "allowed">;

/** Whether a caller may call the endpoint of tier `required` at `path`. */
export function mayCall({ tier, allowed }: Access, path: string, required: Tier): boolean {
  return allows(tier, required) && allowsPath(allowed, path);
}

/** Snapshot of a caller's rate limit window. */
export interface RateWindow {
  /** Requests counted so far, including this one. Above the limit the request is refused. */
  readonly count: number;
  /** When the window ends, in milliseconds since 1970. */
  readonly resetAt: number;
}

/** A request while it is served, from its headers to its response. */
export interface RequestContext extends CountedRequest {
  /** In `X-Request-Id` and in the log. */
  readonly id: string;
  readonly caller: Caller;
  /** The caller's rate limit window. `limit`: requests per window of its tier. */
  readonly window: RateWindow & { readonly limit: number };
  /** Headers that let a page of the caller's origin read the response, as flat name and value pairs. */
  readonly cors: readonly string[];
  /** Why the request is refused; null while it is not. */
  readonly refusal: HttpError | null;
  /** Whether a client still waits for the response. */
  readonly isStillNeeded: () => boolean;
}
