import { parseJson } from "../json-schema.js";
import { sendRequest } from "../outbound-http.js";
import type { Address } from "./ethereum.js";

const TIMEOUT_MS = 5_000;

/** `isValidSignature(bytes32,bytes)`: its selector, and what it returns for a valid signature (ERC-1271). */
const SELECTOR = "1626ba7e";

export interface ContractSignature {
  readonly address: Address;
  readonly hash: Uint8Array;
  /** `0x` and hexadecimal digits. */
  readonly signature: string;
}

/** Asks a contract wallet whether a signature is its own (ERC-1271); null when the node does not answer. */
export async function isContractSignature(
  rpcUrl: string,
  { address, hash, signature }: ContractSignature,
): Promise<boolean | null> {
  const data = `0x${SELECTOR}${callArguments(hash, signature.slice(2))}`;
  const answer = await callNode(rpcUrl, "eth_call", [{ to: address, data }, "latest"]);
  // A contract that reverts, and an account without code, answer with an error or with nothing.
  return answer === null
    ? null
    : answer.result?.startsWith(`0x${SELECTOR}${"0".repeat(56)}`) === true && answer.result.length === 66;
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
