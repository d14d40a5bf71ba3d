import { createHash } from "node:crypto";

/** Digest of a generated file, as `catalogue.json` lists it: SHA-256, of which 128 bits are kept. */
export function digestOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 32);
}

/** The member of `catalogue.json` with the digest of its own text, in which this member is empty. */
const OWN_DIGEST = /"digest": "[0-9a-f]*"/;

/** Fills in the digest of a catalogue's text. */
export function withOwnDigest(text: string): string {
  return text.replace(OWN_DIGEST, `"digest": "${digestOf(text.replace(OWN_DIGEST, '"digest": ""'))}"`);
}
