import type { CatalogueEndpoint } from "../catalogue-body.js";
import { headlineEndpoints } from "../live-endpoint.js";
import { fetchFiguresText } from "./api.js";
import { measuresOf, namesOf, rolesOf } from "./chart-columns.js";
import { ownValue } from "../../core/model/own-value.js";
import { keepDigits, type ShownRow, textOf } from "./values.js";

/** The latest number of an endpoint, and those before it where it has them by time. */
export interface LiveFigure {
  readonly endpoint: CatalogueEndpoint;
  readonly column: string;
  readonly value: number;
  /** The value with all its digits. */
  readonly digits: string;
  /** Day or time of the value; empty where the rows have none. */
  readonly at: string;
  /** Day or time of the row before it; empty where there is none. */
  readonly before: string;
  /** In percent, as the row itself says it (`change_pct`); null where it does not. */
  readonly change: number | null;
  /** From old to new; of one row empty. */
  readonly series: readonly number[];
}

/** Rows by path: one document for everybody, made once per build, which costs no caller a request. */
interface PublishedFigures {
  readonly figures: Readonly<Record<string, readonly ShownRow[] | undefined>>;
  /** What the operator chose; `rows`: the name of its rows. */
  readonly headline: readonly { readonly path: string; readonly column: string; readonly rows: string }[];
}

let reading: Promise<PublishedFigures> | null = null;
const read = (): Promise<PublishedFigures> => (reading ??= fetchFigures());

/** Reads the figure; null where the rows have no number. */
export async function readFigure(endpoint: CatalogueEndpoint): Promise<LiveFigure | null> {
  const { figures } = await read();
  return figureOf(endpoint, ownValue(figures, endpoint.path) ?? []);
}

/** The operator's numbers; without them some that everybody may read. */
export async function readHeadline(endpoints: readonly CatalogueEndpoint[]): Promise<readonly LiveFigure[]> {
  const { figures, headline } = await read();
  const at = (path: string) => endpoints.find((each) => each.path === path);
  const chosen = headline.flatMap(({ path, column, rows }) => {
    const endpoint = at(path);
    return endpoint === undefined ? [] : (figureOf(endpoint, ownValue(figures, rows) ?? [], column) ?? []);
  });
  if (chosen.length > 0) return chosen;
  return headlineEndpoints(endpoints).flatMap(
    (endpoint) => figureOf(endpoint, ownValue(figures, endpoint.path) ?? []) ?? [],
  );
}

function figureOf(
  endpoint: CatalogueEndpoint,
  rows: readonly ShownRow[],
  wanted: string | null = null,
): LiveFigure | null {
  const table = { ...endpoint, rows };
  const roles = rolesOf(table);
  const column = wanted ?? measuresOf(table, roles)[0];
  const [time = ""] = namesOf(roles, "time");
  const [first] = rows;
  if (column === undefined || first?.[column] == null) return null;
  const textAt = (row: ShownRow | undefined): string => {
    const at = row?.[time];
    return typeof at === "string" ? at : "";
  };
  const isSeries = endpoint.sort.length > 0 && rows.length > 2;
  return {
    endpoint,
    column,
    value: Number(first[column]),
    digits: textOf(first[column]),
    at: textAt(first),
    before: textAt(rows[1]),
    change: typeof first["change_pct"] === "number" ? first["change_pct"] : null,
    series: isSeries
      ? rows
          .flatMap((row) => row[column] ?? [])
          .map(Number)
          .reverse()
      : [],
  };
}

async function fetchFigures(): Promise<PublishedFigures> {
  const text = await fetchFiguresText().catch((error: unknown) => {
    // The next one tries again.
    reading = null;
    throw error;
  });
  return JSON.parse(text, keepDigits) as PublishedFigures;
}
