import { isTier, type Tier, TIERS } from "@routewright/runtime/model";
import type { Model } from "../manifest/model.js";
import { folded, isWithinOneEdit, nearName } from "../manifest/near-name.js";
import { formatValue } from "../manifest/strings.js";
import { type Complaint, complaint } from "./catalogue.js";
import { type ModelTags, pathOf, pathProblems, type VersionOfPath } from "./path.js";

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

interface TagsReading {
  readonly tags: ModelTags;
  /** Null where the tags, or `meta.routewright.category`, give no valid path. */
  readonly path: string | null;
  /** The path of its version, where `path` is without one. */
  readonly versionPath?: string;
  readonly problems: readonly Complaint[];
  /** Reported, but no reason to skip the model. */
  readonly warnings: readonly Complaint[];
}

/**
 * Reads the tags of a published model, and the category that `meta.routewright` names instead of a tag. `of`: where its path is that of
 * other versions, too.
 */
export function readTags(model: Model, of?: VersionOfPath): TagsReading {
  const unversioned = tagsOf(model);
  const tags = of === undefined ? unversioned : { ...unversioned, version: of.version };
  const { category } = model.routewright;
  const isCategoryValid = category === undefined || typeof category === "string";
  const pathErrors = isCategoryValid ? pathProblems(tags) : [];
  const isValid = isCategoryValid && pathErrors.length === 0;
  return {
    tags,
    path: isValid ? pathOf(of?.isLatest === true ? unversioned : tags) : null,
    ...(isValid && of?.isLatest === true && { versionPath: pathOf(tags) }),
    problems: [
      ...pathErrors.map((problem) => ({ path: "$.tags", ...problem })),
      ...malformedTags(model),
      ...nearTiers(model),
      ...nearPathTags(model),
      ...differingTiers(model),
    ],
    warnings: [...severalTiers(model), ...nearSystemTag(model)],
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

const TIERS_AS_SEEN: ReadonlySet<string> = new Set(TIERS.map(folded));

/**
 * Whether a tag is probably a misspelled tier: `Tier1`, `tier_1`, `tier:tier1`, `tier4`, or one edit from a tier (`teir1`). Ignoring it
 * would give more callers access than intended.
 */
function isMisspelledTier(tag: string): boolean {
  if (isTier(tag)) return false;
  const text = tag.trim().toLowerCase();
  return (
    TIERS_AS_SEEN.has(folded(tag)) ||
    /^tier[\s_.:=-]*(?:tier)?[\s_.-]*\d+$/.test(text) ||
    TIERS.some((tier) => isWithinOneEdit(text, tier))
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

const PATH_TAGS = ["api", "granularity", "window"] as const;

/** Tags that are probably a misspelt `api:`, `granularity:` or `window:`: without one the path is another. */
function nearPathTags({ tags, configTags }: Model): readonly Complaint[] {
  return [...new Set([...tags, ...configTags])].flatMap((tag) => {
    const name = PATH_TAGS.some((name) => tag.startsWith(`${name}:`)) ? null : nearPathTag(tag);
    const message = `The tag ${formatValue(tag)} is not a \`${name ?? ""}:\` tag, but looks like one.`;
    return name === null ? [] : complaint("$.tags", message, `Write \`${name}:<value>\`, or rename the tag.`);
  });
}

/** What a tag is probably meant as without being it: `prod`, `apis:orders`, `granularity=daily`. */
export function nearPublishingTag(tag: string): string | null {
  if (/^\s*prod\s*$/i.test(tag) || nearName(tag, ["production"])?.nearness === "near") return "production";
  const name = PATH_TAGS.some((each) => tag.startsWith(`${each}:`)) ? null : nearPathTag(tag);
  return name === null ? null : `${name}:<${name === "api" ? "resource" : "value"}>`;
}

function nearPathTag(tag: string): string | null {
  const [, name = "", value = ""] = /^\s*([^:=]*?)\s*[:=]\s*(.*)$/s.exec(tag) ?? [];
  if (value !== "" || /[:=]/.test(tag)) {
    const known = PATH_TAGS.find((each) => each === name);
    return (
      known ??
      (nearName(name, PATH_TAGS)?.nearness === "near" ? (nearName(name, PATH_TAGS)?.name ?? null) : null)
    );
  }
  // Another separator, or none: `granularity-daily`, `window7d`. `window_functions` is another tag.
  const text = tag.trim().toLowerCase();
  if (/^granularity./.test(text)) return "granularity";
  return /^window.?[\s_./-]*(?:last[\s_-]*)?\d+\s*[a-z]*$/.test(text) ? "window" : null;
}

/** A category that is probably a misspelt system tag, which would not be one. */
function nearSystemTag({ tags, routewright: { category } }: Model): readonly Complaint[] {
  const tag = category === undefined ? tags.find(isCategory) : undefined;
  const near = tag === undefined ? null : nearName(tag.toLowerCase(), [...SYSTEM_TAGS]);
  if (near?.nearness !== "near") return [];
  const message = `The category is the tag ${formatValue(tag)}, which looks like ${formatValue(near.name)}, a tag that is no category.`;
  return complaint(
    "$.tags",
    message,
    "Correct the tag, or name the category in `meta.routewright.category`.",
  );
}

function severalTiers({ tags }: Model): readonly Complaint[] {
  const tiers = tierTags(tags);
  if (tiers.length < 2) return [];
  const message = `The tags name several tiers (${tiers.join(", ")}). The most restrictive counts: ${tiers.at(-1) ?? ""}.`;
  const hint = "Keep one tier tag. dbt adds the tags of a model's folders to its own.";
  return [{ path: "$.tags", message, hint }];
}
