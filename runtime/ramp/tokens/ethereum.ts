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

/** The fields of a Sign-In with Ethereum message (EIP-4361) that decide about a sign-in. */
export interface SignInMessage {
  readonly domain: string;
  readonly address: Address;
  readonly uri: URL;
  readonly chainId: number;
  readonly nonce: string;
  readonly issuedAt: Date;
  readonly expirationTime: Date | null;
  readonly notBefore: Date | null;
}

/** A host with or without a port; EIP-4361 allows credentials in front of it, a sign-in does not. */
const AUTHORITY = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?`;
const URI = String.raw`[A-Za-z][A-Za-z0-9+.-]*:[!#$&-;=?-Z\[\]_a-z~%]*`;
const DATE_TIME = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})`;
/** RFC 3986 reserved and unreserved characters and the space. */
const STATEMENT = String.raw`[!#$&-;=?-Z\[\]_a-z~ ]+`;
const REQUEST_ID = String.raw`[!$&-.0-;=@-Z_a-z~%]*`;

/**
 * The grammar of EIP-4361 from the first character to the last. Every character is a fixed word or part of a field, so a
 * message that matches is its own canonical form: nothing can be hidden before, between or behind the fields.
 */
const GRAMMAR = new RegExp(
  [
    `^(?:(?<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?(?<domain>${AUTHORITY}) wants you to sign in with your Ethereum account:\n`,
    `(?<address>0x[0-9a-fA-F]{40})\n\n(?:${STATEMENT}\n)?\n`,
    `URI: (?<uri>${URI})\nVersion: 1\nChain ID: (?<chainId>0|[1-9][0-9]{0,14})\n`,
    `Nonce: (?<nonce>[A-Za-z0-9]{8,128})\nIssued At: (?<issuedAt>${DATE_TIME})`,
    `(?:\nExpiration Time: (?<expirationTime>${DATE_TIME}))?(?:\nNot Before: (?<notBefore>${DATE_TIME}))?`,
    `(?:\nRequest ID: ${REQUEST_ID})?(?:\nResources:(?:\n- ${URI})*)?$`,
  ].join(""),
);

interface Groups {
  readonly scheme?: string;
  readonly domain: string;
  readonly address: string;
  readonly uri: string;
  readonly chainId: string;
  readonly nonce: string;
  readonly issuedAt: string;
  readonly expirationTime?: string;
  readonly notBefore?: string;
}

/** Reads a message; a text explains where it differs from EIP-4361 or names another site. */
export function readSignInMessage(text: string): SignInMessage | string {
  const groups = GRAMMAR.exec(text)?.groups as Groups | undefined;
  if (!groups) return "The message is not in the form of EIP-4361.";
  const address = checksumAddress(groups.address);
  if (address !== groups.address) return "The address in the message is not in its EIP-55 checksum form.";
  const uri = URL.canParse(groups.uri) ? new URL(groups.uri) : null;
  const domain = groups.domain.toLowerCase();
  if (uri?.host !== withoutDefaultPort(domain, uri?.protocol))
    return "The URI in the message does not have the message's domain as its host.";
  if (groups.scheme !== undefined && `${groups.scheme.toLowerCase()}:` !== uri.protocol)
    return "The message's scheme is not that of its URI.";
  const [issuedAt, expirationTime, notBefore] = [
    groups.issuedAt,
    groups.expirationTime,
    groups.notBefore,
  ].map((time) => (time === undefined ? null : dateOf(time)));
  if (!issuedAt || expirationTime === undefined || notBefore === undefined)
    return "A date-time in the message does not exist.";
  const { nonce, chainId } = groups;
  return { domain, address, uri, nonce, chainId: Number(chainId), issuedAt, expirationTime, notBefore };
}

function withoutDefaultPort(domain: string, protocol: string | undefined): string {
  const base = `${protocol ?? "https:"}//${domain}`;
  return URL.canParse(base) ? new URL(base).host : domain;
}

/** Undefined for a day or an hour that no calendar and no clock has. */
function dateOf(text: string): Date | undefined {
  const local = text.slice(0, 19);
  const asUtc = new Date(`${local}Z`);
  const exists = !Number.isNaN(asUtc.getTime()) && asUtc.toISOString().startsWith(local);
  const time = new Date(text);
  return exists && !Number.isNaN(time.getTime()) ? time : undefined;
}
