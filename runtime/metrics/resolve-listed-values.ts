import { timedLeaves } from "../core/model/aggregate/metric.js";
import {
  type Aggregate,
  type AskedGrouping,
  groupNames,
  type ServedAggregate,
} from "../core/model/aggregate/aggregate.js";
import type { Endpoint } from "../core/model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../core/model/errors.js";
import { DEFAULT_MAX_LENGTH, VALUES_PAGE } from "../core/model/limits.js";
import { beginsWith } from "../core/model/operators.js";
import { Projection } from "../core/model/projection.js";
import {
  columnsOf,
  type Condition,
  type RawFields,
  type Selection,
  withDigest,
} from "../core/model/query.js";
import type { ServedEndpoint, ServedFilter } from "../core/model/served-endpoint.js";
import { readPage, readRequired, readSingle } from "../core/request/request-fields.js";
import { missingFilter, readConditions, unsupported, withOperators } from "../core/request/resolve-query.js";
import { aggregateOfRows } from "./rows-aggregate.js";
import { filterScope, groupParameters, isFilter, measureConditions } from "./group-filters.js";
import { readGrouping } from "./resolve-grouping.js";

/** Parameters of a request for values; the others are filters of the endpoint. */
const OWN_FIELDS: readonly string[] = ["path", "column", "prefix", "limit"];

/** A column whose values are asked. `grouping`: what the endpoint itself groups, where it serves no rows. */
interface AskedValues {
  readonly column: string;
  readonly grouping: { readonly aggregate: ServedAggregate } | null;
}

/** A request for the values of a column, before the types in the database are known. */
interface ResolvedValues extends AskedValues {
  readonly conditions: readonly Condition[];
  readonly page: NonNullable<Selection["page"]>;
}

/** Checks the fields of a request for values: the column, then filters, prefix and limit. `isFacet`: of one column of several. */
export function readValuesQuestion(
  endpoint: ServedEndpoint,
  isPrivate: (column: string) => boolean,
  sent: RawFields,
  isFacet: boolean,
): Result<ResolvedValues> {
  const asked = readColumn(endpoint, isPrivate, sent, isFacet);
  if (isHttpError(asked)) return asked;
  const fields = withOperators(endpoint, new Map([...sent].filter(([name]) => !OWN_FIELDS.includes(name))));
  if (isHttpError(fields)) return fields;
  const filters = asked.grouping === null ? endpoint.filters : filtersOf(endpoint, asked.grouping, fields);
  const unknown = [...fields.keys()].filter(
    (name) => !filters.some((filter) => filter.name === name) && !isFilter(endpoint, name),
  );
  if (unknown.length > 0) return unsupported(unknown, "query");
  const conditions = readConditions(filters, fields, filterScope(endpoint, asked.grouping?.aggregate));
  if (isHttpError(conditions)) return conditions;
  const missing = missingFilter(endpoint.spec, conditions);
  if (missing) return missing;
  const prefix = readPrefix(asked.column, sent);
  if (isHttpError(prefix)) return prefix;
  const page = readPage(VALUES_PAGE, new Map([...sent].filter(([name]) => name === "limit")));
  if (isHttpError(page) || page === null) return page ?? httpError("notInteger", { field: "limit" });
  const kept = isFacet ? withoutOwn(endpoint.spec, asked.column, conditions) : conditions;
  return { ...asked, conditions: [...kept, ...prefix], page };
}

/** A facet has the values that its own conditions exclude too, unless the endpoint would then read without a filter. */
function withoutOwn(
  endpoint: Endpoint,
  column: string,
  conditions: readonly Condition[],
): readonly Condition[] {
  const others = conditions.filter((condition) => columnsOf(condition).some((one) => one !== column));
  return missingFilter(endpoint, others) === null ? others : conditions;
}

function filtersOf(
  endpoint: ServedEndpoint,
  { aggregate }: { readonly aggregate: Aggregate },
  fields: RawFields,
): readonly ServedFilter[] {
  return groupParameters(endpoint, aggregate, fields);
}

function readColumn(
  { spec: endpoint, aggregate }: ServedEndpoint,
  isPrivate: (column: string) => boolean,
  fields: RawFields,
  isFacet: boolean,
): Result<AskedValues> {
  const column = readRequired("column", fields);
  if (isHttpError(column)) return column;
  const grouping =
    aggregate !== undefined && (aggregate.of === "metrics" || aggregate.rows === false)
      ? { aggregate }
      : null;
  const names =
    grouping === null
      ? endpoint.columns.map(({ name }) => name).filter((name) => !isPrivate(name))
      : groupsOf(grouping.aggregate, isPrivate);
  if (names.includes(column)) return { column, grouping };
  const known = names.join(", ") || "none";
  return isFacet
    ? httpError("valueNotOfType", { name: "columns", type: `among: ${known}` })
    : httpError("valuesColumn", { names: known });
}

