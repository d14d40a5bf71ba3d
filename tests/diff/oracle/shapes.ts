import { shapeOf } from "../../../runtime/core/handler/request-shape.js";
import type { Condition, RawValue, ResolvedQuery } from "../../../runtime/core/model/query.js";
import { readFilter } from "../../../runtime/filter/filter.js";
import { isHttpError } from "../../../runtime/core/model/errors.js";
import { type Endpoint, servedPaths } from "../../../runtime/core/model/endpoint.js";
import type { ServedEndpoint } from "../../../runtime/core/model/served-endpoint.js";
import type { Catalogue } from "../../../generator/catalogue/catalogue.js";
import type { Change } from "../../../generator/diff/change.js";
import { SHAPE_OUTCOMES, type ShapeOutcome } from "../../../generator/diff/hits.js";
import { withUsage } from "../../../generator/diff/usage.js";
import { outcomeSeen, type Pair } from "./compare.js";
import type { OracleRequest } from "./requests.js";

/** What `diff --usage` says of one request, and what its caller gets. */
export interface OracleShape {
  readonly shape: string;
  readonly said: ShapeOutcome;
  /** Kinds of the changes that say so. */
  readonly changes: readonly string[];
  readonly seen: ShapeOutcome;
  /** What differs. */
  readonly what: string;
}

const TODAY = "2030-01-31";
const DAYS = 1;

/** Each request that the base answers, as servers keep it, beside what `diff --usage` makes of it. */
export function judgeRequests(
  changes: readonly Change[],
  base: Catalogue,
  pairs: readonly Pair[],
): readonly OracleShape[] {
  return pairs
    .filter(({ base: { status } }) => status === 200)
    .flatMap((pair) => {
      const [route, shape] = keptShape(base, pair.request);
      if (shape === null) return [];
      const callers = { keys: ["aaaa"], lastSeen: "2030-01-30T12:00:00Z" };
      const used = { route, shape, requests: 1, ...callers };
      const recorded = { lines: [], recordedDays: ["2030-01-30"], shapes: [used] };
      const { shapes } = withUsage(changes, base, recorded, { today: TODAY, days: DAYS });
      const { outcome: seen, what } = outcomeSeen(pair, pairs, base.entries);
      return (shapes?.shapes ?? []).map(({ outcome: said, changes: by }) => ({
        shape: `${route} ${shape}`,
        ...{ said, changes: by, seen, what },
      }));
    });
}

/** Whether what is said is less than what is seen. */
export function isUnsaid({ said, seen }: OracleShape): boolean {
  return SHAPE_OUTCOMES.indexOf(said) > SHAPE_OUTCOMES.indexOf(seen);
}

/** The route and the shape of a request, as the server of the base records them. */
function keptShape(
  { entries }: Catalogue,
  request: OracleRequest,
): readonly [route: string, shape: string | null] {
  const [route = "", format = "json"] = request.path.split(/\.(?=csv$)/);
  const spec = entries.find((entry) => servedPaths(entry).includes(route));
  if (spec === undefined) throw new Error(`No endpoint at ${route}.`);
  const fields = new Map(
    Object.entries(request.fields).map(([name, value]) => [name, rawOf(request, value)]),
  );
  const selection = { conditions: expressionOf(spec, request) };
  const query = { fields, format, selection } as unknown as ResolvedQuery;
  return [
    route,
    shapeOf({ spec } as unknown as ServedEndpoint, query, request.method, request.tier ?? "tier0"),
  ];
}

/** The conditions of the parameter `filter`. */
function expressionOf(
  { filters = [] }: Endpoint,
  { fields: { filter } }: OracleRequest,
): readonly Condition[] {
  if (typeof filter !== "string") return [];
  const read = readFilter(filter, { filters, timezoneOf: () => undefined });
  if (isHttpError(read)) throw new Error(read.detail);
  return read;
}

function rawOf({ method }: OracleRequest, value: string | readonly string[]): RawValue {
  return method === "POST" ? { from: "body", value } : { from: "query", texts: [value].flat() };
}
