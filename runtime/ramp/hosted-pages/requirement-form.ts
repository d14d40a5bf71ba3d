import { type Html, html } from "./layout.js";
import { isOutOfRange, JsonText } from "../core/exact-json.js";
import { isStorable, providerViolations, type Violation } from "../core/json-schema.js";
import { schemaProblem } from "../core/provider-schema.js";

type FormSchema = Readonly<Record<string, unknown>>;

interface Choice {
  readonly value: string;
  readonly label: string;
}

/** `choice` is one of `choices`; the others are types of `input`. */
type FieldKind = "text" | "date" | "email" | "url" | "tel" | "number" | "integer" | "checkbox" | "choice";

/** One field of a requirement's form. */
interface FormField {
  readonly name: string;
  readonly label: string;
  readonly hint: string | null;
  readonly isRequired: boolean;
  readonly kind: FieldKind;
  readonly choices: readonly Choice[];
  readonly maxLength: number | null;
}

/**
 * The fields that a JSON Schema of an object asks for; what a form cannot hold (lists, objects) is left out. They stand in the
 * order of `required`, then the optional ones: a stored object does not keep the order of its names.
 */
export function fieldsOf(form: FormSchema): readonly FormField[] {
  const required: readonly unknown[] = Array.isArray(form["required"]) ? form["required"] : [];
  const fields = Object.entries(schemaIn(form["properties"])).flatMap(([name, given]): FormField[] => {
    const schema = schemaIn(given);
    const choices = choicesOf(schema);
    const kind = choices.length > 0 ? "choice" : kindOf(schema);
    if (kind === null) return [];
    const label = textIn(schema["title"]) ?? humanize(name);
    const hint = textIn(schema["description"]);
    const maxLength = Number.isSafeInteger(schema["maxLength"]) ? (schema["maxLength"] as number) : null;
    return [{ name, label, hint, isRequired: required.includes(name), kind, choices, maxLength }];
  });
  const placeOf = ({ name, isRequired }: FormField): number =>
    isRequired ? required.indexOf(name) : required.length;
  return fields.sort((left, right) => placeOf(left) - placeOf(right));
}

/** By the format of a string, else by the type. */
const KINDS: ReadonlyMap<unknown, FieldKind> = new Map([
  ["date", "date"],
  ["email", "email"],
  ["uri", "url"],
  ["phone", "tel"],
  ["string", "text"],
  ["number", "number"],
  ["integer", "integer"],
  ["boolean", "checkbox"],
]);

function kindOf({ type, format }: FormSchema): FieldKind | null {
  return (type === "string" ? KINDS.get(format) : undefined) ?? KINDS.get(type) ?? null;
}

function choicesOf(schema: FormSchema): readonly Choice[] {
  if (Array.isArray(schema["enum"]))
    return schema["enum"]
      .filter((value) => typeof value === "string")
      .map((value) => ({ value, label: humanize(value) }));
  const options: readonly unknown[] = Array.isArray(schema["oneOf"]) ? schema["oneOf"] : [];
  return options.flatMap((option) => {
    const { const: value, title } = schemaIn(option);
    return typeof value === "string" ? [{ value, label: textIn(title) ?? humanize(value) }] : [];
  });
}

function schemaIn(value: unknown): FormSchema {
  return typeof value === "object" && value !== null ? (value as FormSchema) : {};
}

function textIn(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** `dateOfBirth` as `Date of birth`; what is written in capitals stays so. */
export function humanize(name: string): string {
  const words = name
    .replaceAll("_", " ")
    .replace(
      /([a-z])([A-Z])(?=[a-z])/g,
      (_all, end: string, start: string) => `${end} ${start.toLowerCase()}`,
    );
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a browser sent for a form, by field name, as it was typed. */
export type FormInput = ReadonlyMap<string, string>;

/** What was filled in, as the schema has it; an empty field is one that is not there. Numbers have the digits that were typed. */
export function valuesOf(fields: readonly FormField[], typed: FormInput): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap(({ name, kind }): [string, unknown][] => {
      const text = (typed.get(name) ?? "").trim();
      if (kind === "checkbox") return [[name, text !== ""]];
      if (text === "") return [];
      return [[name, isNumber(kind, text) ? new JsonText(text) : text]];
    }),
  );
}

/** Numbers as JSON has them: what a provider would get of others is not what the customer typed. */
const NUMBERS: Partial<Readonly<Record<FieldKind, { readonly pattern: RegExp; readonly words: string }>>> = {
  number: {
    pattern: /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/,
    words: "a number such as 1234.5, without spaces or commas",
  },
  integer: {
    pattern: /^-?(0|[1-9]\d*)(\.0+)?$/,
    words: "a whole number such as 1234, without spaces or commas",
  },
};

const isNumber = (kind: FieldKind, text: string): boolean =>
  NUMBERS[kind]?.pattern.test(text) === true && !isOutOfRange(text);

/** What is wrong with a form, by field name; the empty name stands for the form as a whole. */
export type FormErrors = ReadonlyMap<string, string>;

