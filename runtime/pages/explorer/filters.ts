import type { CatalogueEndpoint } from "../catalogue-body.js";
import { type ApiRequest, type Parameters, withoutPage } from "./api-request.js";
import { asksGroups } from "./asked-groups.js";
import { groupFilters, resultFilters } from "./result-filters.js";
import { ExactNumber, textOf } from "./values.js";
import { DEFAULT_MAX_LENGTH } from "../../core/model/limits.js";
import { ownValue } from "../../core/model/own-value.js";

/** A parameter of an endpoint that compares a column. */
interface ComparingParameter {
  readonly name: string;
  readonly column: string;
  readonly sign: string;
}

/** Signs of the operators, of parameters and of `column[operator]`. */
const SIGNS: Readonly<Record<string, string>> = {
  ...{ "=": "=", eq: "=", ne: "≠", gt: ">", gte: "≥", lt: "<", lte: "≤" },
  ...{ ">=": "≥", "<=": "≤", IN: "in", in: "in", ILIKE: "contains", null: "is null:" },
};

/** Comparisons in words, by their sign. */
const WORDS: Readonly<Record<string, string>> = {
  ...{ "=": "is", "≠": "is not", ">": "more than", "≥": "at least", "<": "less than", "≤": "at most" },
  ...{ in: "is one of", contains: "contains", "is null:": "is null" },
};

/** An operator in words, such as `at least`. */
export function operatorInWords(operator: string): string {
  const sign = signOf(operator);
  return ownValue(WORDS, sign) ?? sign;
}

/** What the parameters select, in words: `region is north`. */
export function filtersInWords(request: ApiRequest): ReadonlyMap<string, string> {
  const all = [...comparisonsOf(request), ...resultFilters(request).flatMap(comparingParameters)];
  const comparisons = new Map(all.map((each) => [each.name, each]));
  return new Map(
    Object.entries(onlyFilters(request.parameters)).map(([name, values]) => {
      const { column = name, sign = "=" } = comparisons.get(name) ?? {};
      if (request.endpoint.filter === true && name === "filter") return [name, values.join(" and ")];
      if (sign === "is null:") return [name, `${column} is ${values[0] === "false" ? "not " : ""}null`];
      return [name, `${column} ${operatorInWords(sign)} ${values.join(", ")}`];
    }),
  );
}

export function comparisonsOf({ endpoint, parameters }: ApiRequest): readonly ComparingParameter[] {
  const { aggregate } = endpoint;
  const isGrouped = asksGroups({ endpoint, parameters });
  const filters = isGrouped
    ? aggregate?.is_saved === false
      ? aggregate.filters
      : []
    : (endpoint.filters ?? []);
  return [
    ...(endpoint.parameters ?? []).map(({ name, column, operator }) => ({
      name,
      column,
      sign: signOf(operator),
    })),
    ...filters.flatMap(comparingParameters),
  ];
}

const signOf = (operator: string): string => ownValue(SIGNS, operator) ?? operator;

function comparingParameters({
  column,
  operators,
}: {
  readonly column: string;
  readonly operators: readonly string[];
}): readonly ComparingParameter[] {
  return operators.map((operator) => ({ name: `${column}[${operator}]`, column, sign: signOf(operator) }));
}

/** The parameters that select the rows with a value of a column; null where the endpoint cannot. */
export function filterBy(request: ApiRequest, column: string, value: unknown): Parameters | null {
  if (typeof value === "object" && value !== null && !(value instanceof ExactNumber)) return null;
  const isNull = value === null || value === undefined;
  const text = isNull ? "true" : textOf(value);
  // The service trims values, and takes an empty one for none.
  if (text === "" || text !== text.trim() || text.length > DEFAULT_MAX_LENGTH) return null;
  const own = comparisonsOf(request).filter((each) => each.column === column);
  const others = withoutPage(request.parameters);
  const named = (sign: string) => own.find((each) => each.sign === sign)?.name;
  const name = isNull
    ? named("is null:")
    : (named("=") ??
      (text.includes(",") ? undefined : named("in")) ??
      (text.includes("%") ? undefined : named("contains")));
  if (name !== undefined) return { ...others, [name]: [text] };
  const [from, to] = [named("≥"), named("≤")];
  if (isNull || from === undefined || to === undefined || !isDay(request.endpoint, column)) return null;
  return { ...others, [from]: [text], [to]: [text] };
}

/** Whether the values of a column are days, so that two bounds select one. */
function isDay({ columns }: CatalogueEndpoint, column: string): boolean {
  const type = columns.find(({ name }) => name === column)?.type ?? "";
  return /^(nullable\()?date(32)?\)?( null)?$/i.test(type);
}

/** The request's parameters without those that compare a column. */
export function withoutColumn(request: ApiRequest, column: string): Parameters {
  const names = new Set(
    comparisonsOf(request)
      .filter((each) => each.column === column)
      .map(({ name }) => name),
  );
  return without(request.parameters, (name) => names.has(name));
}

/** Whether the parameters have one of the filters that the endpoint requires. */
export function hasRequired({ require_any_of }: CatalogueEndpoint, parameters: Parameters): boolean {
  const given = Object.keys(parameters);
  const isGiven = (name: string) => given.some((each) => each === name || each.startsWith(`${name}[`));
  return require_any_of.length === 0 || require_any_of.some(isGiven);
}

/** Parameters that select no rows: what is shown of them, and in which order. */
const NO_FILTER =
  /^(limit|offset|cursor|fields|require_fresh|sort_by|sort_direction|group_by|measures|metrics)$/;

/** The parameters that decide which rows there are on all pages. */
export function rowsOf(parameters: Parameters): Parameters {
  return without(parameters, (name) => /^(limit|offset|cursor|fields|sort_by|sort_direction)$/.test(name));
}

/** The parameters of a request that select rows. */
export function onlyFilters(parameters: Parameters): Parameters {
  return without(parameters, (name) => NO_FILTER.test(name));
}

/** The same without what holds for groups alone: what lists of values are read with. */
export function rowFilters(request: ApiRequest): Parameters {
  return without(onlyFilters(request.parameters), groupFilters(request));
}

/** The first page in the endpoint's own order. */
export function withoutSort(parameters: Parameters): Parameters {
  return without(withoutPage(parameters), (name) => /^sort_(by|direction)$/.test(name));
}

/** The parameters without some. */
export function without(parameters: Parameters, isLeftOut: (name: string) => boolean): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !isLeftOut(name)));
}
