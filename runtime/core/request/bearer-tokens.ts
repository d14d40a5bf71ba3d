import { errors, type JWTPayload, jwtVerify } from "jose";
import { httpError, type HttpError, type Result } from "../model/errors.js";
import { FAILOVER_RETRY_SECONDS } from "../http/headers.js";
import { IssuerKeys, TOKEN_ALGORITHMS } from "../http/issuer-keys.js";
import type { ApiKey } from "../model/caller.js";
import { type Tier, TIERS } from "../model/tier.js";
import { hashOf, KEY_ID_DIGITS, readOwner } from "./keyring.js";

/** The issuer whose tokens are accepted, and what their claims mean (runtime/docs/keys.md, Tokens). */
export interface TokenSettings {
  readonly issuer: string;
  readonly audience: string;
  /** Names of the claims. */
  readonly claims: { readonly tier: string; readonly org: string; readonly user: string };
  readonly clockSkewSeconds: number;
}

/** Accepts the JWTs of one issuer in place of API keys. */
export class TokenIssuer {
  readonly #settings: TokenSettings;
  readonly #keys = new IssuerKeys();

  constructor(settings: TokenSettings) {
    this.#settings = settings;
  }

  get issuer(): string {
    return this.#settings.issuer;
  }

  /** Whether a text has the form of a JWT. */
  isToken(text: string): boolean {
    return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text);
  }

  /** Whether a text is a JWT that names the issuer; whether it is valid is not checked. */
  isOfIssuer(text: string): boolean {
    if (!this.isToken(text)) return false;
    try {
      const claims: unknown = JSON.parse(Buffer.from(text.split(".")[1] ?? "", "base64url").toString());
      return (claims as { readonly iss?: unknown } | null)?.iss === this.issuer;
    } catch {
      return false;
    }
  }

  /**
   * The caller that a token stands for, with an id that stays the same for its subject. `other`: an audience that is accepted
   * beside that of the API; null: none.
   */
  async keyOf(token: string, other: string | null): Promise<Result<ApiKey>> {
    const { issuer, clockSkewSeconds: clockTolerance } = this.#settings;
    const audience = [this.#settings.audience, ...(other === null ? [] : [other])];
    const keys = await this.#keys.of(issuer);
    if (keys === null) return httpError("issuerUnreachable", { n: FAILOVER_RETRY_SECONDS });
    try {
      const algorithms = [...TOKEN_ALGORITHMS];
      const requiredClaims = ["exp", "sub"];
      const options = { issuer, audience, algorithms, clockTolerance, requiredClaims };
      const { payload } = await jwtVerify(token, keys, options);
      return this.#describe(payload);
    } catch (error) {
      return verificationError(error);
    }
  }

  #describe(payload: JWTPayload): Result<ApiKey> {
    const { issuer, claims } = this.#settings;
    const { sub } = payload as Readonly<Record<string, unknown>>;
    // It identifies the caller: all tokens without one would share a window, a usage and rows.
    if (typeof sub !== "string" || sub.trim() === "" || !sub.isWellFormed())
      return httpError("invalidToken", {
        reason: "its claim sub must be a string that is not empty, without lone surrogates.",
      });
    const id = hashOf(`${issuer} ${sub}`).slice(0, KEY_ID_DIGITS);
    const owner = readOwner(
      {
        tier: payload[claims.tier] ?? highestScope(payload),
        org: payload[claims.org],
        user: payload[claims.user],
      },
      id,
    );
    if (typeof owner !== "string")
      return payload[claims.tier] === undefined ? { ...owner, isByScope: true } : owner;
    const names = `tier is read from ${claims.tier}, else from the scopes, org from ${claims.org}, user from ${claims.user}`;
    return httpError("invalidToken", { reason: `its ${owner} Of its claims, ${names}.` });
  }
}

/** The highest tier among the scopes of a token: `scope` (RFC 8693) or the `scp` of Entra ID and Okta. */
function highestScope({ scope, scp }: JWTPayload): Tier | undefined {
  const scopes = new Set([scope, scp].flat().flatMap((text) => String(text).split(" ")));
  return TIERS.findLast((tier) => scopes.has(tier));
}

/** Messages name claims, never values. Whatever else fails, the issuer's signature is not proven. */
function verificationError(error: unknown): HttpError {
  if (error instanceof errors.JWTExpired) return httpError("invalidToken", { reason: "it has expired." });
  if (error instanceof errors.JWTClaimValidationFailed)
    return httpError("invalidToken", { reason: `its claim ${error.claim} is missing or not accepted.` });
  // The key set could not be read.
  if ((error as { code?: unknown }).code === "ERR_JOSE_GENERIC")
    return httpError("issuerUnreachable", { n: FAILOVER_RETRY_SECONDS });
  return httpError("invalidToken", { reason: "it is not signed by the configured issuer." });
}
