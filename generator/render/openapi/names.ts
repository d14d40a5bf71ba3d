import type { Method } from "@routewright/runtime/model";

/**
 * Identifier of an operation, such as `get_bridges_volume_last_7d`: no two operations share one, and it depends on
 * nothing but the operation, so that a new model never renames what clients have generated code for.
 */
export function operationIdOf(method: Method, path: string): string {
  return `${method.toLowerCase()}_${nameOf(path)}`;
}

/** Name of an endpoint's row in `components.schemas`: `bridges_volume_last_7d_row`, as unique and as stable. */
export function rowNameOf(path: string): string {
  return `${nameOf(path)}_row`;
}

/**
 * The first of these that tells exactly this path: the segments joined by `_`, by `__`, or in code. A name is used
 * only if `readBack` makes the same path of it, and coded names alone hold `___`: hence two paths never share a name.
 */
function nameOf(path: string): string {
  const tail = path.replace(/^\/v1\//, "");
  const segments = tail.split("/");
  const candidates = [segments.join("_"), segments.join("__")];
  return candidates.find((name) => readBack(name) === tail) ?? coded(tail);
}

/** Words joined by `_` or `__`, neither of them at an end. */
const WORDS = /^[A-Za-z0-9]+(?:__?[A-Za-z0-9]+)*$/;

/**
 * The path a name stands for. Where it holds no `__`, that is what most paths are: a category of one word, the
 * resource, and a granularity if the name ends in one of those known.
 */
function readBack(name: string): string | null {
  if (!WORDS.test(name)) return null;
  if (name.includes("__")) return name.replaceAll("__", "/");
  const [, category, resource, granularity] = SIMPLE.exec(name) ?? [];
  if (category === undefined || resource === undefined) return null;
  return [category, resource, ...(granularity === undefined ? [] : [granularity])].join("/");
}

/** To add a granularity here is to rename the operations that end in it. */
const SIMPLE = new RegExp(
  "^([A-Za-z0-9]+)_(.+?)(?:_(hourly|daily|weekly|monthly|quarterly|yearly|latest|snapshot|total|history" +
    "|in_ranges|all_time|(?:last|rolling)_[a-z0-9]+))?$",
);

const MARK = /[^A-Za-z0-9]/g;

/** Every mark as `_`, then behind `___` which mark each was: `/v1/esg/co2-total/daily` is `esg_co2_total_daily___sds`. */
function coded(tail: string): string {
  const marks = Array.from(tail.matchAll(MARK), ([mark]) => MARK_CODES.get(mark) ?? hexCode(mark));
  return `${tail.replace(MARK, "_")}___${marks.join("")}`;
}

const MARK_CODES: ReadonlyMap<string, string> = new Map([
  ["/", "s"],
  ["_", "u"],
  ["-", "d"],
  [".", "p"],
]);

/** `x…z` around the hexadecimal number, as no code may be the beginning of another. */
function hexCode(mark: string): string {
  return `x${mark.charCodeAt(0).toString(16)}z`;
}
