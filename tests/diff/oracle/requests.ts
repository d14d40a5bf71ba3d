import { groupNames } from "../../../runtime/core/model/aggregate/aggregate.js";
import { operatorsOf } from "../../../runtime/core/model/column-operators.js";
import type { ColumnFilter, Endpoint, Parameter } from "../../../runtime/core/model/endpoint.js";
import type { ValueKind } from "../../../runtime/core/model/column-types.js";
import { operatorOf } from "../../../runtime/core/model/operators.js";
import type { StoredRow } from "./relations.js";

/** A request of one caller. */
export interface OracleRequest {
  readonly path: string;
  /** Null: without a key. */
  readonly tier: (typeof CALLERS)[number];
  readonly method: "GET" | "POST";
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
}

export const CALLERS = [null, "tier0", "tier1", "tier2", "tier3"] as const;

type Fields = OracleRequest["fields"];

/** Requests that callers of an endpoint may send: each filter with values that occur and that do not, pages, sorts, bodies. */
export function requestsTo(endpoint: Endpoint, rows: readonly StoredRow[]): readonly OracleRequest[] {
  const { path, parameters, methods, pagination, sortableFields, requireAnyOf } = endpoint;
  const declared = parameters.flatMap((parameter) =>
    valuesOf(parameter, endpoint, rows).map((value): Fields => ({ [parameter.name]: value })),
  );
  const filters = [...declared, ...columnFilters(endpoint, rows), ...expressionsOf(endpoint)];
  const needed = requireAnyOf.length > 0 ? requireAnyOf : parameters.map(({ name }) => name);
  const sufficient =
    endpoint.allowUnfiltered && requireAnyOf.length === 0
      ? [{}]
      : filters.filter((one) => needed.some((name) => name in one));
  const [first = {}] = sufficient;
  const more: Fields[] = [
    ...(pagination === null ? [] : [{ limit: String(pagination.maxLimit) }, { limit: "2", offset: "1" }]),
    ...choicesOf(endpoint),
    ...groupingsOf(endpoint),
    ...sortableFields.flatMap((field) => [{ sort_by: field }, { sort_by: field, sort_direction: "DESC" }]),
  ].map((fields) => ({ ...first, ...fields }));
  const all = [first, ...filters, ...filters.map((fields) => ({ ...first, ...fields })), ...more];
  const asOwner = distinct(all).map((fields): OracleRequest => ({
    path,
    tier: "tier3",
    method: "GET",
    fields,
  }));
  const asOthers = CALLERS.slice(0, -1).map((tier): OracleRequest => ({
    path,
    tier,
    method: "GET",
    fields: first,
  }));
  const others: OracleRequest[] = [
    { path: `${path}.csv`, tier: "tier3", method: "GET", fields: first },
    ...(methods.includes("POST") ? [{ path, tier: "tier3", method: "POST", fields: first } as const] : []),
  ];
  return [...asOwner, ...asOthers, ...others];
}

/** Each operator of a filtered column, with a value that occurs. */
function columnFilters({ filters = [] }: Endpoint, rows: readonly StoredRow[]): readonly Fields[] {
  return filters.flatMap(({ column, type }) => {
    const value = rows.map((row) => row[column]).find((one) => one != null) ?? "";
    return operatorsOf(type).map((operator) => ({
      [`${column}[${operator}]`]: operator === "null" ? "true" : value,
    }));
  });
}

/** An expression that needs OR for each filtered column, where conditions can be combined: true of each row. */
function expressionsOf({ filter, filters = [] }: Endpoint): readonly Fields[] {
  if (filter !== true) return [];
  return filters.map(({ column }) => ({ filter: `${column} eq null or ${column} ne null` }));
}

/** A choice of columns, where callers may choose: those that tell rows apart; and of old rows, where they may refuse them. */
function choicesOf({ fields, columns, requireFresh }: Endpoint): readonly Fields[] {
  const names = columns.map(({ name }) => name).filter((name) => ["id", "day"].includes(name));
  return [
    ...(fields === true && names.length > 0 ? [{ fields: names.join(",") }] : []),
    ...(requireFresh === true ? [{ require_fresh: "false" }] : []),
  ];
}

/** Whether a request asks for groups or totals. */
export function isGrouped({ fields }: OracleRequest): boolean {
  return "group_by" in fields || "measures" in fields;
}

/** Each name that `group_by` may have with all measures, and each measure as a total. */
function groupingsOf({ aggregate }: Endpoint): readonly Fields[] {
  const { measures = [] } = aggregate ?? {};
  const groups = new Set(measures.flatMap((measure) => groupNames(measure.groups)));
  return [
    ...[...groups].map((name) => ({ group_by: name })),
    ...measures.map(({ name }) => ({ measures: name })),
  ];
}

/** Ranges that hold all values of a filtered column's type; an open one alone is no filter. */
const WIDE: Partial<Record<ValueKind, readonly [from: string, to: string]>> = {
  integer: ["-1000000000", "1000000000"],
  number: ["-1000000000", "1000000000"],
  date: ["0001-01-01", "9999-12-31"],
};

function wideRange({ column, type }: ColumnFilter): readonly Fields[] {
  const range = WIDE[type];
  return range === undefined ? [] : [{ [`${column}[gte]`]: range[0], [`${column}[lte]`]: range[1] }];
}

/** Requests that need no knowledge of the data. */
export function probesOf(endpoint: Endpoint): readonly OracleRequest[] {
  const { path, parameters, filters: filtered = [], pagination } = endpoint;
  const limit = pagination === null ? {} : { limit: String(pagination.maxLimit) };
  const declared = parameters.flatMap((parameter): Fields[] => {
    const typed = "values" in parameter ? (parameter.values ?? []) : [];
    const values = {
      pattern: ["%"],
      day: ["0001-01-01", "9999-12-31"],
      typed,
      flag: [],
      text: [],
      numbers: [],
    };
    return values[operatorOf(parameter.operator).value].map((value) => ({ [parameter.name]: value }));
  });
  const filters = [...declared, ...filtered.flatMap(wideRange), ...groupingsOf(endpoint)];
  // Which tiers are let in does not depend on the filter.
  return CALLERS.flatMap((tier) =>
    (tier === null || tier === "tier3" ? [{}, ...filters] : [{}]).map((fields): OracleRequest => ({
      path,
      tier,
      method: "GET",
      fields: { ...limit, ...fields },
    })),
  );
}

function valuesOf(parameter: Parameter, { columns }: Endpoint, rows: readonly StoredRow[]) {
  const type = columns.find(({ name }) => name === parameter.column)?.type ?? "";
  const unknown = /^(?:integer|bigint|numeric|double|(?:Nullable\()?(?:U?Int|Decimal|Float))/.test(type)
    ? "40000"
    : "x".repeat(50);
  const stored = [
    ...new Set(rows.map((row) => row[parameter.column]).filter((value) => value != null)),
  ] as string[];
  const [first = "x", second = first] = stored;
  const known = [first, first.toUpperCase(), `${first},${second}`];
  const typed =
    parameter.type === "string_list"
      ? [...known, stored.slice(0, 5).join(","), stored.join(","), unknown]
      : [...known, second, "paid", unknown];
  const values = {
    typed,
    pattern: [first.slice(1, 4), "%"],
    day: ["0001-01-01", "2026-01-03", "9999-12-31"],
    flag: [],
    text: [],
    numbers: [],
  };
  return values[operatorOf(parameter.operator).value];
}

function distinct(all: readonly Fields[]): readonly Fields[] {
  return [...new Map(all.map((fields) => [JSON.stringify(fields), fields])).values()];
}
