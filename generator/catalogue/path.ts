import type { FormerPath } from "@routewright/runtime/model";
import { isObject, listOr } from "../manifest/json.js";
import { type Model, timestampOf } from "../manifest/model.js";
import { byText, formatValue } from "../manifest/strings.js";
import { type Catalogue, type CatalogueEntry, type Complaint, complaint, type Skipped } from "./catalogue.js";
import type { ModelTags } from "./tags.js";

/**
 * Segments become part of a file name, where capitals and dots take two characters: three segments and the ending must
 * fit into the 255 bytes of file systems.
 */
const MAX_SEGMENT = 80;

/** The category of the service's own paths, `/v1/system/…`. */
const RESERVED_CATEGORY = "system";

/** Endings of a path that choose a format (runtime/docs/responses.md, Formats): another endpoint would answer. */
const FORMAT_ENDING = /\.(?:json|csv|ndjson|parquet|arrows?)$/i;

/** Path of an endpoint, `/v1/{category}/{resource}[/{granularity}][/{window}]`. */
export function pathOf(tags: ModelTags): string {
  return ["", "v1", ...segmentsOf(tags).map(({ value }) => value)].join("/");
}

/** The variable segments of a path, each with the tag that it comes from. */
function segmentsOf({
  category,
  resource,
  granularity,
  window,
}: ModelTags): { tag: string; value: string }[] {
  return [
    { tag: category, value: category },
    { tag: `api:${resource}`, value: resource },
    ...(granularity === null ? [] : [{ tag: `granularity:${granularity}`, value: granularity }]),
    ...(window === null || window === granularity ? [] : [{ tag: `window:${window}`, value: window }]),
  ];
}

/** Problems of the path that the tags give: no other character may reach a URL or a file name. */
export function pathProblems(tags: ModelTags): { message: string; hint: string }[] {
  const bad = segmentsOf(tags).filter(({ value }) => !isSegment(value));
  if (bad.length > 0) return bad.map(({ tag, value }) => segmentProblem(tag, value));
  const problem = reservedProblem(pathOf(tags));
  return problem === null ? [] : [problem];
}

/** Why a path cannot be a former one: only a path that an endpoint can have may be. */
function formerPathProblem(path: string): { message: string; hint: string } | null {
  const [first, version, ...segments] = path.split("/");
  const isPath = first === "" && version === "v1" && segments.length >= 2 && segments.length <= 4;
  if (isPath && segments.every(isSegment)) return reservedProblem(path);
  return {
    message: `${formatValue(path)} is not a path of an endpoint.`,
    hint: "Write it as callers know it: /v1/{category}/{resource}[/{granularity}][/{window}].",
  };
}

function reservedProblem(path: string): { message: string; hint: string } | null {
  if (path.split("/")[2] === RESERVED_CATEGORY)
    return {
      message: `The path ${path} belongs to the service itself.`,
      hint: `Choose another category than ${RESERVED_CATEGORY}: the first tag that names none of the rest is the category.`,
    };
  const ending = FORMAT_ENDING.exec(path)?.[0];
  if (ending === undefined) return null;
  return {
    message: `The path ${path} ends in ${ending}, which requests a format of another path.`,
    hint: "Choose another name.",
  };
}

function isSegment(text: string): boolean {
  return /^[A-Za-z0-9_.-]+$/.test(text) && text !== "." && text !== ".." && widthOf(text) <= MAX_SEGMENT;
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
  if (widthOf(value) > MAX_SEGMENT) {
    return {
      message: `The tag ${formatValue(tag)} gives a path segment of ${String(value.length)} characters.`,
      hint: `Use at most ${String(MAX_SEGMENT)}; capitals and dots count twice.`,
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
    byText(a.window ?? "", b.window ?? "")
  );
}

/** Position of a granularity in the documented order; unknown ones share the last position. */
function granularityRank(granularity: string | null): number {
  const rank = (GRANULARITY_ORDER as readonly (string | null)[]).indexOf(granularity);
  return rank === -1 ? GRANULARITY_ORDER.length : rank;
}

const AT = "$.meta.routewright.former_paths";

/** `meta.routewright.former_paths` of a model without problems (generator/docs/how-to/moved-paths.md). */
export function formerPathsOf({ routewright }: Model): readonly FormerPath[] {
  return listOr(routewright["former_paths"]).flatMap((item) =>
    isObject(item) && typeof item["path"] === "string"
      ? [{ path: item["path"], sunset: timestampOf(item["sunset"]) }]
      : [],
  );
}

/** What is wrong with the list; `own`: the path of the model, null where its tags give none. */
export function formerPathsProblems(model: Model, own: string | null): readonly Complaint[] {
  const { former_paths: list = [] } = model.routewright;
  const complain = (path: string, message: string, hint = EXAMPLE): Complaint => ({ path, message, hint });
  if (!Array.isArray(list)) return [complain(AT, `${formatValue(list)} is not a list of paths.`)];
  const paths = formerPathsOf(model).map(({ path }) => path);
  return list.flatMap((item: unknown, i): readonly Complaint[] => {
    const at = `${AT}[${String(i)}]`;
    const { path, sunset = null, ...others } = isObject(item) ? item : {};
    if (typeof path !== "string" || Object.keys(others).length > 0)
      return [complain(at, `${formatValue(item)} is not a path and its sunset.`)];
    const bad = formerPathProblem(path);
    if (bad !== null) return [complain(`${at}.path`, bad.message, bad.hint)];
    if (path === own) return [complain(`${at}.path`, `${path} is the model's own path.`, "Remove it.")];
    if (paths.indexOf(path) < i) return [complain(`${at}.path`, `${path} is listed twice.`, "Remove one.")];
    return sunset === null || isDate(sunset)
      ? []
      : [complain(`${at}.sunset`, `${formatValue(sunset)} is not a date.`)];
  });
}

const EXAMPLE = 'Write `former_paths: [{path: /v1/shop/orders, sunset: "2027-03-31"}]`.';

function isDate(value: unknown): boolean {
  return typeof value === "string" && /^\d{4}-\d\d-\d\d/.test(value) && timestampOf(value) !== null;
}

/**
 * Separates the entries with a former path that is another model's path, or that a model before them (by `unique_id`) claims
 * too: which rows such a path serves would be a guess. `owners`: path → model, of all tagged models.
 */
export function withoutClaimedPaths(
  all: readonly CatalogueEntry[],
  owners: ReadonlyMap<string, string>,
): Pick<Catalogue, "entries" | "skipped"> {
  const claims = new Map<string, string>();
  const entries: CatalogueEntry[] = [];
  const skipped: Skipped[] = [];
  for (const entry of all) {
    const paths = (entry.formerPaths ?? []).map(({ path }) => path);
    const problems = paths
      .flatMap((path, i) => claimProblem(path, i, owners.get(path), claims.get(path)))
      .map((problem) => ({ model: entry.uniqueId, ...problem }));
    for (const path of paths) if (!claims.has(path)) claims.set(path, entry.uniqueId);
    if (problems.length === 0) entries.push(entry);
    else skipped.push({ model: entry.uniqueId, file: entry.file, reason: "path-taken", problems });
  }
  return { entries, skipped };
}

function claimProblem(path: string, i: number, owner?: string, claimant?: string): readonly Complaint[] {
  const at = `${AT}[${String(i)}].path`;
  if (owner !== undefined)
    return complaint(at, `${path} is the path of ${owner}.`, "Remove it from `former_paths`.");
  if (claimant === undefined) return [];
  return complaint(
    at,
    `${path} is a former path of ${claimant} too.`,
    "Keep the former path in one model only.",
  );
}
