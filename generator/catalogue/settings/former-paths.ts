import type { FormerPath } from "@routewright/runtime/model";
import { described, listOf, record, text, textOrNull } from "@routewright/runtime/model";
import { HINT, NOUN } from "../../manifest/schema-errors.js";
import { timestampOf } from "../../manifest/model.js";
import { formatValue } from "../../manifest/strings.js";
import type { Catalogue, CatalogueEntry, Complaint, Skipped } from "../catalogue.js";
import { complaint } from "../catalogue.js";
import { formerPathProblem } from "../path.js";
import type { RoutewrightContext } from "./context.js";
import { invalid, reading, type Setting, type SettingProblem } from "./setting.js";

const EXAMPLE = 'Write `former_paths: [{path: /v1/shop/orders, sunset: "2027-03-31"}]`.';
const ENTRY = { [NOUN]: "a path and its sunset", [HINT]: EXAMPLE };

const formerPath = {
  ...record(
    { path: { ...described("as callers know it", text), [HINT]: EXAMPLE } },
    { sunset: { ...described("when it may stop answering", textOrNull), [NOUN]: "a date", [HINT]: EXAMPLE } },
  ),
  ...ENTRY,
};

export interface WrittenPath {
  readonly path: string;
  readonly sunset?: string | null;
}

/** Paths that the endpoint had before (generator/docs/how-to/moved-paths.md). */
export const formerPaths: Setting<readonly WrittenPath[], readonly FormerPath[], RoutewrightContext> = {
  schema: {
    ...described("paths that the endpoint had before, and when they may stop answering", listOf(formerPath)),
    [NOUN]: "a list of paths",
    [HINT]: EXAMPLE,
  },
  read: (value = [], { path: own }) => {
    const paths = value.map((item) => item?.path);
    const problems = value.flatMap((item, i) => [
      ...pathProblems(paths, i, own),
      ...sunsetProblems(item?.sunset, `former_paths[${String(i)}].sunset`),
    ]);
    return reading(problems, () =>
      (value as readonly WrittenPath[]).map(({ path, sunset }) => ({ path, sunset: timestampOf(sunset) })),
    );
  },
};

function pathProblems(
  paths: readonly (string | undefined)[],
  i: number,
  own: string | null,
): readonly SettingProblem[] {
  const [path, at] = [paths[i], `former_paths[${String(i)}].path`];
  if (path === undefined) return [];
  const bad = formerPathProblem(path);
  if (bad !== null) return invalid(at, bad.message, bad.hint);
  if (path === own) return invalid(at, `${path} is the model's own path.`, "Remove it.");
  return paths.indexOf(path) < i ? invalid(at, `${path} is listed twice.`, "Remove one.") : [];
}

function sunsetProblems(sunset: string | null | undefined, at: string): readonly SettingProblem[] {
  const isDate = /^\d{4}-\d\d-\d\d/.test(sunset ?? "") && timestampOf(sunset) !== null;
  return (sunset ?? null) === null || isDate
    ? []
    : invalid(at, `${formatValue(sunset)} is not a date.`, EXAMPLE);
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
  const at = `$.meta.routewright.former_paths[${String(i)}].path`;
  if (owner !== undefined)
    return complaint(at, `${path} is the path of ${owner}.`, "Remove it from `former_paths`.");
  if (claimant === undefined) return [];
  return complaint(
    at,
    `${path} is a former path of ${claimant} too.`,
    "Keep the former path in one model only.",
  );
}
