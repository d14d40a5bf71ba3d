import type { CatalogueColumn, CatalogueEndpoint, CatalogueParameter } from "../catalogue.js";
import type { Parameters } from "./api.js";
import { el } from "./dom.js";

/** A form with the right input for each parameter. `send` is called with what was filled in. */
export function parameterForm(
  endpoint: CatalogueEndpoint,
  given: Parameters,
  send: (parameters: Parameters) => void,
): HTMLFormElement {
  const inputs = [
    ...(endpoint.parameters ?? []).map((parameter) => parameterInput(endpoint, parameter, given)),
    ...pageInputs(endpoint, given),
  ];
  const form = el(
    "form",
    {
      class: "try",
      submit: (event: SubmitEvent) => {
        event.preventDefault();
        send(readForm(form));
      },
    },
    inputs.length === 0
      ? el("p", { class: "note" }, "Takes no parameters: the whole table.")
      : el("div", { class: "inputs" }, ...inputs),
    endpoint.require_any_of.length > 0 &&
      el("p", { class: "note" }, `At least one of these is required: ${endpoint.require_any_of.join(", ")}.`),
    el(
      "div",
      { class: "actions" },
      el("button", { type: "submit", class: "primary" }, "Run"),
      inputs.length > 0 && el("button", { type: "button", click: () => send({}) }, "Clear"),
    ),
  );
  return form;
}

export function readForm(form: HTMLFormElement): Parameters {
  const parameters: Record<string, string[]> = {};
  for (const [name, value] of new FormData(form))
    if (typeof value === "string" && value.trim() !== "") (parameters[name] ??= []).push(value.trim());
  return parameters;
}

/** What an operator does, in a few words. */
const OPERATORS: Readonly<Record<CatalogueParameter["operator"], string>> = {
  "=": "equals",
  ILIKE: "contains",
  ">=": "from",
  "<=": "up to",
  IN: "one of, separated by commas",
};

function parameterInput(
  { require_any_of, columns }: CatalogueEndpoint,
  { name, column, operator, type, description, accepted_values }: CatalogueParameter,
  given: Parameters,
): HTMLElement {
  const values = given[name] ?? [];
  const id = `parameter-${name}`;
  const about = { id, name, "aria-describedby": `${id}-about` };
  const columnType = columns.find((each: CatalogueColumn) => each.name === column)?.type ?? "";
  const input = accepted_values
    ? choice(about, accepted_values, values, type === "string_list")
    : type === "date"
      ? el("input", { ...about, type: "date", value: values[0] ?? "" })
      : el("input", {
          ...about,
          type: "text",
          value: values.join(","),
          inputmode: /int|float|numeric|decimal|double|real/i.test(columnType) ? "decimal" : "text",
        });
  const required = require_any_of.length === 1 && require_any_of[0] === name;
  return el(
    "div",
    { class: "input" },
    el("label", { for: id }, name, required && el("span", { class: "needed" }, " required")),
    input,
    el("p", { id: `${id}-about` }, description === "" ? `${column} ${OPERATORS[operator]}` : description),
  );
}

function choice(
  about: Readonly<Record<string, string>>,
  options: readonly string[],
  chosen: readonly string[],
  isMultiple: boolean,
): HTMLSelectElement {
  const picked = chosen.flatMap((value) => (isMultiple ? value.split(",") : [value]));
  return el(
    "select",
    { ...about, multiple: isMultiple, size: isMultiple ? Math.min(5, options.length) : 1 },
    !isMultiple && el("option", { value: "" }, "(any)"),
    ...options.map((value) => el("option", { value, selected: picked.includes(value) }, value)),
  );
}

function pageInputs(
  { pagination, sortable_fields }: CatalogueEndpoint,
  given: Parameters,
): readonly HTMLElement[] {
  const number = (name: string, about: string, attributes: Readonly<Record<string, string | number>>) =>
    el(
      "div",
      { class: "input" },
      el("label", { for: `page-${name}` }, name),
      el("input", {
        id: `page-${name}`,
        name,
        type: "number",
        value: given[name]?.[0] ?? "",
        "aria-describedby": `page-${name}-about`,
        ...attributes,
      }),
      el("p", { id: `page-${name}-about` }, about),
    );
  const pages =
    pagination === null
      ? []
      : [
          number("limit", `Rows, at most ${pagination.max_limit.toLocaleString("en")}.`, {
            min: 1,
            max: pagination.max_limit,
            placeholder: pagination.default_limit,
          }),
          number("offset", "Rows to skip.", { min: 0, placeholder: 0 }),
        ];
  const options = (name: string, about: string, values: readonly string[]) =>
    el(
      "div",
      { class: "input" },
      el("label", { for: `page-${name}` }, name),
      choice(
        { id: `page-${name}`, name, "aria-describedby": `page-${name}-about` },
        values,
        given[name] ?? [],
        false,
      ),
      el("p", { id: `page-${name}-about` }, about),
    );
  const sorts =
    sortable_fields.length === 0
      ? []
      : [
          options("sort_by", "Column to sort by.", sortable_fields),
          options("sort_direction", "Needs sort_by.", ["ASC", "DESC"]),
        ];
  return [...pages, ...sorts];
}
