import type { FormerPath } from "@routewright/runtime/model";
import { isObject, listOr } from "../manifest/json.js";
import { type Model, timestampOf } from "../manifest/model.js";
import { formatValue } from "../manifest/strings.js";
import type { CatalogueEntry, Complaint, Problem, Skipped } from "./catalogue.js";
import { formerPathProblem } from "./path.js";

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

interface Separated {
  readonly entries: readonly CatalogueEntry[];
  readonly skipped: readonly Skipped[];
}

/**
 * Separates the entries with a former path that is another model's path, or that a model before them (by `unique_id`) claims
 * too: which rows such a path serves would be a guess. `owners`: path → model, of all tagged models.
 */
export function withoutClaimedPaths(
  all: readonly CatalogueEntry[],
  owners: ReadonlyMap<string, string>,
): Separated {
  const claims = new Map<string, string>();
  const entries: CatalogueEntry[] = [];
  const skipped: Skipped[] = [];
  for (const entry of all) {
    const paths = (entry.endpoint.formerPaths ?? []).map(({ path }) => path);
    const problems = paths.flatMap((path, i) => {
      const problem = claimProblem(path, owners.get(path), claims.get(path));
      return problem === null
        ? []
        : [{ model: entry.uniqueId, path: `${AT}[${String(i)}].path`, ...problem }];
    });
    for (const path of paths) if (!claims.has(path)) claims.set(path, entry.uniqueId);
    if (problems.length === 0) entries.push(entry);
    else skipped.push({ model: entry.uniqueId, file: entry.file, reason: "path-taken", problems });
  }
  return { entries, skipped };
}

function claimProblem(
  path: string,
  owner: string | undefined,
  claimant: string | undefined,
): Pick<Problem, "message" | "hint"> | null {
  const hint = "Keep the former path in one model only.";
  if (owner !== undefined)
    return { message: `${path} is the path of ${owner}.`, hint: "Remove it from `former_paths`." };
  return claimant === undefined ? null : { message: `${path} is a former path of ${claimant} too.`, hint };
}