/** What `group_by` may name. A saved query with a limit has the groups of its first rows only. */
function groupsOf(
  { of, measures, saved }: Aggregate,
  isPrivate: (column: string) => boolean,
): readonly string[] {
  if (saved !== undefined) return saved.limit === undefined ? saved.groups.map(({ key }) => key) : [];
  const groups = measures.flatMap((measure) => measure.groups);
  // Metrics have no private groups.
  const shown = of === "metrics" ? groups : groups.filter(({ name }) => !isPrivate(name));
  return [...new Set(groupNames(shown))];
}

/** Texts that begin with the prefix, in any letter case. */
function readPrefix(column: string, fields: RawFields): Result<readonly Condition[]> {
  const raw = fields.get("prefix");
  const prefix = raw === undefined ? null : readSingle("prefix", raw);
  if (isHttpError(prefix)) return prefix;
  if (prefix === null) return [];
  const problem = prefixProblem(prefix);
  if (problem !== null) return problem;
  return [{ name: "prefix", column, type: "string", ...beginsWith(prefix) }];
}

function prefixProblem(prefix: string): HttpError | null {
  if (Array.from(prefix).length > DEFAULT_MAX_LENGTH)
    return httpError("valueTooLong", { name: "prefix", max: DEFAULT_MAX_LENGTH });
  return prefix.includes("\0") ? httpError("nulCharacter", { name: "prefix" }) : null;
}

/** The values of a row's column with their numbers of rows, the most frequent first. `nameOf`: a column's own name in the relation. */
export function valuesOfRows(
  { spec, filters }: ServedEndpoint,
  { column, conditions, page }: ResolvedValues,
  nameOf: (column: string) => string,
): Selection {
  const rows = aggregateOfRows({ spec, filters }, [column], nameOf);
  const aggregate = withDigest({
    ...rows.aggregate,
    measures: [
      {
        name: ROWS,
        groups: [{ name: column }],
        metric: { kind: "leaf", fact: rows.fact, aggregation: "count", filters: [] },
      },
    ],
  });
  const zone = spec.columns.find(({ name }) => name === column)?.timezone;
  const grouping = { aggregate, groups: [{ key: VALUE, name: column }], measures: aggregate.measures };
  const columns = new Projection([
    { name: VALUE, type: null, ...(zone !== undefined && { timezone: zone }) },
    { name: ROWS, type: null },
  ]);
  const sort = [
    [ROWS, "DESC"],
    [VALUE, "ASC"],
  ] as const;
  return { columns, conditions, sort, page, grouping };
}

/** Names of the two columns. */
const VALUE = "value";
const ROWS = "rows";

/** The values of a group, as a request for it has them. */
export function valuesOfGroup(
  { column, conditions, page }: ResolvedValues,
  aggregate: ServedAggregate,
): Result<Selection> {
  const { saved } = aggregate;
  const having = aggregate.measures.filter(
    ({ groups }) => saved !== undefined || groupNames(groups).includes(column),
  );
  const [measure] = [...having.filter(({ metric }) => timedLeaves(metric).length === 0), ...having];
  const fields: RawFields = new Map([
    ["group_by", { from: "query", texts: [column] }],
    [aggregate.of, { from: "query", texts: measure === undefined ? [] : [measure.name] }],
  ]);
  const grouping = readGrouping(aggregate, fields, conditions);
  if (isHttpError(grouping)) return grouping;
  const groups = grouping.groups
    .filter(({ key }) => key === column)
    .map((group) => ({ ...group, key: VALUE }));
  const measures = grouping.measures.slice(0, 1);
  const asked: AskedGrouping = { aggregate: withoutOrder(aggregate), groups, measures };
  return {
    columns: new Projection([{ name: VALUE, type: null }]),
    conditions: [...conditions, ...measureConditions(measures)],
    sort: [[VALUE, "ASC"]],
    page,
    grouping: asked,
  };
}

/** The order of a saved query names its groups. */
function withoutOrder(aggregate: ServedAggregate): ServedAggregate {
  const { saved } = aggregate;
  return saved === undefined ? aggregate : withDigest({ ...aggregate, saved: { ...saved, sort: [] } });
}
