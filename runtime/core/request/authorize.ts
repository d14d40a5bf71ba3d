import type { ApiKey, Caller, RateWindow, RequestContext } from "../model/caller.js";
import { httpError, type HttpError, isHttpError, type Result } from "../model/errors.js";
import { allows, allowsPath, type PerTier, RATE_WINDOW_SECONDS, type Tier } from "../model/tier.js";
import {
  type ClientAddress,
  corsHeaders,
  FAILOVER_RETRY_SECONDS,
  type RequestSource,
  networkOf,
  requestIdOf,
} from "../http/headers.js";
import { type RateLimitStore, secondsLeft } from "./rate-limit/memory-store.js";
import { andThen } from "../http/serve.js";
import type { TokenIssuer } from "./bearer-tokens.js";
import { type Keyring, hasExpired } from "./keyring.js";

/** What authorization depends on. */
export interface AccessControl {
  readonly keys: Keyring;
  /** The issuer whose tokens are accepted beside the keys; null: none. */
  readonly tokens: TokenIssuer | null;
  readonly rates: RateLimitStore;
  readonly addressOf: ClientAddress;
  /** Requests per window by the caller's tier. */
  readonly rateLimits: Readonly<PerTier<number>>;
  /** Documents and pages per window and address. */
  readonly documentRateLimit: number;
  /** Origins whose pages may read responses; null: all. */
  readonly corsOrigins: ReadonlySet<string> | null;
}

/**
 * Checks the key, then the rate limit (runtime/docs/requests.md). Every request counts, refused ones too. `audience`: of tokens
 * that are accepted beside those for the whole API.
 */
export function authorize(
  access: AccessControl,
  request: RequestSource,
  isStillNeeded: () => boolean,
  audience: string | null = null,
): RequestContext | Promise<RequestContext> {
  return andThen(identify(access, request, audience), ({ caller, refusal }) =>
    andThen(access.rates.hit(caller.id), (window) => {
      const isOverLimit = window.count > limitOf(access, caller);
      const error = isOverLimit ? httpError("rateLimited", { n: secondsLeft(window) }) : refusal;
      return contextOf(access, request, caller, window, error, isStillNeeded);
    }),
  );
}

/** As `authorize`, for paths without a limit: reports the window without counting. An unknown key still counts. */
export async function peek(
  access: AccessControl,
  request: RequestSource,
  isStillNeeded: () => boolean,
  audience: string | null = null,
): Promise<RequestContext> {
  const { caller, refusal } = await identify(access, request, audience);
  const window = await (refusal ? access.rates.hit(caller.id) : access.rates.peek(caller.id));
  return contextOf(access, request, caller, window, refusal, isStillNeeded);
}

/**
 * As `peek`, for documents and pages, which count by address, with any key: 8 connections that asked for `/openapi.json` of 503 endpoints
 * made everybody else wait seconds.
 */
export async function authorizeDocument(...asked: Parameters<typeof peek>): Promise<RequestContext> {
  const [access, request] = asked;
  const context = await peek(...asked);
  const window = await access.rates.hit(`document:${networkOf(access.addressOf(request))}`);
  if (window.count <= access.documentRateLimit) return context;
  return { ...context, refusal: httpError("rateLimited", { n: secondsLeft(window) }) };
}

function contextOf(
  access: AccessControl,
  request: RequestSource,
  caller: Caller,
  { count, resetAt }: RateWindow,
  refusal: HttpError | null,
  isStillNeeded: () => boolean,
): RequestContext {
  const window = { count, resetAt, limit: limitOf(access, caller) };
  const cors = corsHeaders(access.corsOrigins, request);
  return { id: requestIdOf(request), caller, window, cors, refusal, isStillNeeded, taken: 0 };
}

/** Requests per window: of the plan, or of the tier. */
function limitOf({ rateLimits }: AccessControl, { key, tier }: Caller): number {
  return key?.requestsPerMinute ?? rateLimits[tier];
}

interface Identified {
  readonly caller: Caller;
  readonly refusal: HttpError | null;
}

