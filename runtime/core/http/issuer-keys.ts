import { createLocalJWKSet, errors, type JWK, type JWTVerifyGetKey } from "jose";
import { createPublicKey, type JsonWebKey } from "node:crypto";
import { isFetchable } from "../model/store-address.js";
import { sendRequest } from "./outbound-http.js";

/** Algorithms of tokens that are accepted: public keys only. */
export const TOKEN_ALGORITHMS: readonly string[] = ["RS256", "PS256", "ES256", "EdDSA"];

/** Unknown `kid`s have the key set fetched again at most this often. */
const REFETCH_MS = 60_000;
/** Lifetime of the cached key set and discovery document. */
const STALE_MS = 10 * 60_000;
const TIMEOUT_MS = 5_000;
/** What cannot be read is tried again after this. */
const RETRY_MS = 1_000;

/** How the keys of an issuer are found. */
export interface KeySource {
  /** Where they are; null: the issuer's discovery document says it (OpenID Connect Discovery 1.0 §4). */
  readonly jwksUrl: string | null;
  /** Whether they may be fetched over http from another machine, as inside a cluster. */
  readonly allowHttp: boolean;
}

const DISCOVERED: KeySource = { jwksUrl: null, allowHttp: false };

interface KnownKeys {
  readonly keys: RemoteKeys;
  /** By `performance.now()`. */
  readonly staleAt: number;
}

/** The public keys of token issuers, cached by where they come from: one registration never gives keys to another. */
export class IssuerKeys {
  /** Bounded by the issuers that operators name. */
  readonly #issuers = new Map<string, CachedKeys>();

  /** Null: the keys cannot be read now. Those that are known stay valid while they are read again, or cannot be. */
  async of(issuer: string, { jwksUrl, allowHttp }: KeySource = DISCOVERED): Promise<JWTVerifyGetKey | null> {
    const name = JSON.stringify([issuer, jwksUrl, allowHttp]);
    const find = (): Promise<string | null> =>
      jwksUrl === null ? discoverKeySet(issuer, allowHttp) : Promise.resolve(jwksUrl);
    const cached = this.#issuers.get(name) ?? new CachedKeys(find);
    this.#issuers.set(name, cached);
    return (await cached.current())?.keyOf ?? null;
  }
}

/** The keys of one issuer. */
class CachedKeys {
  readonly #read: () => Promise<RemoteKeys | null>;
  #known: KnownKeys | null = null;

  /** @param find where the keys are; null where nobody says it */
  constructor(find: () => Promise<string | null>) {
    this.#read = spaced(async () => {
      const uri = await find();
      return uri === null ? null : this.#readFrom(uri);
    });
  }

  async current(): Promise<RemoteKeys | null> {
    const known = this.#known;
    if (known && known.staleAt > performance.now()) return known.keys;
    const reading = this.#read();
    return known?.keys ?? (await reading);
  }

  /** Keys at another address replace the known ones once they are read. */
  async #readFrom(uri: string): Promise<RemoteKeys | null> {
    const known = this.#known?.keys.uri === uri ? this.#known.keys : null;
    const keys = known ?? new RemoteKeys(uri);
    if (!(await keys.reload()) && known === null) return null;
    this.#known = { keys, staleAt: performance.now() + STALE_MS };
    return keys;
  }
}

/**
 * Calls at once are one, and none follows within a second one that found nothing: an issuer that fails at once does not get a request for
 * each token.
 */
function spaced<T>(read: () => Promise<T | null>): () => Promise<T | null> {
  let reading: Promise<T | null> | null = null;
  let failedAt = -Infinity;
  return () => {
    if (performance.now() - failedAt < RETRY_MS) return Promise.resolve(null);
    return (reading ??= read()
      .then((found) => {
        if (found === null) failedAt = performance.now();
        return found;
      })
      .finally(() => (reading = null)));
  };
}

/**
 * The keys at an address, which are read again by `CachedKeys`, and where a token names one that is not among them. `createRemoteJWKSet` of
 * jose (6) counts the pause between its reads by `Date.now()`: with a clock that was set back an hour, tokens with a new key were 401 for as long.
 */
class RemoteKeys {
  readonly uri: string;
  readonly #read: () => Promise<readonly object[] | null>;
  #find: JWTVerifyGetKey = createLocalJWKSet({ keys: [] });
  #readAt = -Infinity;

