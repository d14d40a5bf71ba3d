/** Signatures of contract wallets, which a node of their chain checks. */
import { sendRequest } from "@routewright/runtime/internal/core/http/outbound-http.js";
import type { Address } from "../accounts/account-details.js";
import { parseJson } from "../core/json-schema.js";

const TIMEOUT_MS = 5_000;

/** `isValidSignature(bytes32,bytes)`: its selector, and what it returns for a valid signature (ERC-1271). */
const SELECTOR = "1626ba7e";

/** Asks the contract wallet `to` whether a signature is its own (ERC-1271); null when the node does not answer. */
async function isContractSignature(
  rpcUrl: string,
  to: Address,
  hash: Uint8Array,
  signature: string,
): Promise<boolean | null> {
  const data = `0x${SELECTOR}${callArguments(hash, signature.slice(2))}`;
  const answer = await callNode(rpcUrl, "eth_call", [{ to, data }, "latest"]);
  // A contract that reverts, and an account without code, answer with an error or with nothing.
  return answer === null
    ? null
    : answer.result?.startsWith(`0x${SELECTOR}${"0".repeat(56)}`) === true && answer.result.length === 66;
}

/**
 * Whether a contract wallet has signed the hash. Null: the node does not answer; undefined: the signature is one that needs a
 * package which is not installed (`NO_VIEM`).
 */
export function hasSigned(
  rpcUrl: string,
  wallet: Address,
  hash: Uint8Array,
  signature: string,
): Promise<boolean | null | undefined> {
  const isPlanned = signature.toLowerCase().endsWith(DEPLOYMENT_END);
  return (isPlanned ? isPlannedSignature : isContractSignature)(rpcUrl, wallet, hash, signature);
}

/** Ends a signature that says how its wallet is deployed (ERC-6492). */
const DEPLOYMENT_END = "6492".repeat(16);

export const NO_VIEM =
  "The signature is of a contract wallet that need not be deployed yet (ERC-6492): the server checks such signatures once its operator has run `npm install viem`.";

/**
 * The same of a wallet that is deployed in the node's memory alone, as its signature says. Of an optional package: it takes 60 MB,
 * for this one check. Null: the node does not answer; undefined: the package is not there.
 */
async function isPlannedSignature(
  rpcUrl: string,
  address: Address,
  hash: Uint8Array,
  signature: string,
): Promise<boolean | null | undefined> {
  const viem = await import("viem").catch(() => undefined);
  if (viem === undefined) return undefined;
  const { verifyHash } = await import("viem/actions");
  const answered: boolean[] = [];
  const request = async ({ method, params }: { method: string; params?: readonly unknown[] }) => {
    const answer = await callNode(rpcUrl, method, params ?? []);
    answered.push(answer !== null);
    if (answer?.result === undefined) throw new Error("The node answers with an error, or not at all.");
    return answer.result;
  };
  const transport = viem.custom({ request }, { retryCount: 0 });
  // A contract must not choose what the server fetches.
  const client = viem.createClient({ transport, ccipRead: false });
  const signed = { address, hash: viem.toHex(hash), signature: signature as `0x${string}` };
  const isValid = await verifyHash(client, signed).catch(() => false);
  return answered.includes(false) ? null : isValid;
}

/** The chain that a node serves; null when it does not answer. */
export async function chainIdOf(rpcUrl: string): Promise<number | null> {
  const answer = await callNode(rpcUrl, "eth_chainId", []);
  return answer?.result === undefined ? null : Number(answer.result);
}

/** ABI encoding of `(bytes32, bytes)`: the hash, where the bytes begin, their length, the bytes padded to words. */
function callArguments(hash: Uint8Array, signature: string): string {
  const word = (value: number): string => value.toString(16).padStart(64, "0");
  const padded = signature.padEnd(Math.ceil(signature.length / 64) * 64, "0");
  return Buffer.from(hash).toString("hex") + word(64) + word(signature.length / 2) + padded;
}

/** The result is undefined when the node answers with an error, such as a revert. */
async function callNode(
  rpcUrl: string,
  method: string,
  params: readonly unknown[],
): Promise<{ readonly result?: string } | null> {
  const reply = await sendRequest({
    url: new URL(rpcUrl),
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    timeoutMs: TIMEOUT_MS,
  });
  const body = reply.kind === "answered" && reply.status === 200 ? parseJson(reply.body) : null;
  if (typeof body !== "object" || body === null) return null;
  const { result, error } = body as { readonly result?: unknown; readonly error?: unknown };
  if (typeof result === "string") return { result };
  return error === undefined ? null : {};
}
