import jwt from "jsonwebtoken";
import { BoundedCache } from "@routewright/runtime/internal/core/http/bounded-cache.js";
import { type KeyObject, createPrivateKey, generateKeyPairSync, createPublicKey } from "node:crypto";
import { type ProjectId, projectId, newId } from "../database/id.js";
import { CUSTOMER_FACTS, type CustomerFacts } from "../core/customer-facts.js";
import type { Vault } from "../core/vault.js";
import type { Project } from "./project-credentials.js";
import type { RampDatabase } from "../database/ramp-database.js";
import {
  OF_PROJECT,
  ofProject,
  type OperatorTransaction,
  type ProjectTransaction,
  type RequiredRow,
} from "../database/transaction.js";

/** Lifetime of a token without a subject token, in seconds (runtime/ramp/docs/customers.md, Customer tokens). */
const PLAIN_LIFETIME_SECONDS = 60 * 60;
/** A subject token accepted within its clock skew may have expired: the access token can be used for this long all the same. */
const MIN_LIFETIME_SECONDS = 60;

/**
 * When a new customer token expires, in seconds since 1970: with the subject token and the project's time to live on top, or an
 * hour from now without one; never later than the project allows.
 */
export function tokenExpiry(
  subject: { readonly expiresAt: number } | null,
  { tokenTtlSeconds, maxTokenSeconds }: Pick<Project, "tokenTtlSeconds" | "maxTokenSeconds">,
  now: Date,
): number {
  const seconds = Math.floor(now.getTime() / 1000);
  const wanted = subject ? subject.expiresAt + tokenTtlSeconds : seconds + PLAIN_LIFETIME_SECONDS;
  return Math.min(Math.max(wanted, seconds + MIN_LIFETIME_SECONDS), seconds + maxTokenSeconds);
}

/** Who may use a customer token, and where. */
const AUDIENCE = "routewright-ramp";

export interface Customer {
  readonly projectId: ProjectId;
  readonly customerId: string;
  /** How often the customer's tokens had been revoked when this one was issued. */
  readonly generation: number;
}

/** The customer of a request, and whether its `Idempotency-Key` was used before: all is read in one round trip. */
export interface AuthenticatedCustomer extends Customer, CustomerFacts {
  readonly isKeyUsed: boolean;
}

/** Signs a token of a customer; `expiresAt` in seconds since 1970. */
type SignToken = (customer: Customer, expiresAt: number) => string;

/** The customers' access tokens: JWT, ES256, with `sub`, `pid`, `gen`, `iss`, `aud`, `exp`, `jti` and `kid`. */
export class CustomerTokens {
  readonly #keys: SigningKeys;
  readonly #issuer: string;

  constructor(keys: SigningKeys, issuer: string) {
    this.#keys = keys;
    this.#issuer = issuer;
  }

