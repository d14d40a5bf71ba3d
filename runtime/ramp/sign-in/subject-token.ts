import { decodeJwt, errors, type JWTPayload, jwtVerify } from "jose";
import { IssuerKeys, TOKEN_ALGORITHMS } from "@routewright/runtime/internal/core/http/issuer-keys.js";
import { isStorable } from "../core/json-schema.js";
import { isRampError, rampError, type RampError } from "../core/ramp-errors.js";
import type { ProjectId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import type { SigningKeys } from "./customer-token.js";
import { isIdToken } from "./id-token.js";

/** Clocks differ a little without any skew that the project allows. */
const CLOCK_SECONDS = 5;

/** The identity that an identity provider asserts. */
export interface TokenSubject {
  readonly issuer: string;
  readonly subject: string;
  /** Whether the subject is a wallet that signed in here. */
  readonly isWallet: boolean;
  /** Whom the token is for. */
  readonly audiences: readonly string[];
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

interface IdentityProvider {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly clock_skew_seconds: number;
  readonly jwksUrl: string | null;
  readonly allowHttp: boolean;
}

/** Verifies the ID tokens of the identity providers that a project has registered. Keys come from them alone. */
export class SubjectTokens {
  readonly #database: RampDatabase;
  readonly #wallets: { readonly issuer: string; readonly keys: SigningKeys };
  readonly #issuerKeys = new IssuerKeys();

  /** @param wallets the issuer of our own wallet tokens, and the keys that signed them */
  constructor(database: RampDatabase, wallets: { readonly issuer: string; readonly keys: SigningKeys }) {
    this.#database = database;
    this.#wallets = wallets;
  }

  /** The subject of a token, or why it is refused: 401 for issuer and audience, 400 for all else (runtime/ramp/docs/errors.md). */
  async verify(projectId: ProjectId, token: string): Promise<TokenSubject | RampError> {
    const issuer = issuerOf(token);
    if (issuer === null) return invalidSubject("is no JWT with an issuer (`iss`)");
    if (issuer === this.#wallets.issuer) return this.#verifyWallet(projectId, token);
    const provider = await this.#database.inProject(projectId, (tx) => readIdentityProvider(tx, issuer));
    if (provider === null) return rampError("SUBJECT_TOKEN_REJECTED");
    const keys = await this.#issuerKeys.of(issuer, provider);
    if (keys === null)
      return rampError("INVALID_SUBJECT_TOKEN", { message: "The identity provider cannot be reached." });
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience: [...provider.audiences],
        algorithms: [...TOKEN_ALGORITHMS],
        clockTolerance: provider.clock_skew_seconds,
        requiredClaims: ["exp", "sub", "iat"],
      });
      if (!isIdToken(protectedHeader, payload))
        return rampError("INVALID_SUBJECT_TOKEN", { message: "The subject token is not an ID token." });
      if ((payload.iat ?? 0) > Date.now() / 1000 + provider.clock_skew_seconds + CLOCK_SECONDS)
        return rampError("INVALID_SUBJECT_TOKEN", { message: "The subject token was issued in the future." });
      // OpenID Connect Core §3.1.3.7: the party that a token was issued to is one of the project's own clients.
      const { azp } = payload;
      if (azp !== undefined && !provider.audiences.some((audience) => audience === azp))
        return rampError("SUBJECT_TOKEN_REJECTED");
      return subjectOf(payload, { issuer, isWallet: false });
    } catch (error) {
      return verificationError(error);
    }
  }

  /** A wallet token is for a domain that the project registered. */
  async #verifyWallet(projectId: ProjectId, token: string): Promise<TokenSubject | RampError> {
    const { issuer, keys } = this.#wallets;
    const claims = await keys.verify(token, issuer);
    if (claims === null)
      return invalidSubject("is a wallet token that has expired, or whose signature is not this service's");
    // A contract wallet was checked with one project's node: the token is for that project alone.
    const isForOther = claims["pid"] !== undefined && claims["pid"] !== projectId;
    const subject = subjectOf(claims, { issuer, isWallet: true });
    if (isRampError(subject)) return subject;
    const isAccepted = await this.#database.inProject(projectId, (tx) => acceptsSubject(tx, subject));
    return isForOther || !isAccepted ? rampError("SUBJECT_TOKEN_REJECTED") : subject;
  }
}

