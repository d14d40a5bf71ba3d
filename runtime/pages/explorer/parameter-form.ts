import type { CatalogueEndpoint, CatalogueParameter } from "../catalogue-body.js";
import { type ApiRequest, type Parameters, parametersOf, valuesOf } from "./api-request.js";
import { type Child, el, prose } from "./dom.js";
import { operatorInWords } from "./filters.js";
import { asksGroups, chosenByChips, hasRange, sortsOf } from "./asked-groups.js";
import { NO_PARAMETERS } from "./overview.js";
import { resultFilters } from "./result-filters.js";
import { filterName } from "../../core/model/filter-text.js";
import { operatorOf } from "../../core/model/operators.js";
import { suggestions } from "./suggested-values.js";
import { splitList } from "./values.js";

/** A form with an input for each parameter. `send` is called with the values. */
export function parameterForm(request: ApiRequest, send: (parameters: Parameters) => void): HTMLFormElement {
  const { endpoint, parameters } = request;
  const { aggregate } = endpoint;
  const inputs = [
    ...(endpoint.parameters ?? []).map((parameter) => parameterInput(request, parameter)),
    ...(endpoint.filters ?? []).flatMap((filter) => filterInputs(filter, request)),
    ...(hasRange(endpoint) ? rangeInputs(parameters) : []),
    ...(aggregate?.is_saved === false
      ? aggregate.filters.flatMap((filter) => filterInputs(filter, request))
      : []),
    ...resultFilters(request).flatMap((filter) => conditionInputs(filter, parameters, ofResults)),
    ...(endpoint.fields ? [fieldsInput(parameters)] : []),
    ...(endpoint.require_fresh ? [freshInput(parameters)] : []),
    ...pageInputs(endpoint, sortsOf(request), parameters),
    ...groupInputs(request),
  ];
  const form = el(
    "form.try",
    {
      submit: (event: SubmitEvent) => {
        event.preventDefault();
        send(readForm(form, request));
      },
    },
    ...chosenByChips(endpoint).flatMap((name) =>
      valuesOf(parameters, name).map((value) => el("input", { type: "hidden", name, value })),
    ),
    inputs.length === 0
      ? el("p.note", NO_PARAMETERS)
      : el("div.inputs", ...inputs.slice(0, inputs.length > MAX_SHOWN ? FIRST : MAX_SHOWN)),
    inputs.length > MAX_SHOWN && moreInputs(inputs.slice(FIRST)),
    endpoint.filter === true && expressionPart(request),
    endpoint.own_rows !== undefined &&
      el("p.note", `Serves the rows whose ${endpoint.own_rows.column} is your key's organization.`),
    endpoint.require_any_of.length > 0 &&
      el("p.note", `At least one of these is required: ${endpoint.require_any_of.join(", ")}.`),
    el(
      "div.actions",
      el("button.primary", { type: "submit" }, "Run"),
      inputs.length > 0 && el("button", { type: "button", click: () => clear(form) }, "Clear"),
    ),
  );
  return form;
}

/** Inputs of a form that shows all; of a longer one the first are shown. */
const MAX_SHOWN = 8;
const FIRST = 5;

/** The rest of a long form, open where one of them has a value. */
function moreInputs(inputs: readonly HTMLElement[]): HTMLElement {
  const isUsed = inputs.some((input) => [...inputsOf(input)].some(({ value }) => value !== ""));
  return el(
    "details.more",
    { open: isUsed },
    el("summary", `${String(inputs.length)} more parameters`),
    el("div.inputs", ...inputs),
  );
}

/** Empties the form; nothing is sent. */
function clear(form: HTMLFormElement): void {
  for (const input of inputsOf(form)) {
    if (input.type === "hidden") continue;
    input.value = "";
    input.dispatchEvent(new Event("change"));
  }
}

function inputsOf(form: HTMLElement) {
  return form.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[name]");
}

/** Shows an error of the service at the field that it names, if there is one. */
export function markField(form: HTMLElement, message: string): void {
  for (const input of inputsOf(form)) {
    const isNamed =
      message.startsWith(`Parameter '${input.name}' `) || message.startsWith(`'${input.name}' `);
    if (isNamed) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    const about = input.closest(".input")?.querySelector(".field-error");
    if (!isNamed) about?.remove();
    else if (about) about.textContent = message;
    else input.after(el("strong.field-error", message));
  }
}

/** The values of the form; a list has several. */
function readForm(form: HTMLFormElement, { endpoint }: ApiRequest): Parameters {
  const inputs = new Map(endpoint.parameters?.map((parameter) => [parameter.name, inputOf(parameter)]));
  const pairs: (readonly [string, string])[] = [];
  for (const [name, value] of new FormData(form)) {
    const text = typeof value === "string" ? value.trim() : "";
    const values = inputs.get(name) === "commas" ? splitList(text) : [text];
    for (const each of values) if (each !== "") pairs.push([name, each]);
  }
  return parametersOf(pairs);
}

