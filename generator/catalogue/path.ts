import type { Tier } from "@routewright/runtime/model";
import { byText, formatValue } from "../manifest/strings.js";
import type { CatalogueEntry } from "./catalogue.js";

/** The parts of an endpoint that its model's tags decide. */
export interface ModelTags {
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  /** The model's version, where it is part of the path; absent elsewhere. */
  readonly version?: string;
  /** The most restrictive tier tag; null without one. */
  readonly tier: Tier | null;
}

/** A version of a dbt model that has no path of its own by its tags. */
export interface VersionOfPath {
  readonly version: string;
  /** The latest one, or the only one that is published: it answers at the path without a version, too. */
  readonly isLatest: boolean;
}

/**
 * The category is the name of a folder, the other segments are one file name, where capitals and dots take two characters:
 * with their separators and the ending they must fit into the 255 bytes of file systems.
 */
const MAX_NAME = 240;

const ROOM = `the segments behind the category may have ${String(MAX_NAME)} characters together, where capitals and dots count twice`;

/** The category of the service's own paths, `/v1/system/…`. */
const RESERVED_CATEGORY = "system";

/** Endings of a path that choose a format (runtime/docs/responses.md, Formats): another endpoint would answer. */
const FORMAT_ENDING = /\.(?:json|csv|ndjson|parquet|arrows?)$/i;

/** Path of an endpoint, `/v1/{category}/{resource}[@{version}][/{granularity}][/{window}]`. */
export function pathOf(tags: ModelTags): string {
  return ["", "v1", ...segmentsOf(tags).map(({ value }) => value)].join("/");
}

/** The second segment: the resource, with the version where it is part of the path. */
export function resourceOf({ resource, version }: ModelTags): string {
  return version === undefined ? resource : `${resource}@${version}`;
}

/** The variable segments of a path, each with the tag that it comes from. */
function segmentsOf(tags: ModelTags): { tag: string; value: string }[] {
  const { category, resource, granularity, window } = tags;
  return [
    { tag: category, value: category },
    { tag: `api:${resource}`, value: resourceOf(tags) },
    ...(granularity === null ? [] : [{ tag: `granularity:${granularity}`, value: granularity }]),
    ...(window === null || window === granularity ? [] : [{ tag: `window:${window}`, value: window }]),
  ];
}

/** Problems of the path that the tags give: no other character may reach a URL or a file name. */
export function pathProblems(tags: ModelTags): { message: string; hint: string }[] {
  const { version, ...unversioned } = tags;
  const bad = segmentsOf(unversioned).filter(({ value }) => !isSegment(value));
  if (bad.length > 0) return bad.map(({ tag, value }) => segmentProblem(tag, value));
  if (version !== undefined && !isSegment(version)) return [versionProblem(version)];
  const named = segmentsOf(tags).slice(1);
  if (named.reduce((sum, { value }) => sum + widthOf(value), 0) > MAX_NAME) {
    const [longest = tags.resource] = named.map(({ tag }) => tag).sort((a, b) => b.length - a.length);
    return [
      {
        message: `The path ${formatValue(pathOf(tags))} is too long for a file name.`,
        hint: `Shorten the tag ${formatValue(longest)}: ${ROOM}.`,
      },
    ];
  }
  const problem = reservedProblem(pathOf(tags));
  return problem === null ? [] : [problem];
}

/** Why a path cannot be a former one: only a path that an endpoint can have may be. */
export function formerPathProblem(path: string): { message: string; hint: string } | null {
  const [first, version, ...segments] = path.split("/");
  const isPath = first === "" && version === "v1" && segments.length >= 2 && segments.length <= 4;
  const [category = "", resource = "", ...others] = segments;
  const versions = resource.split("@");
  if (isPath && versions.length <= 2 && [category, ...versions, ...others].every(isSegment))
    return reservedProblem(path);
  return {
    message: `${formatValue(path)} is not a path of an endpoint.`,
    hint: "Write it as callers know it: /v1/{category}/{resource}[@{version}][/{granularity}][/{window}].",
  };
}

function reservedProblem(path: string): { message: string; hint: string } | null {
  if (path.split("/")[2] === RESERVED_CATEGORY)
    return {
      message: `The path ${path} belongs to the service itself.`,
      hint: `Choose another category than ${RESERVED_CATEGORY}: it is the first tag without a colon that is no tier and no other tag that Routewright reads.`,
    };
  const ending = FORMAT_ENDING.exec(path)?.[0];
  if (ending === undefined) return null;
  return {
    message: `The path ${path} ends in ${ending}, which requests a format of another path.`,
    hint: "Choose another name.",
  };
}

function versionProblem(version: string): { message: string; hint: string } {
  return {
    message: `The version ${formatValue(version)} cannot be part of a path.`,
    hint: "Use only letters, digits, `_`, `-` and `.` in its `v`, or give each version its own resource: set `config.tags` under the version.",
  };
}

function isSegment(text: string): boolean {
  return /^[A-Za-z0-9_.-]+$/.test(text) && text !== "." && text !== ".." && widthOf(text) <= MAX_NAME;
}

function widthOf(segment: string): number {
  return segment.replace(/[.A-Z]/g, "..").length;
}

function segmentProblem(tag: string, value: string): { message: string; hint: string } {
  if (value === "") {
    return {
      message: `The tag ${formatValue(tag)} has no value.`,
      hint: tag === "" ? "Remove it." : "Write a value after the colon.",
    };
  }
  if (widthOf(value) > MAX_NAME) {
    return {
      message: `The tag ${formatValue(tag)} gives a path segment of ${String(value.length)} characters.`,
      hint: `Shorten it: ${ROOM}.`,
    };
  }
  return {
    message: `The tag ${formatValue(tag)} cannot be a path segment.`,
    hint: "Use only letters, digits, `_`, `-` and `.` (and not `.` or `..` alone).",
  };
}

/** Granularities in the order in which documentation lists them; others follow alphabetically. */
const GRANULARITY_ORDER = [
  null,
  "latest",
  "daily",
  "weekly",
  "monthly",
  "last_7d",
  "last_30d",
  "in_ranges",
  "all_time",
] as const;

/** By category, resource, then granularity in the order of generator/docs/tags.md, Paths. */
export function inDocumentedOrder(a: CatalogueEntry, b: CatalogueEntry): number {
  return (
    byText(a.category, b.category) ||
    byText(a.resource, b.resource) ||
    granularityRank(a.granularity) - granularityRank(b.granularity) ||
    byText(a.granularity ?? "", b.granularity ?? "") ||
    byText(a.window ?? "", b.window ?? "") ||
    // The latest version, then the others by theirs.
    byText(a.path, b.path)
  );
}

/** Position of a granularity in the documented order; unknown ones share the last position. */
function granularityRank(granularity: string | null): number {
  const rank = (GRANULARITY_ORDER as readonly (string | null)[]).indexOf(granularity);
  return rank === -1 ? GRANULARITY_ORDER.length : rank;
}
