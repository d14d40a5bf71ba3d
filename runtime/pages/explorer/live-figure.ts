import type { CatalogueEndpoint } from "../catalogue-body.js";
import { readText, sendRequest } from "./api.js";
import { measuresOf, namesOf, rolesOf } from "./chart-columns.js";
import { keepDigits, type ShownRow } from "./values.js";

/** The latest number of an endpoint, and those before it where it has them by time. */
export interface LiveFigure {
  readonly endpoint: CatalogueEndpoint;
  readonly column: string;
  readonly value: number;
  /** Day or time of the value; empty where the rows have none. */
  readonly at: string;
  /** From old to new; of one row empty. */
  readonly series: readonly number[];
}

/** Rows of a series at most. Reading stops there, and with it the query. */
const MAX_ROWS = 60;

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

/** Reads the figure with the tab's key; null where the rows have no number. */
export async function readFigure(endpoint: CatalogueEndpoint): Promise<LiveFigure | null> {
  const parameters = endpoint.pagination === null ? {} : { limit: [String(limitOf(endpoint))] };
  const rows = await firstRows(await sendRequest({ endpoint, parameters }, ".ndjson"));
  const table = { ...endpoint, rows };
  const roles = rolesOf(table);
  const [column] = measuresOf(table, roles);
  const [time = ""] = namesOf(roles, "time");
  const [first] = rows;
  if (column === undefined || first === undefined || first[column] === null) return null;
  const at = first[time];
  const isSeries = endpoint.sort.length > 0 && rows.length > 2;
  return {
    endpoint,
    column,
    value: Number(first[column]),
    at: typeof at === "string" ? at : "",
    series: isSeries
      ? rows
          .flatMap((row) => row[column] ?? [])
          .map(Number)
          .reverse()
      : [],
  };
}

const limitOf = ({ pagination }: CatalogueEndpoint): number =>
  Math.min(MAX_ROWS, pagination?.max_limit ?? MAX_ROWS);

async function firstRows(response: Response): Promise<readonly ShownRow[]> {
  let text = "";
  await readText(response, (piece) => {
    text += piece;
    return text.split("\n").length <= MAX_ROWS;
  });
  const isWhole = (line: string): boolean => line.startsWith("{") && line.endsWith("}");
  const lines = text.split("\n").filter(isWhole).slice(0, MAX_ROWS);
  return lines.map((line) => JSON.parse(line, keepDigits) as ShownRow);
}
