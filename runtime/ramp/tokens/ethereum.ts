import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";

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

/** What a wallet signs for a text (EIP-191, version 0x45, `personal_sign`). */
export function messageHash(message: string): Uint8Array {
  const text = Buffer.from(message, "utf8");
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${String(text.length)}`, "latin1");
  return keccak_256(Buffer.concat([prefix, text]));
}

/** `r`, `s` and the recovery bit in 65 bytes. */
const SIGNATURE = /^0x[0-9a-fA-F]{130}$/;

/** The account whose key signed a hash; null when the bytes are not a signature of any key. */
export function signerOf(hash: Uint8Array, signature: string): Address | null {
  if (!SIGNATURE.test(signature)) return null;
  const bytes = Buffer.from(signature.slice(2), "hex");
  const last = bytes[64] ?? 0;
  const recovery = last >= 27 ? last - 27 : last;
  if (recovery > 1) return null;
  try {
    const recovered = Buffer.concat([Buffer.of(recovery), bytes.subarray(0, 64)]);
    const key = secp256k1.recoverPublicKey(recovered, hash, { prehash: false });
    const point = secp256k1.Point.fromBytes(key).toBytes(false).subarray(1);
    return checksumAddress(`0x${Buffer.from(keccak_256(point).subarray(12)).toString("hex")}`);
  } catch {
    // The library throws for numbers that are no point of the curve.
    return null;
  }
}
