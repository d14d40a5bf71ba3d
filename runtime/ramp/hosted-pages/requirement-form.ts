import { isSchema, isStorable, violations, type Violation } from "../core/json-schema.js";

type Schema = Readonly<Record<string, unknown>>;

interface Choice {
  readonly value: string;
  readonly label: string;
}

/** `choice` is one of `choices`; the others are types of `input`. */
type FieldKind = "text" | "date" | "email" | "url" | "tel" | "number" | "checkbox" | "choice";

/** One field of a requirement's form. */
export interface Field {
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
export function fieldsOf(form: Schema): readonly Field[] {
  const required: readonly unknown[] = Array.isArray(form["required"]) ? form["required"] : [];
  const fields = Object.entries(schemaIn(form["properties"])).flatMap(([name, given]): Field[] => {
    const schema = schemaIn(given);
    const choices = choicesOf(schema);
    const kind = choices.length > 0 ? "choice" : kindOf(schema);
    if (kind === null) return [];
    const label = textIn(schema["title"]) ?? humanize(name);
    const hint = textIn(schema["description"]);
    const maxLength = Number.isSafeInteger(schema["maxLength"]) ? (schema["maxLength"] as number) : null;
    return [{ name, label, hint, isRequired: required.includes(name), kind, choices, maxLength }];
  });
  const placeOf = ({ name, isRequired }: Field): number =>
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
  ["integer", "number"],
  ["boolean", "checkbox"],
]);

function kindOf({ type, format }: Schema): FieldKind | null {
  return (type === "string" ? KINDS.get(format) : undefined) ?? KINDS.get(type) ?? null;
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
    fields.flatMap(({ name, kind }): [string, unknown][] => {
      const text = (typed.get(name) ?? "").trim();
      if (kind === "checkbox") return [[name, text !== ""]];
      if (text === "") return [];
      return [[name, kind === "number" && Number.isFinite(Number(text)) ? Number(text) : text]];
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

function isMissing({ name, isRequired, kind }: Field, values: Readonly<Record<string, unknown>>): boolean {
  return isRequired && (kind === "checkbox" ? values[name] !== true : !Object.hasOwn(values, name));
}

function missing({ label, kind }: Field): string {
  return kind === "choice" || kind === "checkbox" ? `Choose: ${label}.` : `Fill in: ${label}.`;
}

function complaint({ label, kind }: Field, message: string): string {
  return kind === "date" ? `${label} must be a date such as 1990-12-31.` : `${label} ${message}.`;
}

/** An invalid schema checks nothing: the provider checks the values itself. */
function schemaViolations(form: Schema, values: unknown): readonly Violation[] {
  return isSchema(form) ? violations(form, values) : [];
}
