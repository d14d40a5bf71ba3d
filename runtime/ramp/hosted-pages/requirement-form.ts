import { isSchema, isStorable, violations, type Violation } from "../core/json-schema.js";

type Schema = Readonly<Record<string, unknown>>;

interface Choice {
  readonly value: string;
  readonly label: string;
}

type Control =
  | {
      readonly kind: "text";
      readonly type: "text" | "date" | "email" | "url" | "tel";
      readonly maxLength: number | null;
    }
  | { readonly kind: "number" }
  | { readonly kind: "checkbox" }
  | { readonly kind: "choice"; readonly choices: readonly Choice[] };

/** One field of a requirement's form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint: string | null;
  readonly isRequired: boolean;
  readonly control: Control;
}

/**
 * The fields that a JSON Schema of an object asks for; what a form cannot hold (lists, objects) is left out. They stand in the
 * order of `required`, then the optional ones: a stored object does not keep the order of its names.
 */
export function fieldsOf(form: Schema): readonly Field[] {
  const required: readonly unknown[] = Array.isArray(form["required"]) ? form["required"] : [];
  const fields = Object.entries(schemaIn(form["properties"])).flatMap(([name, given]): Field[] => {
    const schema = schemaIn(given);
    const control = controlOf(schema);
    if (control === null) return [];
    const label = textIn(schema["title"]) ?? humanize(name);
    const hint = textIn(schema["description"]);
    return [{ name, label, hint, isRequired: required.includes(name), control }];
  });
  const placeOf = ({ name, isRequired }: Field): number =>
    isRequired ? required.indexOf(name) : required.length;
  return fields.sort((left, right) => placeOf(left) - placeOf(right));
}

const INPUT_TYPES = { date: "date", email: "email", uri: "url", phone: "tel" } as const;

function controlOf(schema: Schema): Control | null {
  const choices = choicesOf(schema);
  if (choices.length > 0) return { kind: "choice", choices };
  switch (schema["type"]) {
    case "string": {
      const format = schema["format"] as keyof typeof INPUT_TYPES;
      const maxLength = schema["maxLength"];
      return {
        kind: "text",
        type: Object.hasOwn(INPUT_TYPES, format) ? INPUT_TYPES[format] : "text",
        maxLength: Number.isSafeInteger(maxLength) ? (maxLength as number) : null,
      };
    }
    case "number":
    case "integer":
      return { kind: "number" };
    case "boolean":
      return { kind: "checkbox" };
    default:
      return null;
  }
}

function choicesOf(schema: Schema): readonly Choice[] {
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

function schemaIn(value: unknown): Schema {
  return typeof value === "object" && value !== null ? (value as Schema) : {};
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

/** What was filled in, as the schema has it; an empty field is one that is not there. */
export function valuesOf(fields: readonly Field[], typed: FormInput): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap(({ name, control }): [string, unknown][] => {
      const text = (typed.get(name) ?? "").trim();
      if (control.kind === "checkbox") return [[name, text !== ""]];
      if (text === "") return [];
      return [[name, control.kind === "number" && Number.isFinite(Number(text)) ? Number(text) : text]];
    }),
  );
}

/** What is wrong with a form, by field name; the empty name stands for the form as a whole. */
export type FormErrors = ReadonlyMap<string, string>;

export function errorsOf(
  form: Schema,
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
): FormErrors {
  const errors = new Map<string, string>();
  for (const field of fields) if (isMissing(field, values)) errors.set(field.name, missing(field));
  if (!isStorable(values)) errors.set("", "The form holds characters that cannot be used.");
  if (errors.size > 0) return errors;
  for (const { path, message } of schemaViolations(form, values)) {
    const field = fields.find(({ name }) => path === `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    errors.set(field?.name ?? "", field ? complaint(field, message) : "The form is not complete.");
  }
  return errors;
}

function isMissing({ name, isRequired, control }: Field, values: Readonly<Record<string, unknown>>): boolean {
  if (!isRequired) return false;
  return control.kind === "checkbox" ? values[name] !== true : !Object.hasOwn(values, name);
}

function missing({ label, control }: Field): string {
  return control.kind === "choice" || control.kind === "checkbox"
    ? `Choose: ${label}.`
    : `Fill in: ${label}.`;
}

function complaint({ label, control }: Field, message: string): string {
  if (control.kind === "text" && control.type === "date")
    return `${label} must be a date such as 1990-12-31.`;
  return `${label} ${message}.`;
}

/** An invalid schema checks nothing: the provider checks the values itself. */
function schemaViolations(form: Schema, values: unknown): readonly Violation[] {
  return isSchema(form) ? violations(form, values) : [];
}
