import type { ColumnType, Field } from "../kinds.js";
import type { Expression } from "../syntax.js";
import { type Meaning, type ReadType, readAt, STRING } from "./meaning.js";

export const array: Meaning = (args, read) => ({ kind: "array", of: readAt(args, 0, read), nullable: false });

/** `Map(K, V)`: whatever K is, a JSON object's key is its text. */
export const map: Meaning = (args, read) => ({ kind: "map", value: readAt(args, 1, read), nullable: false });

/** `Tuple(T, …)` is a JSON array, `Tuple(name T, …)` an object; half named is neither. */
export const tuple: Meaning = (args, read) => {
  if (args.some(isNamed)) return recordOf(args, read);
  return args.length === 0 ? undefined : { kind: "tuple", of: args.map(read), nullable: false };
};

/** `Nested(name T, …)`: an array of objects. */
export const nested: Meaning = (args, read) => {
  const record = recordOf(args, read);
  return record && { kind: "array", of: record, nullable: false };
};

/** `Enum8('a' = 1, …)`: the row shows the string. Without a list of members it may be any string. */
export const enumeration: Meaning = (args) => {
  const values = args.map(memberOf);
  if (!values.every((value) => value !== undefined)) return undefined;
  return values.length === 0 ? STRING : { kind: "enum", values: [...new Set(values)], nullable: false };
};

function memberOf([name, ...number]: Expression): string | undefined {
  const [sign, value] = number;
  const isNumbered = number.length === 2 && sign?.kind === "sign" && value?.kind === "number";
  return name?.kind === "string" && (number.length === 0 || isNumbered) ? name.text : undefined;
}

/** ClickHouse, too, tries a name and a type before a type of several words. */
function isNamed([name, type]: Expression): boolean {
  return name?.kind === "word" && type?.kind === "word";
}

function recordOf(args: readonly Expression[], read: ReadType): ColumnType | undefined {
  const fields = args.map((expression) => fieldOf(expression, read));
  if (fields.length === 0 || !fields.every((field) => field !== undefined)) return undefined;
  const isDistinct = new Set(fields.map((field) => field.name)).size === fields.length;
  return isDistinct ? { kind: "record", fields, nullable: false } : undefined;
}

function fieldOf(expression: Expression, read: ReadType): Field | undefined {
  const [name, ...type] = expression;
  return name?.kind === "word" && isNamed(expression) ? { name: name.text, type: read(type) } : undefined;
}
