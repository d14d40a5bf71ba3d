import { isTier, type Tier } from "@routewright/runtime/model";

/** Tags that say something else than a category (data-api.md §4.1). */
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

/** What the tags of a model say about its endpoint. */
export interface ModelTags {
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  /** Null when no tag names a tier. */
  readonly tier: Tier | null;
}

/** Whether the tags ask for an endpoint: `production` and `api:{resource}` (data-api.md §1). */
export function isPublished(tags: readonly string[]): boolean {
  return tags.includes("production") && tags.some((tag) => tag.startsWith("api:"));
}

/** Reads the tags of a published model; the first of each kind counts (decisions.md §A). */
export function readTags(tags: readonly string[]): ModelTags {
  return {
    category: tags.find(isCategory)?.toLowerCase() ?? "general",
    resource: valueOf(tags, "api:") ?? "",
    granularity: valueOf(tags, "granularity:")?.toLowerCase() ?? null,
    window: valueOf(tags, "window:")?.toLowerCase() ?? null,
    tier: tags.find(isTier) ?? null,
  };
}

function isCategory(tag: string): boolean {
  return !tag.includes(":") && !SYSTEM_TAGS.has(tag) && !isTier(tag);
}

/** Authors write `api: name` too: the space behind the colon is not part of the name. */
function valueOf(tags: readonly string[], prefix: string): string | null {
  return (
    tags
      .find((tag) => tag.startsWith(prefix))
      ?.slice(prefix.length)
      .trim() ?? null
  );
}
