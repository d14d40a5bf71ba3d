import type { Method } from "@routewright/runtime/model";

/**
 * Identifier of an operation, such as `get_bridges_volume_last_7d`: unique, and a function of the method and path alone, so
 * that a new model never renames an operation in generated clients.
 */
export function operationIdOf(method: Method, path: string): string {
  return `${method.toLowerCase()}_${nameOf(path)}`;
}

/** Name of an endpoint's row in `components.schemas`: `bridges_volume_last_7d_row`, unique and stable too. */
export function rowNameOf(path: string): string {
  return `${nameOf(path)}_row`;
}

/**
 * The first of these names that identifies the path: the segments joined by `_`, joined by `__`, or the encoded path. A
 * joined name must map back to the path by `pathOfName`, and only encoded names contain `___`: two paths never share a name.
 */
function nameOf(path: string): string {
  const tail = path.replace(/^\/v1\//, "");
  const segments = tail.split("/");
  const candidates = [segments.join("_"), segments.join("__")];
  return candidates.find((name) => pathOfName(name) === tail) ?? encodedName(tail);
}

/** Words joined by `_` or `__`. */
const WORDS = /^[A-Za-z0-9]+(?:__?[A-Za-z0-9]+)*$/;

/**
 * The path that a joined name stands for. Without `__` it is the usual form: a category of one word, the resource, and a
 * granularity if the name ends in a known one.
 */
function pathOfName(name: string): string | null {
  if (!WORDS.test(name)) return null;
  if (name.includes("__")) return name.replaceAll("__", "/");
  const [, category, resource, granularity] = SIMPLE.exec(name) ?? [];
  if (category === undefined || resource === undefined) return null;
  return [category, resource, ...(granularity === undefined ? [] : [granularity])].join("/");
}

/** Adding a granularity here renames the operations that end in it. */
const SIMPLE = new RegExp(
  "^([A-Za-z0-9]+)_(.+?)(?:_(hourly|daily|weekly|monthly|quarterly|yearly|latest|snapshot|total|history" +
    "|in_ranges|all_time|(?:last|rolling)_[a-z0-9]+))?$",
);

const SEPARATOR = /[^A-Za-z0-9]/g;

/** No other character is part of a path. All separators as `_`, then `___` and a code per separator: `/v1/esg/co2-total/daily` is `esg_co2_total_daily___sds`. */
function encodedName(tail: string): string {
  const codes = Array.from(tail.matchAll(SEPARATOR), ([separator]) => SEPARATOR_CODES.get(separator));
  return `${tail.replace(SEPARATOR, "_")}___${codes.join("")}`;
}

const SEPARATOR_CODES: ReadonlyMap<string, string> = new Map([
  ["/", "s"],
  ["_", "u"],
  ["-", "d"],
  [".", "p"],
  ["@", "a"],
]);
