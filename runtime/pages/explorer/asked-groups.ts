import type { CatalogueEndpoint } from "../catalogue-body.js";
import { type ApiRequest, type Parameters, valuesOf } from "./api-request.js";
import { splitList } from "./values.js";

/** The names that a list of a request has. */
export function asked(parameters: Parameters, name: string): readonly string[] {
  return valuesOf(parameters, name).flatMap(splitList);
}

/** Whether the rows of an answer are groups. */
export function asksGroups({ endpoint: { aggregate }, parameters }: ApiRequest): boolean {
  if (aggregate === undefined) return false;
  if (!aggregate.rows || aggregate.is_saved) return true;
  return [...asked(parameters, "group_by"), ...asked(parameters, aggregate.of)].length > 0;
}

/** The parameters that chips choose; a form leaves them as they are. */
export function chosenByChips({ aggregate }: CatalogueEndpoint): readonly string[] {
  return aggregate === undefined || aggregate.is_saved ? [] : ["group_by", aggregate.of];
}

/** Names that the answer is sorted by: the groups and measures that are asked. */
export function sortsOf({ endpoint, parameters }: ApiRequest): readonly string[] {
  const { aggregate } = endpoint;
  if (aggregate === undefined || !asksGroups({ endpoint, parameters })) return endpoint.sortable_fields;
  if (aggregate.is_saved) return [];
  return [...asked(parameters, "group_by"), ...askedMeasures({ endpoint, parameters })];
}

/** The measures that are asked: all, where none is named. */
export function askedMeasures({ endpoint: { aggregate }, parameters }: ApiRequest): readonly string[] {
  if (aggregate === undefined) return [];
  const names = asked(parameters, aggregate.of);
  return names.length > 0 ? names : aggregate.measures.map(({ name }) => name);
}

/** What changes the rows of groups. */
export const GROUP_OPTIONS: readonly string[] = ["top", "other", "totals", "compare"];

/** The request for groups alone: a chart would draw totals beside what they are of. */
export function withoutTotals(request: ApiRequest): ApiRequest {
  const { totals, other, ...parameters } = request.parameters;
  const isOption = asksGroups(request) && (totals ?? other) !== undefined;
  return isOption ? { ...request, parameters } : request;
}

/** Whether callers may bound the time of all metrics. */
export function hasRange({ aggregate }: CatalogueEndpoint): boolean {
  return (
    aggregate?.of === "metrics" && aggregate.measures.every(({ groups }) => groups.includes("metric_time"))
  );
}
