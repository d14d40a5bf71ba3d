import type { CatalogueEndpoint } from "./catalogue-body.js";

const isTime = (type: string | null): boolean => type !== null && /date|time/i.test(type);
const isNumber = (type: string | null): boolean =>
  type !== null && /int|float|double|decimal|numeric|real|money/i.test(type);

/**
 * The endpoint that shows a category alive: everybody may call it, it needs no parameter, and its rows are numbers by time, the
 * latest first; else one row of numbers. Null where there is none.
 */
export function liveEndpoint(endpoints: readonly CatalogueEndpoint[]): CatalogueEndpoint | null {
  const open = endpoints.filter(
    ({ callable, tier, require_any_of, deprecation_date, aggregate, own_rows, columns }) =>
      callable &&
      tier === "tier0" &&
      require_any_of.length === 0 &&
      deprecation_date === null &&
      aggregate === undefined &&
      own_rows === undefined &&
      columns.some(({ type }) => isNumber(type)) &&
      columns.every(({ type }) => isNumber(type) || isTime(type)),
  );
  const isLatestFirst = ({ sort, columns }: CatalogueEndpoint): boolean =>
    sort[0]?.[1] === "DESC" && columns.some(({ name, type }) => name === sort[0]?.[0] && isTime(type));
  return (
    open.find((each) => isLatestFirst(each) && each.granularity !== "hourly") ??
    open.find(({ sort, pagination }) => sort.length === 0 && pagination === null) ??
    null
  );
}
