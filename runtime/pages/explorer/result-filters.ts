import type { CatalogueEndpoint } from "../catalogue-body.js";
import { operatorsOf } from "../../core/model/column-operators.js";
import { type ApiRequest, type Parameters, valuesOf } from "./api-request.js";
import { askedMeasures, asksGroups, GROUP_OPTIONS } from "./asked-groups.js";

/** Equality is seldom what results are compared by. */
const OPERATORS: readonly string[] = ["gte", ...operatorsOf("number").filter((name) => name !== "gte")];

/** The measures whose results a request may compare: those that it asks. */
export function resultFilters(request: ApiRequest) {
  const { aggregate } = request.endpoint;
  if (aggregate?.is_saved !== false || !asksGroups(request)) return [];
  const named = new Set(compared(aggregate));
  return askedMeasures(request)
    .filter((name) => named.has(name))
    .map((column) => ({ column, operators: OPERATORS }));
}

/** A name that filters of rows have means those. */
function compared({ measures, filters }: NonNullable<CatalogueEndpoint["aggregate"]>): readonly string[] {
  const columns = new Set(filters.map(({ column }) => column));
  return measures.map(({ name }) => name).filter((name) => !columns.has(name));
}

/** Finds what selects no rows: options of groups, and conditions on their results. A `filter` that has one counts as a whole. */
export function groupFilters(request: ApiRequest): (name: string) => boolean {
  if (!asksGroups(request)) return () => false;
  const results = resultFilters(request);
  const words = valuesOf(request.parameters, "filter").flatMap((text) => text.match(WORDS) ?? []);
  const isInText = request.endpoint.filter === true && results.some(({ column }) => words.includes(column));
  const names = new Set([
    ...GROUP_OPTIONS,
    ...results.flatMap(({ column, operators }) => operators.map((operator) => `${column}[${operator}]`)),
    ...(isInText ? ["filter"] : []),
  ]);
  return (name) => names.has(name);
}

/** Texts, quoted names, and names outside of them; none of functions. */
const WORDS = /'[^']*'|"[^"]*"|[\p{L}_][\p{L}\p{N}_.]*(?![\p{L}\p{N}_.]|\s*\()/gu;

/** The parameters without conditions on results that the request does not ask any more. */
export function withoutOldResults(request: ApiRequest): Parameters {
  const { endpoint, parameters } = request;
  if (endpoint.aggregate === undefined) return parameters;
  const asked = new Set(resultFilters(request).map(({ column }) => column));
  const old = compared(endpoint.aggregate).filter((name) => !asked.has(name));
  const names = new Set(old.flatMap((name) => OPERATORS.map((operator) => `${name}[${operator}]`)));
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.has(name)));
}
