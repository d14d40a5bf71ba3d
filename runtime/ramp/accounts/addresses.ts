import { bech32, bech32m, createBase58check } from "@scure/base";
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";

const BASE58 = createBase58check(sha256);
/** Versions of P2PKH and P2SH addresses of the main network, each of 20 bytes. */
const BASE58_VERSIONS: ReadonlySet<number | undefined> = new Set([0x00, 0x05]);

/** Whether a text is an address of Bitcoin's main network: Base58Check, or Bech32 (BIP 173) and Bech32m (BIP 350). */
export function isBitcoinAddress(text: string): boolean {
  try {
    return text.toLowerCase().startsWith("bc1") ? isSegwit(text) : isBase58(text);
  } catch {
    // The decoders throw for a wrong checksum.
    return false;
  }
}

function isBase58(text: string): boolean {
  const bytes = BASE58.decode(text);
  return bytes.length === 21 && BASE58_VERSIONS.has(bytes[0]);
}

function isSegwit(text: string): boolean {
  const version = "qpzry9x8gf2tvdw0s3jn54khce6mua7l".indexOf(text.toLowerCase()[3] ?? "");
  const coder = version === 0 ? bech32 : bech32m;
  const { prefix, words }: { readonly prefix: string; readonly words: number[] } = coder.decode(
    text as `bc1${string}`,
    90,
  );
  const { length } = coder.fromWords(words.slice(1));
  const isLength = version === 0 ? length === 20 || length === 32 : length >= 2 && length <= 40;
  return prefix === "bc" && version <= 16 && isLength;
}

/** An address in the checksummed form of EIP-55. */
export type Address = `0x${string}`;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** The EIP-55 form of an address; null when the text is not an address. */
export function checksumAddress(text: string): Address | null {
  if (!ADDRESS.test(text)) return null;
  const digits = text.slice(2).toLowerCase();
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString("hex");
  const mixed = digits.replace(/[a-f]/g, (digit, at: number) =>
    parseInt(hash[at] ?? "0", 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return `0x${mixed}`;
}
