import type { CatalogueEndpoint } from "../catalogue-body.js";
import { fetchFiguresText } from "./api.js";
import { measuresOf, namesOf, rolesOf } from "./chart-columns.js";
import { ownValue } from "../../core/model/own-value.js";
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

/** Rows by path: one document for everybody, made once per build, which costs no caller a request. */
type FigureRows = Readonly<Record<string, readonly ShownRow[] | undefined>>;

let reading: Promise<FigureRows> | null = null;

/** Reads the figure; null where the rows have no number. */
export async function readFigure(endpoint: CatalogueEndpoint): Promise<LiveFigure | null> {
  reading ??= fetchFigures();
  const rows = ownValue(await reading, endpoint.path) ?? [];
  const table = { ...endpoint, rows };
  const roles = rolesOf(table);
  const [column] = measuresOf(table, roles);
  const [time = ""] = namesOf(roles, "time");
  const [first] = rows;
  if (column === undefined || first?.[column] == null) return null;
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

async function fetchFigures(): Promise<FigureRows> {
  const text = await fetchFiguresText().catch((error: unknown) => {
    // The next one tries again.
    reading = null;
    throw error;
  });
  return (JSON.parse(text, keepDigits) as { readonly figures: FigureRows }).figures;
}
