import type { CatalogueColumn, CatalogueEndpoint } from "../catalogue-body.js";
import { type ApiRequest, type Parameters, withoutPage } from "./api-request.js";
import { asked, asksGroups, GROUP_OPTIONS } from "./asked-groups.js";
import { button, el } from "./dom.js";
import type { ShownRow } from "./values.js";

type EndpointAggregate = NonNullable<CatalogueEndpoint["aggregate"]>;

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
