import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from "jose";
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

/** How the keys of an issuer are found. */
export interface KeySource {
  /** Where they are; null: the issuer's discovery document says it (OpenID Connect Discovery 1.0 §4). */
  readonly jwksUrl: string | null;
  /** Whether they may be fetched over http from another machine, as inside a cluster. */
  readonly allowHttp: boolean;
}

const DISCOVERED: KeySource = { jwksUrl: null, allowHttp: false };

interface KeySet {
  readonly uri: string;
  readonly keys: RemoteKeys;
  readonly staleAt: number;
}

/** The public keys of token issuers, cached by where they come from: one registration never gives keys to another. */
export class IssuerKeys {
  /** Bounded by the issuers that operators name. */
  readonly #sets = new Map<string, KeySet>();
  /** Bounded by the same issuers. */
  readonly #reading = new Map<string, Promise<KeySet | null>>();

  /** Null: the issuer cannot be reached. Keys that are known stay valid while they are read again, or cannot be. */
  async of(issuer: string, { jwksUrl, allowHttp }: KeySource = DISCOVERED): Promise<JWTVerifyGetKey | null> {
    const name = JSON.stringify([issuer, jwksUrl, allowHttp]);
    const known = this.#sets.get(name);
    if (known && known.staleAt > Date.now()) return known.keys;
    const found = (): Promise<string | null> =>
      jwksUrl === null ? discoverKeySet(issuer, allowHttp) : Promise.resolve(jwksUrl);
    const reading = this.#reading.get(name) ?? this.#read(name, found, known);
    return known?.keys ?? (await reading)?.keys ?? null;
  }

  #read(name: string, find: () => Promise<string | null>, known: KeySet | undefined): Promise<KeySet | null> {
    const reading = find()
      .then(async (uri) => {
        if (uri === null) return null;
        const keys = known?.uri === uri ? known.keys : remoteKeySet(uri);
        if (keys === known?.keys) await keys.reload().catch(() => undefined);
        const found = { uri, keys, staleAt: Date.now() + STALE_MS };
        this.#sets.set(name, found);
        return found;
      })
      .finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }
}

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

function remoteKeySet(uri: string): RemoteKeys {
  return createRemoteJWKSet(new URL(uri), {
    cooldownDuration: REFETCH_MS,
    // `IssuerKeys` reads them again: here a request would wait for it, and fail while the issuer is unreachable.
    cacheMaxAge: Infinity,
    timeoutDuration: TIMEOUT_MS,
    // Follows no redirect and bounds what it reads.
    [customFetch]: async (url: string) => {
      const result = await getJson(url);
      return result === null
        ? new Response("", { status: 502 })
        : new Response(JSON.stringify(usableKeys(parseDocument(result))));
    },
  });
}

/** Smallest RSA key that verifies RS256 and PS256 (RFC 7518 §3.3). */
const RSA_BITS = 2_048;

/** The key set without the keys that cannot verify: a token that names one is refused as one with an unknown key is. */
function usableKeys(document: object | null): object | null {
  const { keys } = (document ?? {}) as { readonly keys?: unknown };
  return Array.isArray(keys) ? { keys: keys.filter(isUsable) } : document;
}

/** A small RSA key, one with its certificate alone, a point that is not on its curve: the library throws when it verifies with them. */
function isUsable(jwk: unknown): boolean {
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    return key.asymmetricKeyType !== "rsa" || (key.asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS;
  } catch {
    return false;
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
  const { keys } = (usableKeys(parseDocument(text)) ?? {}) as { readonly keys?: unknown };
  return Array.isArray(keys) && keys.length > 0 ? null : `There is no key at ${uri} that can verify tokens.`;
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
