import { REQUIRE_FRESH } from "../model/endpoint.js";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import { FILTER, type RawValue, type ResolvedQuery } from "../model/query.js";
import type { Tier } from "../model/tier.js";
import { NO_FIELDS } from "../request/request-fields.js";
import { comparedColumns } from "./resolve.js";

/** Parameters whose values are names that the document lists. */
const NAMING: ReadonlySet<string> = new Set([
  ...["fields", "group_by", "measures", "metrics"],
  ...["sort_by", "sort_direction", REQUIRE_FRESH],
]);

/** Longer requests have no shape: they count as the rest. */
const MAX_LENGTH = 1_000;

/**
 * The shape of a request: what its caller depends on, without values (runtime/docs/operations.md). Of a parameter its name with
 * the operator; of `filter` the columns that it compares; of what names columns, groups, measures and accepted values, these too.
 * `GET json tier1 limit&status=paid`; null where it is too long to keep. Made anew each time: callers choose the names.
 */
export function shapeOf(
  { spec }: ServedEndpoint,
  { fields = NO_FIELDS, format, selection }: ResolvedQuery,
  method: string,
  tier: Tier,
): string | null {
  const head = `${method} ${format} ${tier}`;
  const parts: string[] = [];
  let { length } = head;
  for (const [name, raw] of fields) {
    const isShown = NAMING.has(name) || spec.parameters.some((one) => one.name === name && "values" in one);
    const isExpression = name === FILTER && spec.filter === true;
    const value = isExpression ? comparedColumns(selection.conditions).toSorted().join(",") : valueOf(raw);
    const part = isShown || isExpression ? `${quoted(name)}=${quoted(value)}` : quoted(name);
    length += 1 + part.length;
    if (length > MAX_LENGTH) return null;
    parts.push(part);
  }
  return parts.length === 0 ? head : `${head} ${parts.sort().join("&")}`;
}

function valueOf(raw: RawValue): string {
  return raw.from === "query" ? raw.texts.join(",") : [raw.value].flat().map(String).join(",");
}

/** Most texts need no quotes: quoting costs more than the look. */
function quoted(text: string): string {
  return /^[\w.,[\]-]*$/.test(text) ? text : encodeURIComponent(text);
}
