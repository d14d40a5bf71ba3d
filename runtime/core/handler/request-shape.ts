import type { ServedEndpoint } from "../model/served-endpoint.js";
import type { RawValue, ResolvedQuery } from "../model/query.js";
import type { Tier } from "../model/tier.js";
import { NO_FIELDS } from "../request/request-fields.js";

/** Parameters whose values are names that the document lists. */
const NAMING = ["fields", "group_by", "measures", "metrics", "sort_by", "sort_direction"];

/** Names whose values a shape has. Held as long as their endpoint. */
const shown = new WeakMap<ServedEndpoint, ReadonlySet<string>>();

function shownNames(endpoint: ServedEndpoint): ReadonlySet<string> {
  let names = shown.get(endpoint);
  if (names === undefined) {
    const listed = endpoint.spec.parameters.filter((one) => "values" in one);
    names = new Set([...NAMING, ...listed.map(({ name }) => name)]);
    shown.set(endpoint, names);
  }
  return names;
}

/**
 * Texts of shapes by what is cheap to compare: sorting and quoting took 2 µs of a request with three parameters. Bounded by
 * `MAX_TEXTS`, after which it begins again.
 */
const texts = new Map<string, string>();
const MAX_TEXTS = 5_000;
/** Longer requests have no shape: they count as the rest. */
const MAX_LENGTH = 1_000;

/**
 * The shape of a request: what its caller depends on, without values (runtime/docs/operations.md). Of a parameter its name with
 * the operator; of what names columns, groups, measures and accepted values, these too.
 * `GET json tier1 limit&status=paid`; null where it is too long to keep.
 */
export function shapeOf(
  endpoint: ServedEndpoint,
  { fields = NO_FIELDS, format }: ResolvedQuery,
  method: string,
  tier: Tier,
): string | null {
  let key = `${method} ${format} ${tier}`;
  if (fields.size === 0) return key;
  const names = shownNames(endpoint);
  for (const [name, raw] of fields) {
    key += `\n${name}`;
    if (names.has(name)) key += `\t${valueOf(raw)}`;
  }
  if (key.length > MAX_LENGTH) return null;
  let text = texts.get(key);
  if (text === undefined) {
    text = shapeText(key);
    if (texts.size >= MAX_TEXTS) texts.clear();
    texts.set(key, text);
  }
  return text;
}

function valueOf(raw: RawValue): string {
  return raw.from === "query" ? raw.texts.join(",") : [raw.value].flat().map(String).join(",");
}

function shapeText(key: string): string {
  const [head = "", ...fields] = key.split("\n");
  const parts = fields.map((field) => field.split("\t").map(encodeURIComponent).join("="));
  return `${head} ${parts.sort().join("&")}`;
}
