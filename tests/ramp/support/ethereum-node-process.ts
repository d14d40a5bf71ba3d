/**
 * An Ethereum node in a process of its own: a real EVM behind JSON-RPC. `POST /wallets` with an owner's address deploys a contract
 * wallet (ERC-1271) that accepts the owner's signatures, and answers with its address; `POST /init-code` answers with the code that deploys such a
 * wallet, `POST /factories` with the address of a factory, which deploys the code that it is called with (CREATE2, salt 0). Prints its URL first.
 */
import { createEVM } from "@ethereumjs/evm";
import { Address, bytesToHex, createAddressFromString, hexToBytes } from "@ethereumjs/util";
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { listening, serveTest } from "./server.js";

const CHAIN_ID = process.env["CHAIN_ID"] ?? "137";
const evm = await createEVM();

/**
 * `isValidSignature(bytes32 hash, bytes signature)`: recovers the signer with the ecrecover precompile from r, s and v in the call
 * data; returns the magic value when it is the owner, else reverts.
 */
function walletCode(owner: string): `0x${string}` {
  return `0x${[
    "600435600052", // memory[0] = hash
    "60a43560001a602052", // memory[32] = v
    "606435604052", // memory[64] = r
    "608435606052", // memory[96] = s
    "60206080608060006001", // staticcall(gas, 1, 0, 128, 128, 32)
    "5afa50",
    `60805173${owner.slice(2)}14604957`, // jump to 0x49 when memory[128] is the owner
    "60006000fd",
    "5b631626ba7e60e01b60005260206000f3",
  ].join("")}`;
}

async function deploy(code: `0x${string}`): Promise<string> {
  const address = new Address(randomBytes(20));
  await evm.stateManager.putCode(address, hexToBytes(code));
  return address.toString();
}

/** Copies the call data, creates a contract of it, and returns its address. */
const FACTORY_CODE = "0x36600060003760003660006000f560005260206000f3";

/** Returns the wallet's code, which stands behind these 11 bytes. */
function initCode(owner: string): `0x${string}` {
  const code = walletCode(owner).slice(2);
  return `0x60${(code.length / 2).toString(16)}80600b6000396000f3${code}`;
}

const PATHS: Readonly<Record<string, (owner: string) => string | Promise<string>>> = {
  "/wallets": (owner) => deploy(walletCode(owner)),
  "/init-code": initCode,
  "/factories": () => deploy(FACTORY_CODE),
};

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly { readonly to?: string; readonly data: `0x${string}` }[];
}

async function answer({ id, method, params }: Call): Promise<object> {
  const [call] = params;
  if (method === "eth_chainId") return { jsonrpc: "2.0", id, result: `0x${Number(CHAIN_ID).toString(16)}` };
  if (method !== "eth_call" || !call)
    return { jsonrpc: "2.0", id, error: { code: -32601, message: "method not found" } };
  const data = hexToBytes(call.data);
  await evm.stateManager.checkpoint();
  const { execResult } = await evm.runCall(
    call.to === undefined ? { data } : { to: createAddressFromString(call.to), data },
  );
  // Nothing that a call does stays.
  await evm.stateManager.revert();
  return execResult.exceptionError
    ? { jsonrpc: "2.0", id, error: { code: 3, message: "execution reverted" } }
    : { jsonrpc: "2.0", id, result: bytesToHex(execResult.returnValue) };
}

async function read(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

const server = createServer((request, response) => {
  void (async () => {
    const text = await read(request);
    const make = PATHS[request.url ?? ""];
    if (make !== undefined) return response.end(await make(text.toLowerCase()));
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify(await answer(JSON.parse(text) as Call)));
  })();
});
serveTest(await listening(server));
