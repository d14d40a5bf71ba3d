import { hash } from "node:crypto";

/**
 * Entity tags are weak (RFC 9110 §8.8.3): the same rows have the same one, however they are compressed.
 */
export function entityTag(text: string | Buffer): string {
  return `W/"${hash("sha1", text, "base64url" as "base64")}"`;
}

/** Whether `If-None-Match` names the tag, or any (RFC 9110 §13.1.2). */
export function isNamed(tag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag || ifNoneMatch === "*") return true;
  const opaque = tag.slice(2);
  return ifNoneMatch.split(",").some((part) => part.trim().replace(/^W\//, "") === opaque);
}
