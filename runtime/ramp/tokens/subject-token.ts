import { createRemoteJWKSet, customFetch, decodeJwt, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { isRampError, rampError, type RampError } from "../ramp-errors.js";
import type { ProjectId } from "../database/id.js";
import { OF_PROJECT, type ProjectTransaction, type RampDatabase } from "../database/ramp-database.js";
import { sendRequest } from "../outbound-http.js";
import { parseJson } from "../json-schema.js";
import type { SigningKeys } from "./customer-token.js";

/** Algorithms of subject tokens: public keys only. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];

/** Unknown `kid`s have the key set fetched again at most this often. */
const REFETCH_MS = 60_000;
/** Lifetime of the cached key set and discovery document. */
const STALE_MS = 10 * 60_000;
const TIMEOUT_MS = 5_000;
/** Clocks differ a little without any skew that the project allows. */
const CLOCK_SECONDS = 5;

/** The identity that an identity provider asserts. */
export interface Subject {
  readonly issuer: string;
  readonly subject: string;
  /** Whether the subject is a wallet that signed in here. */
  readonly isWallet: boolean;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

interface IdentityProvider {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly clock_skew_seconds: number;
}

/** Verifies the ID tokens of the identity providers that a project has registered. Keys come from them alone. */
export class SubjectTokens {
  readonly #database: RampDatabase;
  readonly #wallets: { readonly issuer: string; readonly keys: SigningKeys };
  readonly #keySets = new Map<string, KeySet>();

  /** @param wallets the issuer of our own wallet tokens, and the keys that signed them */
  constructor(database: RampDatabase, wallets: { readonly issuer: string; readonly keys: SigningKeys }) {
    this.#database = database;
    this.#wallets = wallets;
  }

  /** The subject of a token, or why it is refused: 401 for issuer and audience, 400 for all else (runtime/ramp/README.md, Errors). */
  async verify(projectId: ProjectId, token: string): Promise<Subject | RampError> {
    const issuer = issuerOf(token);
    if (issuer === null) return rampError("INVALID_SUBJECT_TOKEN");
    if (issuer === this.#wallets.issuer) return this.#verifyWallet(projectId, token);
    const provider = await this.#database.inProject(projectId, (tx) => readIdentityProvider(tx, issuer));
    if (provider === null) return rampError("SUBJECT_TOKEN_REJECTED");
    const keys = await this.#keysOf(issuer);
    if (isRampError(keys)) return keys;
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: [...provider.audiences],
        algorithms: ALGORITHMS,
        clockTolerance: provider.clock_skew_seconds,
        requiredClaims: ["exp", "sub", "iat"],
      });
      if ((payload.iat ?? 0) > Date.now() / 1000 + provider.clock_skew_seconds + CLOCK_SECONDS)
        return rampError("INVALID_SUBJECT_TOKEN", { message: "The subject token was issued in the future." });
      // OpenID Connect Core §3.1.3.7: the party that a token was issued to is one of the project's own clients.
      const { azp } = payload;
      if (azp !== undefined && !provider.audiences.some((audience) => audience === azp))
        return rampError("SUBJECT_TOKEN_REJECTED");
      return subjectOf(issuer, payload, false);
    } catch (error) {
      return verificationError(error);
    }
  }

  /** A wallet token is for a domain that the project registered. */
  async #verifyWallet(projectId: ProjectId, token: string): Promise<Subject | RampError> {
    const { issuer, keys } = this.#wallets;
    const claims = await keys.verify(token, issuer);
    if (claims === null) return rampError("INVALID_SUBJECT_TOKEN");
    const domains = await this.#database.inProject(projectId, readWalletDomains);
    // A contract wallet was checked with one project's node: the token is for that project alone.
    const isForOther = claims["pid"] !== undefined && claims["pid"] !== projectId;
    if (isForOther || typeof claims.aud !== "string" || !domains.includes(claims.aud))
      return rampError("SUBJECT_TOKEN_REJECTED");
    return subjectOf(issuer, claims, true);
  }

  async #keysOf(issuer: string): Promise<JWTVerifyGetKey | RampError> {
    let known = this.#keySets.get(issuer);
    if (!known || known.staleAt < Date.now()) {
      const uri = await discoverKeySet(issuer);
      // While the provider is unreachable, its last keys stay valid.
      if (uri === null)
        return (
          known?.keys ??
          rampError("INVALID_SUBJECT_TOKEN", { message: "The identity provider cannot be reached." })
        );
      const keys = known?.uri === uri ? known.keys : remoteKeySet(uri);
      this.#keySets.set(issuer, (known = { uri, keys, staleAt: Date.now() + STALE_MS }));
    }
    return known.keys;
  }
}

interface KeySet {
  readonly uri: string;
  readonly keys: JWTVerifyGetKey;
  readonly staleAt: number;
}

function remoteKeySet(uri: string): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(uri), {
    cooldownDuration: REFETCH_MS,
    cacheMaxAge: STALE_MS,
    timeoutDuration: TIMEOUT_MS,
    // The ramp's own client: it follows no redirect and bounds what it reads.
    [customFetch]: async (url) => {
      const result = await getJson(url);
      return new Response(result ?? "", { status: result === null ? 502 : 200 });
    },
  });
}

/** `jwks_uri` of the issuer's discovery document (OpenID Connect Discovery 1.0 §4); null when it cannot be read. */
async function discoverKeySet(issuer: string): Promise<string | null> {
  const text = await getJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  const document =
    text === null ? null : (parseJson(text) as { issuer?: unknown; jwks_uri?: unknown } | null | undefined);
  if (document?.issuer !== issuer || typeof document.jwks_uri !== "string") return null;
  return isFetchable(document.jwks_uri) ? document.jwks_uri : null;
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

function issuerOf(token: string): string | null {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === "string" && !iss.includes("\0") ? iss : null;
  } catch {
    return null;
  }
}

function subjectOf(
  issuer: string,
  { sub, exp }: { readonly sub?: string | undefined; readonly exp?: number | undefined },
  isWallet: boolean,
): Subject | RampError {
  const isUsable =
    sub !== undefined && sub !== "" && sub.length <= 256 && !sub.includes("\0") && exp !== undefined;
  return isUsable
    ? { issuer, subject: sub, isWallet, expiresAt: Math.floor(exp) }
    : rampError("INVALID_SUBJECT_TOKEN");
}

function verificationError(error: unknown): RampError {
  if (error instanceof errors.JWTClaimValidationFailed && (error.claim === "aud" || error.claim === "iss"))
    return rampError("SUBJECT_TOKEN_REJECTED");
  if (error instanceof errors.JWTExpired)
    return rampError("INVALID_SUBJECT_TOKEN", { message: "The subject token has expired." });
  if (error instanceof errors.JOSEError) return rampError("INVALID_SUBJECT_TOKEN");
  throw error;
}

function readIdentityProvider(tx: ProjectTransaction, issuer: string): Promise<IdentityProvider | null> {
  return tx.row<IdentityProvider>(
    `SELECT issuer, audiences, clock_skew_seconds FROM ramp.identity_providers WHERE ${OF_PROJECT} AND issuer = $1`,
    [issuer],
  );
}

/** Domains whose wallet sign-ins the project accepts. */
async function readWalletDomains(tx: ProjectTransaction): Promise<readonly string[]> {
  const row = await tx.row<{ wallet_domains: readonly string[] }>(
    "SELECT wallet_domains FROM ramp.projects WHERE id = ramp.current_project()",
  );
  return row?.wallet_domains ?? [];
}
