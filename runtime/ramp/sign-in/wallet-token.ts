import { randomBytes } from "node:crypto";
import type { RampDatabase } from "../database/ramp-database.js";
import { isRampError, rampError, type RampError } from "../core/ramp-errors.js";
import type { SigningKeys } from "./customer-token.js";
import { hasSigned, NO_VIEM } from "./contract-signature.js";
import { hashMessage, parseSignInMessage, recoverAddress, type SignInMessage } from "./ethereum-message.js";
import type { CoreContext } from "../core/context.js";
/** How long a nonce can be used, in minutes (runtime/ramp/docs/customers.md, Wallet sign-in). */
const NONCE_MINUTES = 10;
/** How far `Issued At` may be from now. */
const ISSUED_AT_WINDOW_MS = 10 * 60_000;

/** A nonce for one sign-in. */
export async function newNonce(database: RampDatabase): Promise<string> {
  const nonce = randomBytes(16).toString("hex");
  await database.operator.rows(
    `INSERT INTO ramp.wallet_nonces (nonce, expires_at) VALUES ($1, now() + interval '${String(NONCE_MINUTES)} min')`,
    [nonce],
  );
  return nonce;
}

interface Challenge {
  /** EIP-4361 text. */
  readonly message: string;
  readonly signature: string;
  readonly ttlSeconds: number;
  /** The project that a contract wallet signs in to: its node checks the signature. */
  readonly clientId: string | null;
}

export interface WalletTokenContext extends Pick<CoreContext, "database" | "vault" | "now"> {
  readonly keys: SigningKeys;
  readonly issuer: string;
}

/** Who signed: the wallet as a CAIP-10 account, and the only project that the token is for, if any. */
interface Signer {
  readonly account: string;
  readonly projectId: string | null;
}

/**
 * A token for the wallet that signed the message. Its audience is the domain that the wallet signed in to: only a project that
 * has registered the domain accepts it as a subject token (runtime/ramp/docs/customers.md, Wallet sign-in).
 */
export async function walletToken(
  context: WalletTokenContext,
  challenge: Challenge,
): Promise<string | RampError> {
  const now = context.now();
  const message = parseSignInMessage(challenge.message);
  const problem = typeof message === "string" ? message : timeProblem(message, now);
  if (typeof message === "string" || problem !== null) return invalid(problem ?? undefined);
  // Spent before a node is called: a message makes at most one call.
  if (!(await spendNonce(context.database, message.nonce)))
    return invalid("The nonce is unknown, used or older than 10 minutes: get a new one.");
  const signer = await findSigner(context, message, challenge);
  if (isRampError(signer)) return signer;
  const sign = await context.keys.signer();
  const iat = Math.floor(now.getTime() / 1000);
  const messageEnd = Math.floor((message.expirationTime?.getTime() ?? Infinity) / 1000);
  const exp = Math.min(iat + challenge.ttlSeconds, messageEnd);
  const project = signer.projectId === null ? {} : { pid: signer.projectId };
  return sign({ iat, exp, iss: context.issuer, aud: message.domain, sub: signer.account, ...project });
}

function invalid(message: string | undefined): RampError {
  return rampError("INVALID_WALLET_SIGNATURE", message === undefined ? {} : { message });
}

function timeProblem({ issuedAt, expirationTime, notBefore }: SignInMessage, now: Date): string | null {
  if (Math.abs(issuedAt.getTime() - now.getTime()) > ISSUED_AT_WINDOW_MS)
    return "The message's Issued At is not within 10 minutes of now.";
  if (expirationTime && expirationTime <= now) return "The message has expired.";
  if (notBefore && notBefore > now) return "The message is not valid yet.";
  return null;
}

/** An account with a key is the same on every chain (chain 0); a contract is a wallet only on its own chain. */
async function findSigner(
  context: WalletTokenContext,
  { address, chainId, domain }: SignInMessage,
  { message, signature, clientId }: Challenge,
): Promise<Signer | RampError> {
  const hash = hashMessage(message);
  const account = (chain: number): string => `eip155:${String(chain)}:${address.toLowerCase()}`;
  if (recoverAddress(hash, signature) === address) return { account: account(0), projectId: null };
  if (clientId === null)
    return invalid(
      "The message is not signed by the key of its address. A contract wallet signs in with `clientId`, the client id of the project.",
    );
  const project = await findWalletProject(context, clientId, domain);
  const rpcUrl = project?.rpc[String(chainId)];
  if (project === null || rpcUrl === undefined)
    return invalid(
      `The message is not signed by the key of its address, and the project accepts no contract wallets of chain ${String(chainId)} on this domain.`,
    );
  const isValid = await hasSigned(rpcUrl, address, hash, signature);
  if (isValid === undefined) return invalid(NO_VIEM);
  if (isValid === null)
    return rampError("SERVICE_UNAVAILABLE", {
      message: `The node of chain ${String(chainId)} does not answer. Try again later.`,
      retryAfter: 5,
    });
  return isValid ? { account: account(chainId), projectId: project.id } : invalid(undefined);
}

interface WalletProject {
  readonly id: string;
  /** Addresses of Ethereum nodes by chain id. */
  readonly rpc: Readonly<Record<string, string>>;
}

/** The project with a client id, if it accepts sign-ins to the domain. */
async function findWalletProject(
  { database, vault }: WalletTokenContext,
  clientId: string,
  domain: string,
): Promise<WalletProject | null> {
  const row = await database.operator.row<{ id: string; wallet_rpc: Buffer | null }>(
    "SELECT id, wallet_rpc FROM ramp.projects WHERE client_id = $1 AND $2 = ANY (wallet_domains)",
    [clientId, domain],
  );
  if (!row?.wallet_rpc) return null;
  const rpc = vault.open(`wallet-rpc:${row.id}`, row.wallet_rpc);
  return { id: row.id, rpc: JSON.parse(rpc) as Record<string, string> };
}

/** A nonce can be spent once. */
async function spendNonce(database: RampDatabase, nonce: string): Promise<boolean> {
  const spent = await database.operator.row(
    "DELETE FROM ramp.wallet_nonces WHERE nonce = $1 AND expires_at > now() RETURNING nonce",
    [nonce],
  );
  return spent !== null;
}
