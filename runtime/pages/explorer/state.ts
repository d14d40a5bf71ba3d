import type { ChartState } from "./chart-choice.js";
import { type Parameters, parametersOf } from "./api-request.js";

/** The state of the page, kept in its address: a link opens the page in the same state. */
export interface State {
  readonly search: string;
  readonly category: string;
  readonly tier: string;
  /** Path of the endpoint. */
  readonly endpoint: string;
  readonly parameters: Parameters;
  readonly view: "table" | "chart" | "json";
  readonly chart: ChartState;
}

/** The request and chart of a newly opened endpoint. */
export const NO_REQUEST = {
  parameters: {},
  chart: { x: "", y: "", series: "", only: "" },
} as const;

/** Texts in the address. */
const NAMES = {
  search: "q",
  category: "category",
  tier: "tier",
  endpoint: "endpoint",
} as const;

const CHART_NAMES = { x: "x", y: "y", series: "series", only: "only" } as const;

/** Parameters of an endpoint, apart from the page's own. */
const PREFIX = "p.";

export function readState(query: string): State {
  const fields = new URLSearchParams(query);
  const text = (name: string): string => fields.get(name) ?? "";
  const texts = <Name extends string>(names: Readonly<Record<Name, string>>) =>
    Object.fromEntries(Object.entries<string>(names).map(([key, name]) => [key, text(name)])) as Readonly<
      Record<Name, string>
    >;
  const parameters = [...fields].flatMap(([name, value]) =>
    name.startsWith(PREFIX) ? [[name.slice(PREFIX.length), value] as const] : [],
  );
  return {
    ...texts(NAMES),
    parameters: parametersOf(parameters),
    view: oneOf(text("view"), ["table", "chart", "json"]),
    chart: texts(CHART_NAMES),
  };
}

export function writeState(state: State): string {
  const { parameters, view, chart } = state;
  const fields = new URLSearchParams();
  const set = (name: string, value: string): void => {
    if (value !== "") fields.append(name, value);
  };
  for (const [key, name] of Object.entries(NAMES)) set(name, state[key as keyof typeof NAMES]);
  for (const [name, values] of Object.entries(parameters))
    for (const value of values) set(PREFIX + name, value);
  if (view !== "table") set("view", view);
  if (view === "chart")
    for (const [key, name] of Object.entries(CHART_NAMES)) set(name, chart[key as keyof typeof CHART_NAMES]);
  const text = fields.toString();
  return text === "" ? location.pathname : `?${text}`;
}

/** The address of a chart alone. */
export function embedQuery(endpoint: string, parameters: Parameters, chart: ChartState): string {
  const fields = new URLSearchParams({ endpoint });
  for (const [name, values] of Object.entries(parameters))
    for (const value of values) fields.append(PREFIX + name, value);
  for (const [key, name] of Object.entries(CHART_NAMES)) {
    const value = chart[key as keyof typeof CHART_NAMES];
    if (value !== "") fields.append(name, value);
  }
  return fields.toString();
}

function oneOf<T extends string>(text: string, known: readonly [T, ...T[]]): T {
  return known.find((each) => each === text) ?? known[0];
}