  constructor(uri: string) {
    this.uri = uri;
    this.#read = spaced(() => readKeys(uri));
  }

  /** False: they cannot be read, and stay as they were. */
  async reload(): Promise<boolean> {
    const keys = await this.#read();
    if (keys === null) return false;
    this.#find = createLocalJWKSet({ keys: [...keys] as JWK[] });
    this.#readAt = performance.now();
    return true;
  }

  readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.#find(header, token);
    } catch (error) {
      const isKnown = performance.now() - this.#readAt < REFETCH_MS;
      if (isKnown || !(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (!(await this.reload())) throw new errors.JOSEError("The keys of the issuer cannot be read.");
      return this.#find(header, token);
    }
  };
}

/** Null where there is no key set: an error page is none, and an issuer's tokens are not refused for it. */
async function readKeys(uri: string): Promise<readonly object[] | null> {
  const text = await getJson(uri);
  return text === null ? null : usableKeys(parseDocument(text));
}

/** Smallest RSA key that verifies RS256 and PS256 (RFC 7518 §3.3). */
const RSA_BITS = 2_048;

/**
 * The keys of a set that can verify, of each what names and makes it. A token that names another is refused as one with an unknown key is. What else
 * a key says, such as further uses, makes the library throw: a caller without a right ended the process so.
 */
function usableKeys(document: object | null): readonly object[] | null {
  const { keys } = (document ?? {}) as { readonly keys?: unknown };
  return Array.isArray(keys) ? keys.flatMap((jwk: unknown) => usableKey(jwk) ?? []) : null;
}

/** Null: a small RSA key, one with its certificate alone, a point that is not on its curve, a key for something else. */
function usableKey(jwk: unknown): object | null {
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    const { kid, alg, use, key_ops: uses } = jwk as JsonWebKey;
    const isFor =
      (use === undefined || use === "sig") &&
      (uses === undefined || (Array.isArray(uses) && uses.includes("verify"))) &&
      (alg === undefined || typeof alg === "string");
    const isLarge =
      key.asymmetricKeyType !== "rsa" || (key.asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS;
    const named = { ...(typeof kid === "string" && { kid }), ...(alg !== undefined && { alg }) };
    return isFor && isLarge ? { ...key.export({ format: "jwk" }), ...named } : null;
  } catch {
    return null;
  }
}

/** `jwks_uri` of the issuer's discovery document; null when it cannot be read. */
async function discoverKeySet(issuer: string, allowHttp: boolean): Promise<string | null> {
  const text = await getJson(discoveryOf(issuer));
  const document = text === null ? null : parseDocument(text);
  if (document?.issuer !== issuer || typeof document.jwks_uri !== "string") return null;
  return isFetchable(document.jwks_uri, allowHttp) ? document.jwks_uri : null;
}

function discoveryOf(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}

/** Why the keys of an issuer cannot be read now, for its operator; null: they can. */
export async function issuerProblem(
  issuer: string,
  { jwksUrl, allowHttp }: KeySource,
): Promise<string | null> {
  if (jwksUrl !== null) return keySetProblem(jwksUrl);
  const discovery = discoveryOf(issuer);
  const text = await getJson(discovery);
  if (text === null) return `${discovery} cannot be read.`;
  const { issuer: named, jwks_uri: uri } = parseDocument(text) ?? {};
  if (named !== issuer)
    return `${discovery} is of the issuer ${typeof named === "string" ? named : "of no name"}, not ${issuer}: tokens name it so to the last character.`;
  if (typeof uri !== "string" || !isFetchable(uri, allowHttp))
    return `${discovery} names no address of keys that can be fetched: ${String(uri)}`;
  return keySetProblem(uri);
}

async function keySetProblem(uri: string): Promise<string | null> {
  const text = await getJson(uri);
  if (text === null) return `The keys at ${uri} cannot be read.`;
  const keys = usableKeys(parseDocument(text)) ?? [];
  return keys.length > 0 ? null : `There is no key at ${uri} that can verify tokens.`;
}

function parseDocument(text: string): { readonly issuer?: unknown; readonly jwks_uri?: unknown } | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

async function getJson(url: string): Promise<string | null> {
  const result = await sendRequest({
    url: new URL(url),
    method: "GET",
    headers: { accept: "application/json" },
    body: "",
    timeoutMs: TIMEOUT_MS,
  });
  return result.kind === "answered" && result.status === 200 ? result.body : null;
}
