import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import { formatValue } from "../manifest/strings.js";
import type { Catalogue, CatalogueEntry } from "./catalogue.js";
import { isExcluded } from "./settings/meta-api.js";
import { hasResource, isPublished } from "../manifest/publishing.js";
import { nearPublishingTag } from "./tags.js";

/** Models that a message names. */
const MAX_NAMED = 5;

/**
 * Why a manifest publishes nothing: what its tags lack, and tags that nearly say it. Where it publishes something, only what is
 * published but for a misspelt tag.
 */
export function unpublishedNotes(manifest: Manifest, { entries, skipped }: Catalogue): readonly string[] {
  const nodes = taggableNodes(manifest);
  if (entries.length > 0) return named(nodes.filter(isNearlyPublished).flatMap(nearTags));
  if (skipped.length > 0)
    return ["Every model that is tagged for the API is skipped, each for its own reason."];
  if (nodes.length === 0)
    return [
      "The manifest has no model: run `dbt parse` in the project that has them, and name its target/manifest.json.",
    ];
  return [
    `No model has both tags, \`production\` and \`api:<resource>\`: of ${String(nodes.length)}, ${halfTagged(nodes)}.`,
    ...named(nodes.flatMap(nearTags)),
    'Tag a model in its schema.yml, and run dbt again: `config: {tags: [production, "api:orders"]}`; or name models with `publish` in routewright.config.json.',
  ];
}

/** Models, metrics and saved queries. */
function taggableNodes({ models, semantics: { metrics, queries } }: Manifest): readonly Model[] {
  return [...models, ...[...metrics, ...queries].map(({ node }) => node)];
}

function named(notes: readonly string[]): readonly string[] {
  const more = notes.length - MAX_NAMED;
  return [...notes.slice(0, MAX_NAMED), ...(more > 0 ? [`${String(more)} more tags are like these.`] : [])];
}

function halfTagged(nodes: readonly Model[]): string {
  const production = nodes.filter(({ tags }) => tags.includes("production")).length;
  const resource = nodes.filter(({ tags }) => hasResource(tags)).length;
  return `${String(production)} have \`production\` and ${String(resource)} have \`api:\``;
}

/** Whether both tags are there, one of them misspelt or both. */
function isNearlyPublished({ tags, ...model }: Model): boolean {
  if (isPublished(tags) || isExcluded(model)) return false;
  const near = tags.map(nearPublishingTag);
  return (
    (tags.includes("production") || near.includes("production")) &&
    (hasResource(tags) || near.includes("api:<resource>"))
  );
}

function nearTags({ uniqueId, tags, file }: Model): readonly string[] {
  return [...new Set(tags)].flatMap((tag) => {
    const meant = nearPublishingTag(tag);
    const where = file === "" ? uniqueId : `${uniqueId} (${file})`;
    return meant === null ? [] : [`${where}: the tag ${formatValue(tag)} is probably meant as \`${meant}\`.`];
  });
}

/** Why an endpoint of before has none in a catalogue. */
export function whyGone(
  { uniqueId }: CatalogueEntry,
  { entries, skipped }: Catalogue,
  manifest: Manifest,
): string {
  const moved = entries.find((entry) => entry.uniqueId === uniqueId);
  if (moved !== undefined) return `moved to ${moved.path}`;
  const reason = skipped.find(({ model }) => model === uniqueId)?.reason;
  if (reason !== undefined) return `${uniqueId} is ${SKIPPED[reason]}`;
  const node = taggableNodes(manifest).find((each) => each.uniqueId === uniqueId);
  if (node !== undefined) return `${uniqueId} ${lostTag(node)}`;
  const other = manifest.others.find((each) => each.uniqueId === uniqueId);
  return other === undefined
    ? `${uniqueId} is not in the manifest any more`
    : `${uniqueId} is a ${other.kind} now`;
}

const SKIPPED = {
  invalid: "skipped as invalid, see below",
  "path-taken": "skipped, its path is taken",
  excluded: "excluded by its author",
} as const;

function lostTag({ tags }: Model): string {
  if (isPublished(tags)) return "has another path now";
  const lost = tags.includes("production") ? "api:<resource>" : "production";
  const near = tags.find((tag) => nearPublishingTag(tag) === lost);
  return `has no tag \`${lost}\` any more${near === undefined ? "" : `; ${formatValue(near)} is not one`}`;
}

/** How many columns have no type, and what gives them one. */
export function untypedNote({ entries }: Catalogue, hasCatalog: boolean): readonly string[] {
  const columns = entries.flatMap((entry) => entry.columns);
  const untyped = columns.filter(({ type }) => type === null).length;
  const without = entries.filter(
    (entry) => entry.columns.length === 0 && entry.aggregate === undefined,
  ).length;
  if (untyped + without === 0) return [];
  const parts = [
    ...(untyped === 0 ? [] : [`${String(untyped)} of ${String(columns.length)} columns have no type`]),
    ...(without === 0 ? [] : [`${String(without)} of ${String(entries.length)} endpoints have no columns`]),
  ];
  const remedy = hasCatalog
    ? "The catalog lists no more: build these models and write it again, or declare `data_type` in schema.yml."
    : "Run `dbt docs generate` and set `catalog` in routewright.config.json to target/catalog.json, or run `routewright columns pull`.";
  return [`${parts.join(", ")}: OpenAPI and typed clients have \`unknown\` there. ${remedy}`];
}
