import type { Violation } from "../core/json-schema.js";

/**
 * The forms of checks that the hosted page draws (runtime/ramp/docs/provider-protocol.md, Forms): a JSON Schema of an object, each field of
 * which is one value. An answer with another one is not valid: a customer could not finish it.
 */

/** JSON Schema of a form. */
export type FormSchema = Readonly<Record<string, unknown>>;

/** One of the values that a field can have. */
export interface Choice {
  /** As the page sends it. */
  readonly text: string;
  readonly label: string;
  readonly value: string | number | boolean;
}

/** `choice` is one of `choices`; a `consent` must be ticked; the others are types of `input`. */
export type FieldKind =
  "text" | "date" | "email" | "url" | "tel" | "number" | "integer" | "consent" | "choice";

/** One field of a form. */
export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly hint: string | null;
  readonly isRequired: boolean;
  /** Whether an empty field that is required is null. */
  readonly isNullable: boolean;
  readonly kind: FieldKind;
  readonly choices: readonly Choice[];
  readonly maxLength: number | null;
  readonly schema: FormSchema;
}

/** By the format of a string, else by the type: the kind, and how the page draws it. A boolean is a choice, so that no is an answer. */
export const FIELD_KINDS: Readonly<Record<string, readonly [kind: FieldKind, drawn: string]>> = {
  date: ["date", "a date"],
  email: ["email", "an email address"],
  uri: ["url", "an address of a page"],
  phone: ["tel", "a telephone number"],
  string: ["text", "a line of text"],
  number: ["number", "a number, passed on with the digits that were typed"],
  integer: ["integer", "a whole number, passed on with the digits that were typed"],
  boolean: ["choice", "Yes and No; one that is required needs either"],
};

/** By a keyword, before the type. */
export const KEYWORD_KINDS: Readonly<Record<string, string>> = {
  "const: true": "a box to tick, such as for terms; one that is required must be ticked",
  "enum or const": "a choice of these values: strings, numbers, booleans",
  "oneOf or anyOf": "a choice of the `const` of each, with its `title`",
};

const YES_OR_NO: readonly Choice[] = [
  { text: "true", label: "Yes", value: true },
  { text: "false", label: "No", value: false },
];

/** Keywords by which a field depends on others, or is more than one value: no field can say what is wrong then. */
const NOT_DRAWN = [
  ...["allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies"],
  ...["patternProperties", "propertyNames", "unevaluatedProperties", "minProperties", "maxProperties"],
];

/** The fields of a form, in the provider's order, or what cannot be drawn. */
export function readForm(form: FormSchema): readonly FormField[] | Violation {
  const { type = "object", properties, required = [] } = form;
  if (type !== "object") return { path: "/type", message: "must be object" };
  if (!isRecord(properties) || Object.keys(properties).length === 0)
    return { path: "/properties", message: "must have at least one field" };
  const across = [...NOT_DRAWN, "anyOf", "oneOf"].find((keyword) => Object.hasOwn(form, keyword));
  if (across !== undefined) return { path: `/${across}`, message: "is not drawn by the hosted page" };
  if (!Array.isArray(required)) return { path: "/required", message: "must be a list of fields" };
  const unknown = required.map(String).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined)
    return { path: "/required", message: `names ${unknown.slice(0, 100)}, which is no field` };
  const fields: FormField[] = [];
  for (const [name, schema] of Object.entries(properties)) {
    const field = fieldOf(name, schema, required.includes(name));
    if (typeof field === "string") return { path: pathOf(name), message: field };
    fields.push(field);
  }
  return fields;
}

/** Why a form cannot be drawn, or null. */
export function formProblem(form: FormSchema): Violation | null {
  const read = readForm(form);
  return "path" in read ? read : null;
}

/** The fields of a form that can be drawn; none of another one. */
export function fieldsOf(form: FormSchema): readonly FormField[] {
  const read = readForm(form);
  return "path" in read ? [] : read;
}

const pathOf = (name: string): string =>
  `/properties/${name.slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** A field, or why it cannot be drawn. */
function fieldOf(name: string, schema: unknown, isRequired: boolean): FormField | string {
  if (!isRecord(schema)) return "must be the schema of one value";
  const keyword = NOT_DRAWN.find((known) => Object.hasOwn(schema, known));
  if (keyword !== undefined) return `has the keyword ${keyword}, which the hosted page does not draw`;
  const types = [schema["type"]].flat();
  const kind = kindOf(schema, types);
  const choices = choicesOf(schema, types);
  if (kind === null || choices === null)
    return "must be one string, number, integer or boolean, or have an enum, const or oneOf of such values";
  return {
    name,
    label: textIn(schema["title"]) ?? humanize(name),
    hint: textIn(schema["description"]),
    isRequired,
    isNullable: types.includes("null") || valuesIn(schema).includes(null),
    kind,
    choices,
    maxLength: Number.isSafeInteger(schema["maxLength"]) ? (schema["maxLength"] as number) : null,
    schema,
  };
}

function kindOf(schema: FormSchema, types: readonly unknown[]): FieldKind | null {
  const values = valuesIn(schema).filter((value) => value !== null);
  if (values.length === 1 && values[0] === true) return "consent";
  if (isChoice(schema)) return "choice";
  const [type, ...others] = types.filter((known) => known !== "null");
  if (typeof type !== "string" || others.length > 0) return null;
  const known = (word: unknown): FieldKind | undefined =>
    typeof word === "string" && Object.hasOwn(FIELD_KINDS, word) ? FIELD_KINDS[word]?.[0] : undefined;
  if (!["string", "number", "integer", "boolean"].includes(type)) return null;
  return (type === "string" ? known(schema["format"]) : undefined) ?? known(type) ?? null;
}

const isChoice = (schema: FormSchema): boolean =>
  ["enum", "const", "oneOf", "anyOf"].some((keyword) => Object.hasOwn(schema, keyword));

/** The values of `enum`, or the one of `const`. */
function valuesIn(schema: FormSchema): readonly unknown[] {
  const { enum: some, const: only } = schema;
  return Array.isArray(some) ? some : only === undefined ? [] : [only];
}

/** Null: one of them cannot be a choice. */
function choicesOf(schema: FormSchema, types: readonly unknown[]): readonly Choice[] | null {
  if (!isChoice(schema)) return types.includes("boolean") ? YES_OR_NO : [];
  const options = Object.hasOwn(schema, "enum") || Object.hasOwn(schema, "const") ? null : optionsIn(schema);
  const given = options ?? valuesIn(schema).map((value) => ({ value, title: null }));
  const choices = given
    .filter(({ value }) => value !== null)
    .map(({ value, title }) => (isScalar(value) ? choiceOf(value, title) : null));
  const texts = new Set(choices.map((choice) => choice?.text));
  const isUsable = choices.length > 0 && texts.size === choices.length;
  return isUsable && choices.every((choice) => choice !== null) ? choices : null;
}

function optionsIn({ oneOf, anyOf }: FormSchema) {
  const options: readonly unknown[] = [oneOf ?? anyOf].flat();
  return options.map((option) => {
    const { const: value, title } = isRecord(option) ? option : {};
    return { value: value ?? undefined, title: textIn(title) };
  });
}

function choiceOf(value: Choice["value"], title: string | null): Choice {
  const text = String(value);
  const usual = YES_OR_NO.find((known) => known.value === value)?.label ?? humanize(text);
  return { text, label: title ?? usual, value };
}

const isScalar = (value: unknown): value is Choice["value"] =>
  ["string", "number", "boolean"].includes(typeof value) && value !== "";

function isRecord(value: unknown): value is FormSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
