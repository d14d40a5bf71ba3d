import { randomBytes } from "node:crypto";
import jwt from "jsonwebtoken";
import { verifyMessage } from "viem";
import { parseSiweMessage, validateSiweMessage } from "viem/siwe";
import type { RampDatabase } from "../database/ramp-database.js";
import { newId } from "../database/id.js";
import { SIGNING_ALGORITHM, type SigningKeys } from "./customer-token.js";

/** How long a nonce can be used, in minutes (decisions.md §B, Keys and tokens). */
const NONCE_MINUTES = 10;

/** The issuer of wallet tokens: a project registers it, with its own domains as audiences, before wallets can be used. */
export function walletIssuer(publicUrl: string): string {
  return `${publicUrl}/v1/auth/wallet`;
}

/** A nonce for one sign-in. */
export async function newNonce(database: RampDatabase): Promise<string> {
  const nonce = randomBytes(16).toString("hex");
  await database.asOperator((tx) =>
    tx.rows(
      `INSERT INTO ramp.wallet_nonces (nonce, expires_at) VALUES ($1, now() + interval '${String(NONCE_MINUTES)} min')`,
      [nonce],
    ),
  );
  return nonce;
}

export interface Challenge {
  /** EIP-4361 text. */
  readonly message: string;
  readonly signature: string;
  readonly ttlSeconds: number;
}

/**
 * A token for the wallet that signed the message, or null when it does not verify. It names the domain that the wallet signed in
 * to as its audience: only a project that has registered the domain accepts it as a subject token.
 */
export async function walletToken(
  {
    database,
    keys,
    issuer,
  }: { readonly database: RampDatabase; readonly keys: SigningKeys; readonly issuer: string },
  { message, signature, ttlSeconds }: Challenge,
  now: Date,
): Promise<string | null> {
  const fields = parseSiweMessage(message);
  const { address, nonce, domain, chainId, uri, version } = fields;
  if (!address || !nonce || !domain || !chainId || !uri || version !== "1") return null;
  if (!validateSiweMessage({ message: fields, time: now })) return null;
  if (!(await isSignedBy(address, message, signature))) return null;
  if (!(await spendNonce(database, nonce))) return null;
  const { kid, privateKey } = await keys.current();
  const seconds = Math.floor(now.getTime() / 1000);
  return jwt.sign({ iat: seconds, exp: seconds + ttlSeconds }, privateKey, {
    algorithm: SIGNING_ALGORITHM,
    keyid: kid,
    issuer,
    audience: domain,
    subject: `eip155:${String(chainId)}:${address.toLowerCase()}`,
    jwtid: newId(),
  });
}

function isSignedBy(address: `0x${string}`, message: string, signature: string): Promise<boolean> {
  return verifyMessage({ address, message, signature: signature as `0x${string}` }).catch(() => false);
}

/** A nonce can be spent once. */
async function spendNonce(database: RampDatabase, nonce: string): Promise<boolean> {
  const spent = await database.asOperator((tx) =>
    tx.row("DELETE FROM ramp.wallet_nonces WHERE nonce = $1 AND expires_at > now() RETURNING nonce", [nonce]),
  );
  return spent !== null;
}