type Input = "choice" | "choices" | "text" | "commas";

function inputOf({ type, accepted_values }: CatalogueParameter): Input {
  const isList = type === "string_list";
  if (accepted_values) return isList ? "choices" : "choice";
  return isList ? "commas" : "text";
}

function parameterInput(request: ApiRequest, parameter: CatalogueParameter): HTMLElement {
  const { name, column, operator, description } = parameter;
  const { require_any_of } = request.endpoint;
  const kind = inputOf(parameter);
  const about = description === "" ? `${column} ${operatorOf(operator).text}.` : description;
  const required = require_any_of.length === 1 && require_any_of[0] === name;
  const input = valueInput(request, parameter, kind);
  const field = labelled(
    "parameter",
    input,
    kind === "commas" ? `${about} Separate values by commas.` : about,
    required && el("span.needed", " required"),
  );
  // A bound need not be a value that exists.
  const isValue = /^(=|IN|ILIKE)$/.test(operator);
  if (isValue && input instanceof HTMLInputElement) field.append(suggestions(request, column, input));
  return field;
}

/** An input with its label above and its description below. */
function labelled(
  kind: "parameter" | "page",
  input: HTMLInputElement | HTMLSelectElement,
  about: string,
  mark: Child = null,
): HTMLElement {
  const id = `${kind}-${input.name}`;
  input.id = id;
  input.setAttribute("aria-describedby", `${id}-about`);
  return el(
    "div.input",
    el("label", { for: id }, input.name, mark),
    input,
    el("p", { id: `${id}-about`, title: about.trim() }, ...prose(about.trim())),
  );
}

/** Groups of conditions that need not hold together, and their text. */
function expressionPart(request: ApiRequest): HTMLElement {
  const compared = comparedBy(request);
  const [value = ""] = valuesOf(request.parameters, "filter");
  const input = el("input", {
    ...{ name: "filter", type: "text", value, spellcheck: "false", autocomplete: "off" },
    placeholder: compared.filters.slice(0, 2).map(exampleOf).join(" or "),
  });
  const about = "Conditions with `and`, `or`, `not` and parentheses; texts in single quotes.";
  const groups = el("div");
  void import("./condition-groups.js").then(({ ConditionForm }) => {
    const form = new ConditionForm(compared, {
      write: (text) => (input.value = text),
      suggest: (column, field) => suggestions(request, column, field),
    });
    form.read(input.value);
    input.addEventListener("change", () => afterPress(() => form.read(input.value)));
    groups.replaceChildren(form.element);
  });
  return el("div.expression", groups, labelled("page", input, about));
}

/** A button that is being pressed stays where it is until it is released: what is drawn in between would move it away. */
function afterPress(draw: () => void): void {
  if (document.querySelector("button:active") === null) draw();
  else document.addEventListener("pointerup", () => setTimeout(draw), { once: true });
}

/** What `filter` compares: columns, of groups where the endpoint has no rows, and results. */
function comparedBy(request: ApiRequest) {
  const { filters = [], aggregate } = request.endpoint;
  const isOfMetrics = aggregate?.of === "metrics";
  return { filters: isOfMetrics ? aggregate.filters : filters, results: resultFilters(request) };
}

function exampleOf({ column, type }: NonNullable<CatalogueEndpoint["filters"]>[number]): string {
  const isNumber = type === "integer" || type === "number";
  return isNumber ? `${filterName(column)} gt 10` : `${filterName(column)} ne null`;
}

function rangeInputs(parameters: Parameters): readonly HTMLElement[] {
  const about = { start_date: "First day of the metrics' time.", end_date: "Last day, included." };
  return Object.entries(about).map(([name, text]) => {
    const value = valuesOf(parameters, name)[0] ?? "";
    return labelled("page", el("input", { name, type: "text", value, placeholder: "YYYY-MM-DD" }), text);
  });
}

function fieldsInput(parameters: Parameters): HTMLElement {
  const value = valuesOf(parameters, "fields").join(",");
  const input = el("input", { name: "fields", type: "text", value });
  return labelled("page", input, "Columns, separated by commas. Default: all.");
}

function freshInput(parameters: Parameters): HTMLElement {
  const name = "require_fresh";
  const input = choice(name, ["true", "false"], valuesOf(parameters, name));
  return labelled("page", input, "`true`: an error in place of rows that are older than promised.");
}

/** The conditions of a column, whose inputs suggest its values. */
function filterInputs(
  filter: NonNullable<CatalogueEndpoint["filters"]>[number],
  request: ApiRequest,
): readonly HTMLElement[] {
  return conditionInputs(filter, request.parameters, (input) => suggestions(request, filter.column, input));
}

