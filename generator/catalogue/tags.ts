import { isTier, type Tier, TIERS } from "@routewright/runtime/model";
import type { Model } from "../manifest/model.js";
import { formatValue } from "../manifest/strings.js";
import { type Complaint, complaint } from "./catalogue.js";
import { type ModelTags, pathOf, pathProblems } from "./path.js";

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

/** Whether the tags publish the model: `production` and `api:{resource}`. */
export function isPublished(tags: readonly string[]): boolean {
  return tags.includes("production") && hasResource(tags);
}

export function hasResource(tags: readonly string[]): boolean {
  return tags.some((tag) => tag.startsWith("api:"));
}

interface TagsReading {
  readonly tags: ModelTags;
  /** Null where the tags, or `meta.routewright.category`, give no valid path. */
  readonly path: string | null;
  readonly problems: readonly Complaint[];
  /** Reported, but no reason to skip the model. */
  readonly warnings: readonly Complaint[];
}

/** Reads the tags of a published model, and the category that `meta.routewright` names instead of a tag. */
export function readTags(model: Model): TagsReading {
  const tags = tagsOf(model);
  const { category } = model.routewright;
  const isNamed = category === undefined || typeof category === "string";
  const pathErrors = isNamed ? pathProblems(tags) : [];
  return {
    tags,
    path: isNamed && pathErrors.length === 0 ? pathOf(tags) : null,
    problems: [
      ...pathErrors.map((problem) => ({ path: "$.tags", ...problem })),
      ...malformedTags(model),
      ...nearTiers(model),
      ...differingTiers(model),
    ],
    warnings: severalTiers(model),
  };
}

/** The first tag of each kind, but the most restrictive tier. */
function tagsOf({ tags, routewright: { category } }: Model): ModelTags {
  return {
    category: typeof category === "string" ? category : (tags.find(isCategory)?.toLowerCase() ?? "general"),
    resource: valueOf(tags, "api:") ?? "",
    granularity: valueOf(tags, "granularity:")?.toLowerCase() ?? null,
    window: valueOf(tags, "window:")?.toLowerCase() ?? null,
    tier: tierTags(tags).at(-1) ?? null,
  };
}

/** The distinct tiers among the tags, lowest first: a model has its folders' tags too. */
function tierTags(tags: readonly string[]): readonly Tier[] {
  return TIERS.filter((tier) => tags.includes(tier));
}

/**
 * Whether a tag is probably a misspelled tier: `Tier1`, `tier_1`, `tier:tier1`, `tier4`, or one edit from a tier (`teir1`). Ignoring it
 * would give more callers access than intended.
 */
function isMisspelledTier(tag: string): boolean {
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

/** A tag that is not a text could be a tier: the model is skipped, as it could be served to all callers. */
function malformedTags({ malformedTags: malformed }: Model): readonly Complaint[] {
  return malformed.map(({ path, value }) => ({
    path,
    message: `${formatValue(value)} is not ${path.endsWith("]") ? "a tag" : "a list of tags"}.`,
    hint: "Write each tag as a text, and build the manifest again.",
  }));
}

/** dbt writes the tags of a model twice: if only one of them is right, the tier is unknown. */
function differingTiers({ tags, configTags }: Model): readonly Complaint[] {
  const [named, configured] = [tags, configTags].map((list) => tierTags(list).join(", ") || "no tier");
  if (configTags.length === 0 || named === configured) return [];
  return complaint(
    "$.config.tags",
    `The tags name ${named ?? ""}, config.tags name ${configured ?? ""}.`,
    "Build the manifest again: dbt writes the same tags to both.",
  );
}

/** Tags that are probably misspelled tiers: the model is skipped, as it could be served to all callers. */
function nearTiers({ tags, configTags }: Model): readonly Complaint[] {
  return [...new Set([...tags, ...configTags])].filter(isMisspelledTier).map((tag) => ({
    path: "$.tags",
    message: `The tag ${formatValue(tag)} is not a tier, but looks like one.`,
    hint: `Write one of ${TIERS.join(", ")}, or rename the tag.`,
  }));
}

function severalTiers({ tags }: Model): readonly Complaint[] {
  const tiers = tierTags(tags);
  if (tiers.length < 2) return [];
  const message = `The tags name several tiers (${tiers.join(", ")}). The most restrictive counts: ${tiers.at(-1) ?? ""}.`;
  const hint = "Keep one tier tag. dbt adds the tags of a model's folders to its own.";
  return [{ path: "$.tags", message, hint }];
}
