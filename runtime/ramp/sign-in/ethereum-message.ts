import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { type Address, checksumAddress } from "../accounts/account-details.js";

/** The hash that a wallet signs for a text (EIP-191, version 0x45, `personal_sign`). */
export function hashMessage(message: string): Uint8Array {
  const text = Buffer.from(message, "utf8");
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${String(text.length)}`, "latin1");
  return keccak_256(Buffer.concat([prefix, text]));
}

/** 65 bytes: `r`, `s` and `v`. `v` is the recovery bit, or 27 plus the recovery bit. */
const SIGNATURE = /^0x[0-9a-fA-F]{130}$/;

/** The account whose key signed a hash; null when the bytes are not a signature of any key. */
export function recoverAddress(hash: Uint8Array, signature: string): Address | null {
  if (!SIGNATURE.test(signature)) return null;
  const bytes = Buffer.from(signature.slice(2), "hex");
  const v = bytes[64] ?? 0;
  const recoveryBit = v >= 27 ? v - 27 : v;
  if (recoveryBit > 1) return null;
  try {
    // The library expects the recovery bit before `r` and `s`; Ethereum has it last.
    const recoverable = Buffer.concat([Buffer.of(recoveryBit), bytes.subarray(0, 64)]);
    const key = secp256k1.recoverPublicKey(recoverable, hash, { prehash: false });
    const point = secp256k1.Point.fromBytes(key).toBytes(false).subarray(1);
    return checksumAddress(`0x${Buffer.from(keccak_256(point).subarray(12)).toString("hex")}`);
  } catch {
    // The library throws when `r` and `s` belong to no key.
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

/** A host and an optional port. EIP-4361 also allows `user@` before it; refused here, since it can imitate another host. */
const AUTHORITY = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?`;
const URI = String.raw`[A-Za-z][A-Za-z0-9+.-]*:[!#$&-;=?-Z\[\]_a-z~%]*`;
const DATE_TIME = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})`;
/** RFC 3986 reserved and unreserved characters and the space; siwe 3 writes an empty statement with its line. */
const STATEMENT = String.raw`[!#$&-;=?-Z\[\]_a-z~ ]*`;
const REQUEST_ID = String.raw`[!$&-.0-;=@-Z_a-z~%]*`;

/**
 * The grammar of EIP-4361 from the first character to the last. Every character is a fixed word or part of a field, so a
 * message that matches is its own canonical form: nothing can be hidden before, between or after the fields.
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

/**
 * Parses an EIP-4361 message. Also requires that `URI` has the host and scheme of the domain that signs in. Returns a text
 * that says what to correct if the message is invalid.
 */
export function parseSignInMessage(text: string): SignInMessage | string {
  const groups = GRAMMAR.exec(text)?.groups as Groups | undefined;
  if (!groups)
    return "The message does not follow EIP-4361. Create it with a Sign-In with Ethereum library and send it unchanged.";
  const address = checksumAddress(groups.address);
  if (address !== groups.address)
    return "The message's address is not in EIP-55 checksum form. Write it with the letter case of its checksum.";
  const uri = URL.canParse(groups.uri) ? new URL(groups.uri) : null;
  const domain = groups.domain.toLowerCase();
  if (uri?.host !== withoutDefaultPort(domain, uri?.protocol))
    return "The host of the message's URI must be the domain at its beginning.";
  if (groups.scheme !== undefined && `${groups.scheme.toLowerCase()}:` !== uri.protocol)
    return "The scheme before the message's domain must be that of its URI. Leave it out, or correct it.";
  const issuedAt = dateOf(groups.issuedAt);
  const expirationTime = groups.expirationTime === undefined ? null : dateOf(groups.expirationTime);
  const notBefore = groups.notBefore === undefined ? null : dateOf(groups.notBefore);
  if (issuedAt === undefined) return noSuchTime("Issued At");
  if (expirationTime === undefined) return noSuchTime("Expiration Time");
  if (notBefore === undefined) return noSuchTime("Not Before");
  const { nonce, chainId } = groups;
  return { domain, address, uri, nonce, chainId: Number(chainId), issuedAt, expirationTime, notBefore };
}

function noSuchTime(field: string): string {
  return `The message's ${field} does not exist in the calendar. Write an existing date and time, such as 2026-01-31T12:00:00Z.`;
}

function withoutDefaultPort(domain: string, protocol: string | undefined): string {
  const base = `${protocol ?? "https:"}//${domain}`;
  return URL.canParse(base) ? new URL(base).host : domain;
}

/** Undefined for a date-time that does not exist, such as 30 February. */
function dateOf(text: string): Date | undefined {
  const local = text.slice(0, 19);
  const asUtc = new Date(`${local}Z`);
  const exists = !Number.isNaN(asUtc.getTime()) && asUtc.toISOString().startsWith(local);
  const time = new Date(text);
  return exists && !Number.isNaN(time.getTime()) ? time : undefined;
}
