import { isOutOfRange, JsonText } from "../core/exact-json.js";
import { isStorable, PATTERN_MISMATCH, providerViolations, type Violation } from "../core/json-schema.js";
import { schemaProblem } from "../core/provider-schema.js";
import type { FieldKind, FormField, FormSchema } from "../providers/form.js";

/** What a browser sent for a form, by field name, as it was typed. */
export type FormInput = ReadonlyMap<string, string>;

/** What was filled in, as the schema has it; an empty field is one that is not there, or null. Numbers have the digits that were typed. */
export function valuesOf(fields: readonly FormField[], typed: FormInput): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap((field): [string, unknown][] => {
      const { name, isRequired, isNullable } = field;
      const text = (typed.get(name) ?? "").trim();
      if (text === "") return isRequired && isNullable ? [[name, null]] : [];
      return [[name, valueOf(field, text)]];
    }),
  );
}

function valueOf({ kind, choices }: FormField, text: string): unknown {
  if (kind === "consent") return true;
  if (kind === "choice") return choices.find((choice) => choice.text === text)?.value ?? text;
  return isNumber(kind, text) ? new JsonText(text) : text;
}

/** Numbers as JSON has them: what a provider would get of others is not what the customer typed. */
export const NUMBERS: Partial<
  Readonly<Record<FieldKind, { readonly pattern: RegExp; readonly words: string }>>
> = {
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

function isMissing({ name, isRequired }: FormField, values: Readonly<Record<string, unknown>>): boolean {
  return isRequired && !Object.hasOwn(values, name);
}

function missing({ label, kind }: FormField): string {
  return kind === "choice" || kind === "consent" ? `Choose: ${label}.` : `Fill in: ${label}.`;
}

/** What a field of some kind must be, in the customer's words. */
const KIND_WORDS: Partial<Readonly<Record<FieldKind, string>>> = {
  date: "must be a date such as 1990-12-31",
  email: "must be an email address such as name@example.com",
  url: "must be an address such as https://example.com",
  choice: "must be one of the choices",
};

/** Patterns mean nothing to customers: an example does, where the provider gives one. */
function complaint({ label, kind, schema }: FormField, message: string): string {
  const isPattern = message.startsWith(PATTERN_MISMATCH);
  const words = KIND_WORDS[kind];
  if (words !== undefined && (isPattern || !message.startsWith("must NOT"))) return `${label} ${words}.`;
  if (!isPattern)
    return `${label} ${message.replace(/^must be >= /, "must be at least ").replace(/^must be <= /, "must be at most ")}.`;
  const [example] = [schema["examples"]].flat() as readonly unknown[];
  const such = typeof example === "string" ? `, such as ${example}` : "";
  return `${label} is not written as it must be${such}.`;
}

/** A schema that cannot be used checks nothing: the provider checks the values itself. */
function schemaViolations(form: FormSchema, values: unknown): readonly Violation[] {
  return schemaProblem(form) === null ? providerViolations(form, values) : [];
}
