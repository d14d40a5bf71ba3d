import { hash } from "node:crypto";
import type { DataVersion } from "../warehouse/data-versions.js";
import type { ResultColumns } from "../warehouse/warehouse.js";

/** A weak entity tag (RFC 9110 §8.8.3): the same for all content codings of the same rows. */
export function entityTag(text: string | Buffer): string {
  return `W/"${hash("sha1", text, "base64url")}"`;
}

/** Whether `If-None-Match` names the tag, or any tag (RFC 9110 §13.1.2). */
export function matchesTag(tag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag || ifNoneMatch === "*") return true;
  const opaque = tag.slice(2);
  return ifNoneMatch.split(",").some((part) => part.trim().replace(/^W\//, "") === opaque);
}

/** Cached entity tags per version. Bounded, since callers choose the queries. */
const MAX_TAGS = 500;

interface VersionTags {
  readonly columns: ResultColumns;
  readonly tags: Map<string, string>;
}

const versionTags = new WeakMap<DataVersion, VersionTags>();

/** The entity tag of a query's result, known before the query runs. It also changes with the relation's columns. */
export function versionTag(version: DataVersion, queryKey: string, columns: ResultColumns): string {
  const known = versionTags.get(version);
  const { tags } = known?.columns === columns ? known : { tags: new Map<string, string>() };
  if (tags !== known?.tags) versionTags.set(version, { columns, tags });
  const cached = tags.get(queryKey);
  if (cached !== undefined) return cached;
  const tag = entityTag(`${version.id}\0${JSON.stringify(columns)}\0${queryKey}`);
  if (tags.size < MAX_TAGS) tags.set(queryKey, tag);
  return tag;
}
