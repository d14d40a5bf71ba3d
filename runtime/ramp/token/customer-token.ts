import jwt from "jsonwebtoken";
import { createHash, type KeyObject } from "node:crypto";
import { type ProjectId, projectId } from "../project/project.js";
import { newId } from "../store/id.js";
import { SIGNING_ALGORITHM, type SigningKeys } from "./signing-keys.js";

/** Lifetime of a token without a subject token, in seconds (decisions.md §B, Keys and tokens). */
export const PLAIN_LIFETIME_SECONDS = 60 * 60;

/** Who may use a customer token, and where. */
const AUDIENCE = "routewright-ramp";

export interface Customer {
  readonly projectId: ProjectId;
  readonly customerId: string;
}

interface Verified extends Customer {
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Tokens that verified lately: a customer sends the same one with every call. */
const MAX_HELD = 5_000;
/** So long a verified token is believed: a key removed by the operator is out of use after this. */
const BELIEVED_MS = 60_000;

/** The customers' access tokens: JWT, ES256, with `sub`, `pid`, `iss`, `aud`, `exp`, `jti` and `kid`. */
export class CustomerTokens {
  readonly #keys: SigningKeys;
  readonly #issuer: string;
  readonly #held = new Map<string, Verified>();

  constructor(keys: SigningKeys, issuer: string) {
    this.#keys = keys;
    this.#issuer = issuer;
  }

  /** @param expiresAt seconds since 1970 */
  async sign({ projectId: pid, customerId }: Customer, expiresAt: number): Promise<string> {
    const { kid, privateKey } = await this.#keys.current();
    return jwt.sign({ pid, exp: expiresAt }, privateKey, {
      algorithm: SIGNING_ALGORITHM,
      keyid: kid,
      subject: customerId,
      issuer: this.#issuer,
      audience: AUDIENCE,
      jwtid: newId(),
    });
  }

  /** The customer of an `Authorization: Bearer` header; null when the token is missing, expired or not ours. */
  async customerOf(authorization: string | undefined): Promise<Customer | null> {
    const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || token.length > 8_000) return null;
    const digest = createHash("sha256").update(token).digest("base64");
    const held = this.#held.get(digest);
    if (held && held.expiresAt > Date.now()) return held;
    this.#held.delete(digest);
    const verified = await this.#verify(token);
    if (verified) this.#hold(digest, verified);
    return verified;
  }

  async #verify(token: string): Promise<Verified | null> {
    const kid = decoded(token)?.header.kid;
    const key = typeof kid === "string" ? await this.#keys.find(kid) : null;
    const claims = key && verified(token, key.publicKey, this.#issuer);
    const { sub, pid, exp } = claims ?? {};
    if (typeof sub !== "string" || typeof pid !== "string" || typeof exp !== "number") return null;
    return { projectId: projectId(pid), customerId: sub, expiresAt: exp * 1000 };
  }

  #hold(digest: string, { expiresAt, ...customer }: Verified): void {
    if (this.#held.size >= MAX_HELD) this.#held.clear();
    this.#held.set(digest, { ...customer, expiresAt: Math.min(expiresAt, Date.now() + BELIEVED_MS) });
  }
}

function decoded(token: string): jwt.Jwt | null {
  try {
    return jwt.decode(token, { complete: true });
  } catch {
    return null;
  }
}

/** The claims, or null for a token that does not verify: the library throws whatever it stumbles over in a mangled one. */
function verified(token: string, key: KeyObject, issuer: string): Readonly<Record<string, unknown>> | null {
  try {
    const claims = jwt.verify(token, key, { algorithms: [SIGNING_ALGORITHM], issuer, audience: AUDIENCE });
    return typeof claims === "object" ? claims : null;
  } catch {
    return null;
  }
}
