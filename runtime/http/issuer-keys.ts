import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from "jose";
import { createPublicKey, type JsonWebKey } from "node:crypto";
import { sendRequest } from "./outbound-http.js";

/** Algorithms of tokens that are accepted: public keys only. */
export const TOKEN_ALGORITHMS: readonly string[] = ["RS256", "PS256", "ES256", "EdDSA"];

/** Unknown `kid`s have the key set fetched again at most this often. */
const REFETCH_MS = 60_000;
/** Lifetime of the cached key set and discovery document. */
const STALE_MS = 10 * 60_000;
const TIMEOUT_MS = 5_000;

interface KeySet {
  readonly uri: string;
  readonly keys: RemoteKeys;
  readonly staleAt: number;
}

/** The public keys of token issuers, found by OpenID Connect Discovery 1.0 §4 and cached. */
export class IssuerKeys {
  readonly #sets = new Map<string, KeySet>();
  readonly #reading = new Map<string, Promise<KeySet | null>>();

  /** Null: the issuer cannot be reached. Keys that are known stay valid while they are read again, or cannot be. */
  async of(issuer: string): Promise<JWTVerifyGetKey | null> {
    const known = this.#sets.get(issuer);
    if (known && known.staleAt > Date.now()) return known.keys;
    const reading = this.#reading.get(issuer) ?? this.#read(issuer, known);
    return known?.keys ?? (await reading)?.keys ?? null;
  }

  #read(issuer: string, known: KeySet | undefined): Promise<KeySet | null> {
    const reading = discoverKeySet(issuer)
      .then(async (uri) => {
        if (uri === null) return null;
        const keys = known?.uri === uri ? known.keys : remoteKeySet(uri);
        if (keys === known?.keys) await keys.reload().catch(() => undefined);
        const found = { uri, keys, staleAt: Date.now() + STALE_MS };
        this.#sets.set(issuer, found);
        return found;
      })
      .finally(() => this.#reading.delete(issuer));
    this.#reading.set(issuer, reading);
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
    [customFetch]: async (url) => {
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
async function discoverKeySet(issuer: string): Promise<string | null> {
  const text = await getJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  const document = text === null ? null : parseDocument(text);
  if (document?.issuer !== issuer || typeof document.jwks_uri !== "string") return null;
  return isFetchable(document.jwks_uri) ? document.jwks_uri : null;
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

/** Keys are fetched over TLS or from this machine only. */
export function isFetchable(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return (
    protocol === "https:" || (protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname))
  );
}
