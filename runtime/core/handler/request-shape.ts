import type { ServedEndpoint } from "../model/served-endpoint.js";
import type { RawValue, ResolvedQuery } from "../model/query.js";
import type { Tier } from "../model/tier.js";
import { NO_FIELDS } from "../request/request-fields.js";

/** Parameters whose values are names that the document lists. */
const NAMING: ReadonlySet<string> = new Set([
  ...["fields", "group_by", "measures", "metrics"],
  ...["sort_by", "sort_direction"],
]);

/** Longer requests have no shape: they count as the rest. */
const MAX_LENGTH = 1_000;

/** A name as it stands in shapes, with `=` where its value follows. */
interface ShapeName {
  readonly text: string;
  readonly isShown: boolean;
}

/** Names of endpoints as shapes have them: made anew they took half of the time. */
const NAMES = new WeakMap<ServedEndpoint["spec"], Map<string, ShapeName>>();

/** Bounded by the declared names, and where an endpoint ignores others by this. */
const MAX_NAMES = 1_000;

/**
 * The shape of a request: what its caller depends on, without values (runtime/docs/operations.md). Of a parameter its name with
 * the operator; of what names columns, groups, measures and accepted values, these too.
 * `GET json tier1 limit&status=paid`; null where it is too long to keep. Made anew each time, in 0.3 µs for three parameters:
 * by a list that is sorted and joined it took 0.8 µs of the 1 µs that shapes may cost a request (`npm run bench -- shapes`).
 */
export function shapeOf(
  { spec }: ServedEndpoint,
  { fields = NO_FIELDS, format }: ResolvedQuery,
  method: string,
  tier: Tier,
): string | null {
  const head = `${method} ${format} ${tier}`;
  const parts: string[] = [];
  let { length } = head;
  for (const [name, raw] of fields) {
    const { text, isShown } = nameIn(spec, name);
    const part = isShown ? text + quoted(valueOf(raw)) : text;
    length += 1 + part.length;
    if (length > MAX_LENGTH) return null;
    insert(parts, part);
  }
  let shape = head;
  for (const [i, part] of parts.entries()) shape += (i === 0 ? " " : "&") + part;
  return shape;
}

function nameIn(spec: ServedEndpoint["spec"], name: string): ShapeName {
  let names = NAMES.get(spec);
  if (names === undefined) NAMES.set(spec, (names = new Map<string, ShapeName>()));
  const known = names.get(name);
  if (known !== undefined) return known;
  const isShown = NAMING.has(name) || spec.parameters.some((one) => one.name === name && "values" in one);
  const made = { text: isShown ? `${quoted(name)}=` : quoted(name), isShown };
  if (names.size < MAX_NAMES) names.set(name, made);
  return made;
}

/** Into a list that is in order, and short. */
function insert(parts: string[], part: string): void {
  let at = parts.length;
  for (; at > 0; at--) {
    const before = parts[at - 1] ?? "";
    if (before <= part) break;
    parts[at] = before;
  }
  parts[at] = part;
}

function valueOf(raw: RawValue): string {
  return raw.from === "query" ? raw.texts.join(",") : [raw.value].flat().map(String).join(",");
}

/** Most texts need no quotes: quoting costs more than the look. */
function quoted(text: string): string {
  return /^[\w.,[\]-]*$/.test(text) ? text : encodeURIComponent(text);
}