  /** Signs with the current key, which may have to be read. */
  async signer(): Promise<SignToken> {
    const sign = await this.#keys.signer();
    const common = { iat: Math.floor(this.#keys.now() / 1000), iss: this.#issuer, aud: AUDIENCE };
    return ({ projectId: pid, customerId: sub, generation: gen }, exp) =>
      sign({ ...common, sub, pid, gen, exp });
  }

  /**
   * The customer of an `Authorization: Bearer` header; null when the token is missing, expired or not ours.
   * @param key the request's `Idempotency-Key`
   */
  async customerOf(
    authorization: string | undefined,
    key: string | null = null,
  ): Promise<AuthenticatedCustomer | null> {
    const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || token.length > 8_000) return null;
    const { sub, pid, gen = 0, aud } = (await this.#keys.verify(token, this.#issuer)) ?? {};
    if (aud !== AUDIENCE || typeof sub !== "string" || typeof pid !== "string") return null;
    if (typeof gen !== "number") return null;
    const customer = { projectId: projectId(pid), customerId: sub, generation: gen };
    const valid = await this.#keys.database
      .of(customer.projectId)
      .row<CustomerFacts & { readonly isKeyUsed: boolean }>(AUTHENTICATED, [customer.customerId, gen, key]);
    return valid && { ...customer, ...valid };
  }
}

/** The customer `$1` if there is one and the token of generation `$2` is not revoked (runtime/ramp/docs/customers.md, Customer tokens). */
const HOLDS_TOKEN = `FROM ramp.customers c WHERE ${ofProject("c")} AND c.id = $1 AND $2::int >= COALESCE(
  (SELECT r.generation FROM ramp.token_revocations r WHERE r.project_id = c.project_id AND r.customer_id = c.id), 0)`;
const IS_KEY_USED = `EXISTS (SELECT FROM ramp.idempotency_claims k WHERE k.project_id = c.project_id AND k.key = $3 AND k.expires_at > now())`;
const AUTHENTICATED = `SELECT ${IS_KEY_USED} AS "isKeyUsed", ${CUSTOMER_FACTS} ${HOLDS_TOKEN}`;

/** Finds the customer where it holds its token when the transaction writes. An erasure waits until the transaction ends. */
export function heldToken({ customerId, generation }: Customer): RequiredRow {
  return { text: `SELECT ${HOLDS_TOKEN} FOR SHARE OF c`, values: [customerId, generation] };
}

/** How often the customer's tokens were revoked: a token of an earlier generation is refused. */
export async function tokenGeneration(tx: ProjectTransaction, customerId: string): Promise<number> {
  const revoked = await tx.row<{ readonly generation: number }>(
    `SELECT generation FROM ramp.token_revocations WHERE ${OF_PROJECT} AND customer_id = $1`,
    [customerId],
  );
  return revoked?.generation ?? 0;
}

/** Revokes all tokens that the customer `$1` has; returns nothing where there is no such customer. */
export const REVOKE_TOKENS = `INSERT INTO ramp.token_revocations AS r (customer_id, revoked_at)
  SELECT id, now() FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1
  ON CONFLICT (project_id, customer_id) DO UPDATE SET revoked_at = now(), generation = r.generation + 1 RETURNING customer_id`;

function decoded(token: string): jwt.Jwt | null {
  try {
    return jwt.decode(token, { complete: true });
  } catch {
    return null;
  }
}

/** Algorithm of all tokens that the service signs. */
const SIGNING_ALGORITHM = "ES256";

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly isRetired: boolean;
}

interface SigningKeyRow {
  readonly kid: string;
  readonly private_key: Buffer;
  readonly public_key: string;
  readonly retired_at: Date | null;
}

/** A rotation by command is known to a running server after this. */
const FRESH_MS = 10_000;
/** An unknown `kid` may be that of a new key, but the keys are read at most once a second for it. */
const UNKNOWN_KID_MS = 1_000;

/** Claims without their texts. */
const CLAIMS_BYTES = 700;

/** The keys that sign customer tokens, newest first. Retired ones verify what they have signed until it expires. */
export class SigningKeys {
  readonly database: RampDatabase;
  readonly #vault: Vault;
  #keys: Promise<readonly SigningKey[]> | null = null;
  #readAt = 0;
  /** Claims of tokens whose signature was verified, which takes 90 µs: a client sends the same token many times. */
  readonly #verified = new BoundedCache<jwt.JwtPayload>("customer_tokens", {
    sizeOf: ({ sub = "", iss = "" }) => CLAIMS_BYTES + 2 * (sub.length + iss.length),
  });

  constructor(database: RampDatabase, vault: Vault) {
    this.database = database;
    this.#vault = vault;
  }

  /** The database's time in milliseconds since 1970: issuing and verifying use one clock. */
  now(): number {
    return this.database.clock.now().getTime();
  }

  /** Signs claims with the current key, under an id of their own. */
  async signer(): Promise<(claims: object) => string> {
    const key = await this.#find(({ isRetired }) => !isRetired, 0);
    if (!key) throw new Error("There is no signing key.");
    const options = { algorithm: SIGNING_ALGORITHM, keyid: key.kid } as const;
    return (claims) => jwt.sign({ ...claims, jti: newId() }, key.privateKey, options);
  }

  /** A key that matches; when none does, of keys that were read at most `freshMs` ago. */
  async #find(matches: (key: SigningKey) => boolean, freshMs: number): Promise<SigningKey | undefined> {
    return (await this.#read(FRESH_MS)).find(matches) ?? (await this.#read(freshMs)).find(matches);
  }

  /** The claims of a token that one of the keys signed; null for any other token. */
  async verify(token: string, issuer: string): Promise<jwt.JwtPayload | null> {
    const kid = decoded(token)?.header.kid;
    const key = kid && (await this.#find((known) => known.kid === kid, UNKNOWN_KID_MS));
    if (!key) return null;
    const now = Math.floor(this.now() / 1000);
    const known = this.#verified.get(token);
    if (known?.iss === issuer && known.exp !== undefined && now < known.exp) return known;
    try {
      const claims = jwt.verify(token, key.publicKey, {
        algorithms: [SIGNING_ALGORITHM],
        issuer,
        clockTimestamp: now,
      });
      if (typeof claims !== "object") return null;
      this.#verified.set(token, claims, ((claims.exp ?? now) - now) * 1000);
      return claims;
    } catch {
      // The library throws for each token that does not verify.
      return null;
    }
  }

  #read(freshMs: number): Promise<readonly SigningKey[]> {
    if (this.#keys && performance.now() - this.#readAt < freshMs) return this.#keys;
    this.#readAt = performance.now();
    const keys = this.database.operator
      .rows<SigningKeyRow>(KEYS)
      .then((rows) => rows.map((row) => this.#keyOf(row)));
    keys.catch(() => (this.#keys = null));
    return (this.#keys = keys);
  }

  #keyOf({ kid, private_key, public_key, retired_at }: SigningKeyRow): SigningKey {
    const pem = this.#vault.open(`signing-key:${kid}`, private_key);
    const privateKey = createPrivateKey(pem);
    return { kid, privateKey, publicKey: createPublicKey(public_key), isRetired: retired_at !== null };
  }
}

const KEYS =
  "SELECT kid, private_key, public_key, retired_at FROM ramp.signing_keys WHERE revoked_at IS NULL ORDER BY created_at DESC, kid DESC";

/** Creates a key that signs all new tokens; older keys only verify from then on. Returns its `kid`. */
export async function rotateSigningKey(tx: OperatorTransaction, vault: Vault): Promise<string> {
  const kid = newId();
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const sealed = vault.seal(
    `signing-key:${kid}`,
    privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  );
  await tx.rows("UPDATE ramp.signing_keys SET retired_at = now() WHERE retired_at IS NULL");
  const spki = publicKey.export({ type: "spki", format: "pem" }).toString();
  tx.insert("signing_keys", { kid, privateKey: sealed, publicKey: spki });
  return kid;
}

/** Creates the first key if there is none; of several servers that start together one does. */
export async function ensureSigningKey(database: RampDatabase, vault: Vault): Promise<void> {
  await database.asOperator(async (tx) => {
    await tx.rows("LOCK TABLE ramp.signing_keys IN EXCLUSIVE MODE");
    const key = await tx.row(
      "SELECT kid FROM ramp.signing_keys WHERE retired_at IS NULL AND revoked_at IS NULL LIMIT 1",
    );
    if (key === null) await rotateSigningKey(tx, vault);
  });
}
