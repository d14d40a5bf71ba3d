import { type Grain, GRAINS, isGrain } from "../core/model/aggregate/grains.js";
import type { AskedGroup } from "../core/model/aggregate/aggregate.js";
import { httpError, isHttpError, type Result } from "../core/model/errors.js";
import { MAX_CHART_POINTS } from "../core/model/limits.js";
import { Projection } from "../core/model/projection.js";
import { type Condition, type RawFields, type Selection, withDigest } from "../core/model/query.js";
import type { ServedEndpoint } from "../core/model/served-endpoint.js";
import { readList, readRequired, readSingle } from "../core/request/request-fields.js";
import { missingFilter, readConditions, unsupported, withOperators } from "../core/request/resolve-query.js";
import { isFilter } from "./group-filters.js";
import { aggregateOfRows } from "./rows-aggregate.js";

/** Parameters of a request for the points of a chart; the others are filters of the endpoint. */
const OWN_FIELDS: readonly string[] = ["path", "x", "y", "by", "grain"];

/** Numbers of a point, and columns that divide points: more are no chart. */
const MAX_COLUMNS = 8;

/** What a chart draws of the rows, before the types in the database are known. */
interface ResolvedChart {
  readonly x: string;
  readonly grain: Grain | null;
  readonly by: readonly string[];
  readonly y: readonly string[];
  readonly conditions: readonly Condition[];
}

/** Checks the fields of a request for points: the columns, then the period and filters. */
export function readChartQuestion(
  endpoint: ServedEndpoint,
  isPrivate: (column: string) => boolean,
  sent: RawFields,
): Result<ResolvedChart> {
  const { aggregate, columns } = endpoint.spec;
  const servesRows = aggregate === undefined || (aggregate.of === "measures" && aggregate.rows !== false);
  const names = servesRows ? columns.map(({ name }) => name).filter((name) => !isPrivate(name)) : [];
  const x = readRequired("x", sent);
  if (isHttpError(x)) return x;
  if (!names.includes(x)) return notAmong("x", names);
  const y = readColumns("y", names, sent);
  if (isHttpError(y)) return y;
  if (y.length === 0) return httpError("parameterRequired", { name: "y" });
  const by = readColumns("by", names, sent);
  if (isHttpError(by)) return by;
  const grain = readGrain(sent);
  if (isHttpError(grain)) return grain;
  const conditions = readFilters(endpoint, sent);
  return isHttpError(conditions) ? conditions : { x, grain, by, y, conditions };
}

function readFilters(endpoint: ServedEndpoint, sent: RawFields): Result<readonly Condition[]> {
  const others = new Map([...sent].filter(([name]) => !OWN_FIELDS.includes(name)));
  const fields = withOperators(endpoint, others);
  if (isHttpError(fields)) return fields;
  const { filters } = endpoint;
  const unknown = [...fields.keys()].filter(
    (name) => !filters.some((filter) => filter.name === name) && !isFilter(endpoint, name),
  );
  if (unknown.length > 0) return unsupported(unknown, "query");
  const conditions = readConditions(filters, fields, { endpoint, filters: endpoint.spec.filters ?? [] });
  if (isHttpError(conditions)) return conditions;
  return missingFilter(endpoint.spec, conditions) ?? conditions;
}

function readColumns(name: string, names: readonly string[], fields: RawFields): Result<readonly string[]> {
  const raw = fields.get(name);
  const list = raw === undefined ? null : readList(name, raw);
  if (isHttpError(list)) return list;
  const columns = [...new Set(list ?? [])];
  if (columns.length > MAX_COLUMNS) return httpError("tooManyValues", { name, max: MAX_COLUMNS });
  return columns.every((column) => names.includes(column)) ? columns : notAmong(name, names);
}

function readGrain(fields: RawFields): Result<Grain> | null {
  const raw = fields.get("grain");
  const text = raw === undefined ? null : readSingle("grain", raw);
  if (text === null || isHttpError(text)) return text;
  return isGrain(text) ? text : httpError("valueNotAccepted", { name: "grain", values: GRAINS.join(", ") });
}

const notAmong = (name: string, names: readonly string[]) =>
  httpError("chartColumn", { name, names: names.join(", ") || "none" });

/** The sum and the number of the values of each point: times in their order, else the largest first. */
export function pointsOf(
  endpoint: ServedEndpoint,
  { x, grain, by, y, conditions }: ResolvedChart,
  { nameOf, isTime }: { readonly nameOf: (column: string) => string; readonly isTime: boolean },
): Selection {
  const rows = aggregateOfRows(endpoint, [x, ...by, ...y], nameOf);
  const groups: readonly AskedGroup[] = [
    { key: "x", name: x, ...(grain !== null && { grain }) },
    ...by.map((name, i) => ({ key: `by${String(i)}`, name })),
  ];
  const leaf = { kind: "leaf", fact: rows.fact, filters: [] } as const;
  const measures = y.flatMap((value, i) => [
    { name: `sum${String(i)}`, groups: [], metric: { ...leaf, value, aggregation: "sum" } as const },
    { name: `count${String(i)}`, groups: [], metric: { ...leaf, value, aggregation: "count" } as const },
  ]);
  const aggregate = withDigest({ ...rows.aggregate, measures });
  const zones = new Map(endpoint.spec.columns.map(({ name, timezone }) => [name, timezone && { timezone }]));
  const columns = new Projection([
    ...groups.map(({ key, name }) => ({ name: key, type: null, ...(grain === null && zones.get(name)) })),
    ...measures.map(({ name }) => ({ name, type: null })),
  ]);
  const keys = groups.map(({ key }) => [key, "ASC"] as const);
  const sort = isTime ? keys : [["sum0", "DESC"] as const, ...keys];
  const page = { limit: MAX_CHART_POINTS, offset: 0, lookAhead: true };
  return { columns, conditions, sort, page, grouping: { aggregate, groups, measures } };
}