/** The caller; with a key that is not accepted, its address and the reason. */
export function identify(
  access: AccessControl,
  request: RequestSource,
  audience: string | null,
): Identified | Promise<Identified> {
  const { apiKey, bearer } = sentKeys(request);
  const text = apiKey ?? bearer;
  if (text === undefined) return { caller: anonymous(access, request), refusal: null };
  const areTwo = bearer !== undefined && bearer !== text && isOurs(access, bearer);
  return andThen(areTwo ? httpError("differentKeys") : keyOf(access, text, audience), (key): Identified => {
    if (isHttpError(key)) return { caller: anonymous(access, request), refusal: key };
    const known = OWNERS.get(key);
    if (known !== undefined) return known;
    const { id, tier, org, allowed } = key;
    const owner = { caller: { id: `key:${id}`, tier, org: org || null, allowed, key }, refusal: null };
    OWNERS.set(key, owner);
    return owner;
  });
}

/** By a key's entry, which nobody changes: another one has another owner. Made anew at each request it took 0.3 µs. */
const OWNERS = new WeakMap<ApiKey, Identified>();

function anonymous({ addressOf }: AccessControl, request: RequestSource): Caller {
  const id = `ip:${networkOf(addressOf(request))}`;
  return { id, tier: "tier0", org: null, allowed: null, key: null };
}

function keyOf(
  { keys, tokens }: AccessControl,
  text: string,
  audience: string | null,
): Result<ApiKey> | Promise<Result<ApiKey>> {
  const key = keys.find(text);
  if (key === null) return tokens?.isToken(text) ? tokens.keyOf(text, audience) : unknownKey(keys, text);
  return hasExpired(key) ? httpError("expiredKey", { at: new Date(key.expiresAt ?? 0).toISOString() }) : key;
}

function unknownKey(keys: Keyring, text: string): HttpError {
  return keys.mayBeStored(text)
    ? httpError("keysUnreachable", { n: FAILOVER_RETRY_SECONDS })
    : httpError("unknownKey");
}

/** The keys in `X-API-Key` and `Authorization: Bearer`. Other schemes are not ours. */
function sentKeys({ headers }: RequestSource): {
  readonly apiKey: string | undefined;
  readonly bearer: string | undefined;
} {
  const { authorization, "x-api-key": apiKey } = headers;
  const bearer = authorization === undefined ? null : /^Bearer +(.+)$/i.exec(authorization);
  return { apiKey: String(apiKey ?? "") || undefined, bearer: bearer?.[1]?.trim() || undefined };
}

/** Whether a token in `Authorization` is a key of this server or of its issuer: a gateway in front adds tokens of its own. */
function isOurs({ keys, tokens }: AccessControl, text: string): boolean {
  return keys.find(text) !== null || tokens?.isOfIssuer(text) === true;
}

/** The name of the rate limit in `RateLimit` and `RateLimit-Policy`. */
export const MINUTE_POLICY = "minute";
const SERVICE_LIMIT = `"${MINUTE_POLICY}";r=`;
const POLICY = `"${MINUTE_POLICY}";q=`;
const POLICY_WINDOW = `;w=${RATE_WINDOW_SECONDS}`;

/**
 * Headers of every response: rate limit window, in our own headers and in those of draft-ietf-httpapi-ratelimit-headers-11, request id
 * and CORS, as flat name and value pairs.
 */
export function callerHeaders({ id, window, cors, caller }: RequestContext): string[] {
  const { limit, count, resetAt } = window;
  const month = caller.key?.use?.month;
  const remaining = String(Math.max(0, limit - count));
  const headers = [
    "X-RateLimit-Limit",
    String(limit),
    "X-RateLimit-Remaining",
    remaining,
    "X-RateLimit-Reset",
    String(Math.ceil(resetAt / 1000)),
    "RateLimit",
    `${SERVICE_LIMIT}${remaining};t=${String(secondsLeft(window))}${month?.limit ?? ""}`,
    "RateLimit-Policy",
    `${POLICY}${String(limit)}${POLICY_WINDOW}${month?.policy ?? ""}`,
    "X-Request-Id",
    id,
  ];
  for (const text of cors) headers.push(text);
  return headers;
}

/** Why a caller may not call the endpoint of tier `required` at `path`; null when it may. */
export function requireAccess(path: string, required: Tier, caller: Caller): HttpError | null {
  const { key, tier: held, allowed } = caller;
  if (allows(held, required)) return allowsPath(allowed, path) ? null : httpError("notListed", { path });
  if (key === null) return httpError("missingKey");
  return httpError("tierTooLow", { tier: required, user: key.user, held });
}