function ofResults(input: HTMLInputElement): HTMLElement {
  const id = `${input.id}-about`;
  input.setAttribute("aria-describedby", id);
  return el("p", { id }, "Keeps the groups whose result is so.");
}

/** A row for each operator that the request has, else an empty one. */
function conditionInputs(
  { column, operators }: { readonly column: string; readonly operators: readonly string[] },
  parameters: Parameters,
  below: (input: HTMLInputElement) => Child,
): readonly HTMLElement[] {
  const given = operators.filter((operator) => Object.hasOwn(parameters, `${column}[${operator}]`));
  return (given.length === 0 ? operators.slice(0, 1) : given).map((chosen) => {
    const id = `filter-${column}-${chosen}`;
    const value = valuesOf(parameters, `${column}[${chosen}]`).join(",");
    const input = el("input", { id, name: `${column}[${chosen}]`, type: "text", value, spellcheck: "false" });
    const choose = (event: Event): void => {
      input.name = `${column}[${(event.target as HTMLSelectElement).value}]`;
    };
    const options = operators.map((value) =>
      el("option", { value, selected: value === chosen }, operatorInWords(value)),
    );
    return el(
      "div.input",
      el("label", { for: id }, column),
      el("select", { "aria-label": `Operator of ${column}`, change: choose }, ...options),
      input,
      below(input),
    );
  });
}

function valueInput(
  { endpoint, parameters }: ApiRequest,
  { name, column, type: accepts, accepted_values = [] }: CatalogueParameter,
  kind: Input,
): HTMLInputElement | HTMLSelectElement {
  const values = valuesOf(parameters, name);
  if (kind === "choice" || kind === "choices")
    return choice(name, accepted_values, values, kind === "choices");
  const type = endpoint.columns.find((each) => each.name === column)?.type;
  return el("input", {
    name,
    type: "text",
    value: values.join(","),
    // The browser's own date field has the order of the reader's country.
    placeholder: accepts === "date" ? "YYYY-MM-DD" : null,
    spellcheck: "false",
    autocomplete: "off",
    inputmode: /int|float|numeric|decimal|double|real/i.test(type ?? "") ? "decimal" : "text",
  });
}

function choice(
  name: string,
  options: readonly string[],
  chosen: readonly string[],
  multiple = false,
): HTMLSelectElement {
  const picked = multiple ? chosen.flatMap((value) => value.split(",")) : chosen;
  return el(
    "select",
    { name, multiple, size: multiple ? Math.min(5, options.length) : 1 },
    !multiple && el("option", { value: "" }, /^(sort_|require_fresh$)/.test(name) ? "(default)" : "(any)"),
    ...options.map((value) => el("option", { value, selected: picked.includes(value) }, value)),
  );
}

function pageInputs(
  { pagination }: CatalogueEndpoint,
  sorts: readonly string[],
  given: Parameters,
): readonly HTMLElement[] {
  const number = (name: string, about: string, limits: Readonly<Record<string, number>>) => {
    const value = valuesOf(given, name)[0] ?? "";
    return labelled("page", el("input", { name, type: "number", value, ...limits }), about);
  };
  const options = (name: string, about: string, values: readonly string[]) =>
    labelled("page", choice(name, values, valuesOf(given, name)), about);
  const { max_limit: max = 0, default_limit: placeholder = 0 } = pagination ?? {};
  const ofPage = [
    number("limit", `Rows, at most ${max.toLocaleString("en")}.`, { min: 1, max, placeholder }),
    number("offset", "Rows to skip.", { min: 0, placeholder: 0 }),
  ];
  const ofSort = [
    options("sort_by", "Column to sort by.", sorts),
    options("sort_direction", "Needs sort_by.", ["ASC", "DESC"]),
  ];
  return [...(pagination ? ofPage : []), ...(sorts.length > 0 ? ofSort : [])];
}

/** What else is asked of groups. */
function groupInputs(request: ApiRequest): readonly HTMLElement[] {
  const { endpoint, parameters } = request;
  if (endpoint.aggregate?.is_saved !== false || !asksGroups(request)) return [];
  const options = (name: string, about: string, values: readonly string[]) =>
    labelled("page", choice(name, values, valuesOf(parameters, name)), about);
  const top = el("input", {
    name: "top",
    type: "number",
    value: valuesOf(parameters, "top")[0] ?? "",
    min: 1,
    max: 1000,
  });
  return [
    labelled("page", top, "Only so many groups, the greatest by sort_by."),
    options("other", "A row for all other groups. Needs top.", ["true"]),
    options("totals", "Rows for totals.", ["true"]),
    options("compare", "Values of an earlier period. Needs both dates.", [
      "previous_period",
      "previous_year",
    ]),
  ];
}
