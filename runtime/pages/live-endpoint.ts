import type { HeadlineFigure } from "../core/model/about.js";
import { groupedBy } from "../core/model/grouped.js";
import type { CatalogueEndpoint } from "./catalogue-body.js";

const isTime = (type: string | null): boolean => type !== null && /date|time/i.test(type);
const isNumber = (type: string | null): boolean =>
  type !== null && /int|float|double|decimal|numeric|real|money/i.test(type);

/**
 * The endpoint that shows a category alive: everybody may call it, it needs no parameter, and its rows are numbers by time, the
 * latest first; else one row of numbers. Null where there is none.
 */
export function liveEndpoint(endpoints: readonly CatalogueEndpoint[]): CatalogueEndpoint | null {
  return liveEndpoints(endpoints)[0] ?? null;
}

/** Those whose numbers the first page begins with, where the operator chooses none: of different resources. */
export function headlineEndpoints(endpoints: readonly CatalogueEndpoint[]): readonly CatalogueEndpoint[] {
  const byResource = new Map<string, CatalogueEndpoint>();
  for (const each of liveEndpoints(endpoints)) {
    const { category, resource } = each;
    const name = `${category}/${resource}`;
    if (!byResource.has(name)) byResource.set(name, each);
  }
  return [...byResource.values()].slice(0, 3);
}

function liveEndpoints(endpoints: readonly CatalogueEndpoint[]): readonly CatalogueEndpoint[] {
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
  const single = open.filter(({ sort, pagination }) => sort.length === 0 && pagination === null);
  return [
    ...open.filter((each) => isLatestFirst(each) && each.granularity !== "hourly"),
    ...single.filter(saysChange),
    ...single.filter((each) => !saysChange(each)),
  ];
}

/** Whether its row says how its number has changed. */
const saysChange = ({ columns }: CatalogueEndpoint): boolean =>
  columns.some(({ name }) => name === "change_pct");

/** Where a figure's rows are read: the path with its parameters. */
export function figureAddress({ path, parameters = {} }: HeadlineFigure): string {
  const query = new URLSearchParams(parameters).toString();
  return query === "" ? path : `${path}?${query}`;
}

/** Whose rows the first page shows: the numbers that it begins with, and one of each category. */
export function figureAddresses(
  endpoints: readonly CatalogueEndpoint[],
  chosen: readonly HeadlineFigure[],
): ReadonlySet<string> {
  const headline =
    chosen.length > 0 ? chosen.map(figureAddress) : headlineEndpoints(endpoints).map(({ path }) => path);
  const categories = groupedBy(endpoints, ({ category }) => category);
  const live = [...categories.values()].flatMap((each) => liveEndpoint(each)?.path ?? []);
  return new Set([...headline, ...live]);
}