function issuerOf(token: string): string | null {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === "string" && !iss.includes("\0") ? iss : null;
  } catch {
    return null;
  }
}

/** Nothing has checked that `sub` is a text; two that differ in a lone surrogate would be stored as one. */
function subjectOf(
  {
    sub,
    exp,
    aud = [],
  }: { readonly sub?: unknown } & { readonly [N in "exp" | "aud"]?: JWTPayload[N] | undefined },
  from: Pick<TokenSubject, "issuer" | "isWallet">,
): TokenSubject | RampError {
  const isText = typeof sub === "string" && sub !== "" && sub.length <= 256;
  return isText && isStorable([sub, aud]) && exp !== undefined
    ? { ...from, subject: sub, audiences: [aud].flat(), expiresAt: Math.floor(exp) }
    : invalidSubject("has no `sub` of 1 to 256 characters, or no `exp`");
}

/** Why, in the words of its issuer's developers. Nothing of the token itself. */
function invalidSubject(problem: string): RampError {
  return rampError("INVALID_SUBJECT_TOKEN", { message: `The subject token ${problem}.` });
}

/** By the code of the library's error. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "is not signed by a key of its issuer",
  ERR_JWKS_NO_MATCHING_KEY: "names a key (`kid`) that its issuer does not publish",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "names no `kid`, and its issuer has several keys",
  ERR_JOSE_ALG_NOT_ALLOWED: "is signed with an algorithm that is not accepted",
  ERR_JWS_INVALID: "is no signed JWT",
  ERR_JWT_INVALID: "is no valid JWT",
  ERR_JOSE_GENERIC: "names a key (`kid`) that is not known, and the keys of its issuer cannot be read now",
};

function verificationError(error: unknown): RampError {
  if (error instanceof errors.JWTClaimValidationFailed && (error.claim === "aud" || error.claim === "iss"))
    return rampError("SUBJECT_TOKEN_REJECTED");
  if (error instanceof errors.JWTExpired)
    return rampError("INVALID_SUBJECT_TOKEN", { message: "The subject token has expired." });
  if (error instanceof errors.JWTClaimValidationFailed)
    return invalidSubject(`has a claim \`${error.claim}\` that is missing or not valid`);
  return invalidSubject(PROBLEMS[(error as errors.JOSEError).code] ?? "does not verify");
}

function readIdentityProvider(tx: ProjectTransaction, issuer: string): Promise<IdentityProvider | null> {
  return tx.row<IdentityProvider>(
    `SELECT issuer, audiences, clock_skew_seconds, jwks_url AS "jwksUrl", allow_http AS "allowHttp" FROM ramp.identity_providers WHERE ${OF_PROJECT} AND issuer = $1`,
    [issuer],
  );
}

/**
 * Whether the project has registered the subject's issuer and one of its audiences; of wallets, the domain. Checked again in the
 * transaction that binds a customer: the key set may have to be fetched, and meanwhile a registration can be removed.
 */
export async function acceptsSubject(
  tx: ProjectTransaction,
  { issuer, audiences, isWallet }: TokenSubject,
): Promise<boolean> {
  const found = isWallet
    ? await tx.row("SELECT FROM ramp.projects WHERE id = ramp.current_project() AND wallet_domains && $1", [
        audiences,
      ])
    : await tx.row(
        `SELECT FROM ramp.identity_providers WHERE ${OF_PROJECT} AND issuer = $1 AND audiences && $2`,
        [issuer, audiences],
      );
  return found !== null;
}
