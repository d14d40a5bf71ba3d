import type { Method } from "../../model/endpoint.js";
import { type Parameters, parametersOf } from "./api.js";

/** The state of the page, kept in its address: a link opens the page in the same state. */
export interface State {
  readonly search: string;
  readonly category: string;
  readonly tier: string;
  /** Maximum days since the last build; empty: any. */
  readonly fresh: string;
  /** Path of the endpoint. */
  readonly endpoint: string;
  readonly method: Method;
  readonly parameters: Parameters;
  readonly view: "table" | "chart" | "json";
  readonly chart: ChartState;
}

/** How rows of one point become one value. */
export const AGGREGATES = ["sum", "average", "last", "count"] as const;
export type Aggregate = (typeof AGGREGATES)[number];

export interface ChartState {
  /** Empty: a line along a time, else bars. */
  readonly kind: "line" | "bar" | "area" | "";
  /** Columns; empty: chosen by type. Several of `y` are separated by commas. */
  readonly x: string;
  readonly y: string;
  /** What rows of one point become; empty: by the column. */
  readonly aggregate: Aggregate | "";
  /** A column with one series per value; `-`: none. */
  readonly series: string;
}

/** The request and chart of a newly opened endpoint. */
export const NO_REQUEST = {
  method: "GET",
  parameters: {},
  chart: { kind: "", x: "", y: "", aggregate: "", series: "" },
} as const;

const NAMES = {
  search: "q",
  category: "category",
  tier: "tier",
  fresh: "fresh",
  endpoint: "endpoint",
} as const;

/** Parameters of an endpoint, apart from the page's own. */
const PREFIX = "p.";

export function readState(query: string): State {
  const fields = new URLSearchParams(query);
  const text = (name: string): string => fields.get(name) ?? "";
  const parameters = [...fields].flatMap(([name, value]) =>
    name.startsWith(PREFIX) ? [[name.slice(PREFIX.length), value] as const] : [],
  );
  return {
    search: text(NAMES.search),
    category: text(NAMES.category),
    tier: text(NAMES.tier),
    fresh: text(NAMES.fresh),
    endpoint: text(NAMES.endpoint),
    method: oneOf(text("method"), ["GET", "POST"]),
    parameters: parametersOf(parameters),
    view: oneOf(text("view"), ["table", "chart", "json"]),
    chart: {
      kind: oneOf(text("chart"), ["", "line", "bar", "area"]),
      aggregate: oneOf(text("aggregate"), ["", ...AGGREGATES]),
      x: text("x"),
      y: text("y"),
      series: text("series"),
    },
  };
}

export function writeState({ method, parameters, view, chart, ...plain }: State): string {
  const fields = new URLSearchParams();
  for (const [key, name] of Object.entries(NAMES)) {
    const value = plain[key as keyof typeof NAMES];
    if (value !== "") fields.set(name, value);
  }
  if (method !== "GET") fields.set("method", method);
  for (const [name, values] of Object.entries(parameters))
    for (const value of values) if (value !== "") fields.append(PREFIX + name, value);
  if (view !== "table") fields.set("view", view);
  if (view === "chart") {
    for (const [name, value] of Object.entries({
      chart: chart.kind,
      x: chart.x,
      y: chart.y,
      aggregate: chart.aggregate,
      series: chart.series,
    }))
      if (value !== "") fields.set(name, value);
  }
  const text = fields.toString();
  return text === "" ? location.pathname : `?${text}`;
}

function oneOf<T extends string>(text: string, known: readonly [T, ...T[]]): T {
  return known.find((each) => each === text) ?? known[0];
}