export function errorsOf(
  form: FormSchema,
  fields: readonly FormField[],
  values: Readonly<Record<string, unknown>>,
): FormErrors {
  const errors = new Map<string, string>();
  for (const field of fields) if (isMissing(field, values)) errors.set(field.name, missing(field));
  for (const { name, label, kind } of fields)
    if (NUMBERS[kind] && typeof values[name] === "string")
      errors.set(name, `${label} must be ${NUMBERS[kind].words}.`);
  const plain = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plainOf(value)]));
  if (!isStorable(plain)) errors.set("", "The form holds characters that cannot be used.");
  if (errors.size > 0) return errors;
  for (const { path, message } of schemaViolations(form, plain)) {
    const field = fields.find(({ name }) => path === `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    errors.set(field?.name ?? "", field ? complaint(field, message) : "The form is not complete.");
  }
  return errors;
}

const plainOf = (value: unknown): unknown => (value instanceof JsonText ? Number(value.text) : value);

function isMissing(
  { name, isRequired, kind }: FormField,
  values: Readonly<Record<string, unknown>>,
): boolean {
  return isRequired && (kind === "checkbox" ? values[name] !== true : !Object.hasOwn(values, name));
}

function missing({ label, kind }: FormField): string {
  return kind === "choice" || kind === "checkbox" ? `Choose: ${label}.` : `Fill in: ${label}.`;
}

function complaint({ label, kind }: FormField, message: string): string {
  return kind === "date" ? `${label} must be a date such as 1990-12-31.` : `${label} ${message}.`;
}

/** A schema that cannot be used checks nothing: the provider checks the values itself. */
function schemaViolations(form: FormSchema, values: unknown): readonly Violation[] {
  return schemaProblem(form) === null ? providerViolations(form, values) : [];
}

export interface FormState {
  readonly typed: FormInput;
  readonly errors: FormErrors;
}

export const UNTOUCHED: FormState = { typed: new Map(), errors: new Map() };

/** Prefix of form fields, which keeps them apart from the page's own. */
export const FIELD_PREFIX = "field.";

/** Values of `autocomplete`, by the field's name. */
const AUTOCOMPLETE: ReadonlyMap<string, string> = new Map([
  ["fullName", "name"],
  ["firstName", "given-name"],
  ["lastName", "family-name"],
  ["dateOfBirth", "bday"],
  ["email", "email"],
  ["phone", "tel"],
  ["address", "street-address"],
  ["city", "address-level2"],
  ["postalCode", "postal-code"],
]);

/** The summary at the top names every error and leads to its field. */
export function errorSummary(fields: readonly FormField[], { errors }: FormState): Html | null {
  if (errors.size === 0) return null;
  const items = [...errors].map(([name, message]) => {
    const at = fields.findIndex((field) => field.name === name);
    return at < 0 ? html`<li>${message}</li>` : html`<li><a href="#${idOf(at)}">${message}</a></li>`;
  });
  return html`<div class="summary" role="alert" tabindex="-1">
    <h2>Please check the form</h2>
    <ul>
      ${items}
    </ul>
  </div>`;
}

export function fieldViews(fields: readonly FormField[], state: FormState): Html {
  return html`${fields.map((field, at) => fieldView(field, at, state))}`;
}

function idOf(at: number): string {
  return `field-${String(at)}`;
}

function fieldView(field: FormField, at: number, { typed, errors }: FormState): Html {
  const id = idOf(at);
  const { kind, hint, isRequired } = field;
  const error = errors.get(field.name) ?? null;
  const notes = [
    hint === null ? null : html`<p class="hint" id="${id}-hint">${hint}</p>`,
    error === null ? null : html`<p class="error" id="${id}-error">${error}</p>`,
  ].filter((note) => note !== null);
  const described = [hint === null ? "" : `${id}-hint`, error === null ? "" : `${id}-error`].join(" ").trim();
  const attributes = html`name="${FIELD_PREFIX + field.name}"
  ${described === "" ? null : html` aria-describedby="${described}"`}${error === null ? null : html` aria-invalid="true"`}${isRequired ? html` required` : null}`;
  const label = isRequired ? field.label : `${field.label} (optional)`;
  const value = typed.get(field.name) ?? "";
  if (kind === "choice")
    return html`<fieldset>
      <legend>${label}</legend>
      ${notes}
      ${field.choices.map(
        (choice, i) =>
          html`<label class="choice"
            ><input
              type="radio"
              id="${i === 0 ? id : `${id}-${String(i)}`}"
              value="${choice.value}"
              ${choice.value === value ? html` checked` : null}
              ${attributes}
            />
            ${choice.label}</label
          >`,
      )}
    </fieldset>`;
  if (kind === "checkbox")
    return html`<div class="field">
      <label class="choice"
        ><input
          type="checkbox"
          id="${id}"
          value="yes"
          ${value === "" ? null : html` checked`}
          ${attributes}
        />
        ${label}</label
      >${notes}
    </div>`;
  const complete = AUTOCOMPLETE.get(field.name);
  const type = NUMBERS[kind] ? html`type="text" inputmode="decimal"` : html`type="${kind}"`;
  return html`<div class="field">
    <label for="${id}">${label}</label>${notes}
    <input
      ${type}
      id="${id}"
      value="${value}"
      ${field.maxLength === null ? null : html` maxlength="${String(field.maxLength)}"`}${complete === undefined ? null : html` autocomplete="${complete}"`}
      ${attributes}
    />
  </div>`;
}
