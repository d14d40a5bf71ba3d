import { GROUP_PAGES } from "../../core/model/aggregate/group-options.js";
import type { CatalogueEndpoint } from "../../pages/catalogue-body.js";
import type { Arguments, ToolParameters } from "./tools.js";

const PAGINATION = {
  default_limit: GROUP_PAGES.defaultLimit,
  max_limit: GROUP_PAGES.maxLimit,
  response: GROUP_PAGES.response,
} as const;

/** What `query_metrics` asks of an endpoint, as a query of it. */
export function groupsRequest(
  endpoint: CatalogueEndpoint,
  aggregate: NonNullable<CatalogueEndpoint["aggregate"]>,
  { measures = [], group_by: groups = [], filters = {}, ...args }: Arguments,
): readonly [CatalogueEndpoint, Arguments] {
  const { start_date, end_date, sort_by, sort_direction, top, other, totals, compare, ...rest } = args;
  const named = { start_date, end_date, sort_by, sort_direction, top, other, totals, compare };
  const own = Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  // Without any an endpoint of rows would answer with them.
  const isOpen = measures.length === 0 && !aggregate.is_saved;
  const asked = isOpen ? aggregate.measures.map(({ name }) => name) : measures;
  const parameters: ToolParameters = {
    ...filters,
    ...Object.fromEntries(own),
    ...(asked.length > 0 && { [aggregate.of]: asked }),
    ...(groups.length > 0 && { group_by: groups }),
  };
  return [
    { ...endpoint, pagination: endpoint.pagination ?? PAGINATION },
    { ...rest, parameters },
  ];
}
