import { shapeOf } from "../../../runtime/core/handler/request-shape.js";
import type { RawValue, ResolvedQuery } from "../../../runtime/core/model/query.js";
import { servedPaths } from "../../../runtime/core/model/endpoint.js";
import type { ServedEndpoint } from "../../../runtime/core/model/served-endpoint.js";
import type { Catalogue } from "../../../generator/catalogue/catalogue.js";
import type { Change } from "../../../generator/diff/change.js";
import { withUsage } from "../../../generator/diff/usage.js";
import { failureOf, type Pair } from "./compare.js";
import type { OracleRequest } from "./requests.js";

/** What `diff --usage` says of one request, and what its caller gets. */
export interface JudgedShape {
  readonly shape: string;
  /** Null: the head answers as the base did, or with other rows. */
  readonly failure: string | null;
  /** Kinds of the breaking changes that are said to hit it. */
  readonly hitBy: readonly string[];
}

const TODAY = "2030-01-31";
const DAYS = 1;

/** Each request that the base answers, as servers keep it, beside what `diff --usage` makes of it. */
export function judgeShapes(
  changes: readonly Change[],
  base: Catalogue,
  pairs: readonly Pair[],
): readonly JudgedShape[] {
  return pairs
    .filter(({ base: { status } }) => status === 200)
    .flatMap((pair) => {
      const [route, shape] = keptShape(base, pair.request);
      if (shape === null) return [];
      const used = { key: "aaaa", org: "", route, shape, requests: 1, lastSeen: "2030-01-30T12:00:00Z" };
      const recorded = {
        lines: [],
        recordedDays: ["2030-01-30"],
        shapes: [used],
        rest: new Map<string, number>(),
      };
      const found = withUsage(changes, base, recorded, { today: TODAY, days: DAYS });
      const hitBy = found.filter(({ usage }) => usage?.state === "used").map(({ kind }) => kind);
      return [{ shape: `${route} ${shape}`, failure: failureOf(pair, base.entries), hitBy }];
    });
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
  const query = { fields, format } as unknown as ResolvedQuery;
  return [
    route,
    shapeOf({ spec } as unknown as ServedEndpoint, query, request.method, request.tier ?? "tier0"),
  ];
}

function rawOf({ method }: OracleRequest, value: string | readonly string[]): RawValue {
  return method === "POST" ? { from: "body", value } : { from: "query", texts: [value].flat() };
}
