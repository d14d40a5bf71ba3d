import type { CatalogueColumn, CatalogueEndpoint } from "../catalogue-body.js";
import { type ApiRequest, type Parameters, valuesOf, withoutPage } from "./api.js";
import { button, el } from "./dom.js";
import { splitList, type ShownRow } from "./values.js";

type EndpointAggregate = NonNullable<CatalogueEndpoint["aggregate"]>;

/** The names that a list of a request has. */
function asked(parameters: Parameters, name: string): readonly string[] {
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

/** Measures, groups and grains, one button each, which a click asks for or leaves out; null where there is no choice. */
export function groupingChips(
  request: ApiRequest,
  change: (parameters: Parameters) => void,
): HTMLElement | null {
  const { aggregate } = request.endpoint;
  if (aggregate === undefined || aggregate.is_saved) return null;
  const { of, measures, groups } = aggregate;
  const choose = (name: string, list: readonly string[]): void => {
    // A sort may be by what is no longer asked.
    const others = without(withoutPage(request.parameters), [
      ...[name, "sort_by", "sort_direction"],
      ...GROUP_OPTIONS,
    ]);
    change(list.length === 0 ? others : { ...others, [name]: [list.join(",")] });
  };
  const chips = new Chips(request.parameters, choose);
  const possible = possibleGroups(aggregate, asked(request.parameters, of));
  const times = groups.filter(({ grains }) => grains !== undefined);
  const plain = groups.filter(({ grains }) => grains === undefined);
  return el(
    "div.grouping",
    line(
      of === "metrics" ? "Metrics" : "Measures",
      measures.map(({ name, label, description }) =>
        chips.chip(of, name, name, [label ?? "", description].filter((text) => text !== "").join(": ")),
      ),
    ),
    plain.length > 0 &&
      line(
        "Group by",
        plain.map(({ name }) => chips.chip("group_by", name, name, "", possible.has(name))),
      ),
    ...times.map(({ name, grains = [] }) =>
      line(
        name,
        grains.map((grain) => chips.chip("group_by", `${name}__${grain}`, grain, "", possible.has(name))),
      ),
    ),
  );
}

function without(parameters: Parameters, names: readonly string[]): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.includes(name)));
}

/** Groups that all measures asked have. */
function possibleGroups({ measures }: EndpointAggregate, names: readonly string[]): ReadonlySet<string> {
  const chosen = measures.filter(({ name }) => names.length === 0 || names.includes(name));
  const [first, ...others] = chosen.map(({ groups }) => new Set(groups));
  return new Set([...(first ?? [])].filter((name) => others.every((each) => each.has(name))));
}

function line(label: string, chips: readonly HTMLElement[]): HTMLElement {
  return el(
    "div.chips",
    { role: "group", "aria-label": label },
    el("span.chips-label", { "aria-hidden": "true" }, label),
    el("div.chips-list", ...chips),
  );
}

class Chips {
  readonly #parameters: Parameters;
  readonly #choose: (name: string, list: readonly string[]) => void;

  constructor(parameters: Parameters, choose: (name: string, list: readonly string[]) => void) {
    this.#parameters = parameters;
    this.#choose = choose;
  }

  /** A group that is asked can always be left out. */
  chip(parameter: string, name: string, text: string, about: string, isPossible = true): HTMLButtonElement {
    const list = asked(this.#parameters, parameter);
    const isAsked = list.includes(name);
    return button(
      text,
      () => this.#choose(parameter, isAsked ? list.filter((each) => each !== name) : [...list, name]),
      {
        "aria-pressed": isAsked ? "true" : "false",
        "data-chip": `${parameter} ${name}`,
        title: about === "" ? null : about,
        disabled: !isPossible && !isAsked,
      },
    );
  }
}

/** The columns of an answer: of groups those that are asked, as charts take them. */
export function answeredColumns(
  { endpoint, parameters }: ApiRequest,
  rows: readonly ShownRow[],
): readonly Pick<CatalogueColumn, "name" | "type">[] {
  const { aggregate, columns } = endpoint;
  if (aggregate === undefined || !asksGroups({ endpoint, parameters })) return columns;
  const measures = new Set(aggregate.measures.map(({ name }) => name));
  const grained = /__(microsecond|millisecond|second|minute|hour|day|week|month|quarter|year)$/;
  const isTime = (name: string): boolean =>
    grained.test(name) || aggregate.groups.some((group) => group.name === name && group.grains !== undefined);
  return Object.keys(rows[0] ?? {}).map((name) => ({
    name,
    type: measures.has(name) ? "numeric" : isTime(name) ? "timestamp" : "text",
  }));
}
