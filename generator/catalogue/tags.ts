import { isTier, type Tier, TIERS } from "@routewright/runtime/model";

/** Tags that are not a category (generator/docs/tags.md, Paths), in lower case. */
const SYSTEM_TAGS: ReadonlySet<string> = new Set([
  "production",
  "view",
  "table",
  "incremental",
  "staging",
  "intermediate",
  "daily",
  "weekly",
  "monthly",
  "hourly",
  "latest",
  "in_ranges",
  "last_30d",
  "last_7d",
  "all_time",
]);

/** The parts of an endpoint that its model's tags decide. */
export interface ModelTags {
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  /** The most restrictive tier tag; null without one. */
  readonly tier: Tier | null;
}

/** Whether the tags publish the model: `production` and `api:{resource}`. */
export function isPublished(tags: readonly string[]): boolean {
  return tags.includes("production") && hasResource(tags);
}

export function hasResource(tags: readonly string[]): boolean {
  return tags.some((tag) => tag.startsWith("api:"));
}

/** Reads the tags of a published model: the first tag of each kind, but the most restrictive tier. */
export function readTags(tags: readonly string[], category: string | null = null): ModelTags {
  return {
    category: category ?? tags.find(isCategory)?.toLowerCase() ?? "general",
    resource: valueOf(tags, "api:") ?? "",
    granularity: valueOf(tags, "granularity:")?.toLowerCase() ?? null,
    window: valueOf(tags, "window:")?.toLowerCase() ?? null,
    tier: tierTags(tags).at(-1) ?? null,
  };
}

/** The distinct tiers among the tags, lowest first: a model has its folders' tags too. */
export function tierTags(tags: readonly string[]): readonly Tier[] {
  return TIERS.filter((tier) => tags.includes(tier));
}

/**
 * Whether a tag is probably a misspelled tier: `Tier1`, `tier_1`, `tier:tier1`, `tier4`, or one edit from a tier (`teir1`). Ignoring it
 * would give more callers access than intended.
 */
export function isMisspelledTier(tag: string): boolean {
  if (isTier(tag)) return false;
  const text = tag.trim().toLowerCase();
  return (
    /^tier[\s_.:=-]*(?:tier)?[\s_.-]*\d+$/.test(text) || TIERS.some((tier) => isWithinOneEdit(text, tier))
  );
}

/** Whether two texts are equal or differ by one inserted, deleted or replaced character, or by two swapped ones. */
export function isWithinOneEdit(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  return (
    restA.slice(1) === restB.slice(1) ||
    restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    (restA.length > 1 && restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2))
  );
}

function isCategory(tag: string): boolean {
  return !tag.includes(":") && !SYSTEM_TAGS.has(tag.toLowerCase()) && !isTier(tag) && !isMisspelledTier(tag);
}

/** The value after the prefix, trimmed: some projects write `api: name`. */
function valueOf(tags: readonly string[], prefix: string): string | null {
  return (
    tags
      .find((tag) => tag.startsWith(prefix))
      ?.slice(prefix.length)
      .trim() ?? null
  );
}
