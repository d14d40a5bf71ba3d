/** A value as a generated module writes it down; an object keeps its names in order. */
export type Value = string | number | boolean | null | readonly Value[] | Properties;
export type Properties = ReadonlyMap<string, Value>;

/** A declaration nests three deep; this keeps a hostile file off the stack's end. */
const MAX_DEPTH = 8;

/** Reads text from left to right; `at` is the offset behind what has been read. */
interface Cursor {
  readonly text: string;
  at: number;
}

/**
 * Reads the literal at an offset of a module's text, without running it: strings in JSON's form, whole numbers, `true`,
 * `false`, `null`, lists and objects. Anything else, such as a call or a variable, is no literal: undefined.
 */
export function readLiteral(
  text: string,
  at: number,
): { readonly value: Value; readonly end: number } | undefined {
  const cursor = { text, at };
  const value = valueAt(cursor, 0);
  return value === undefined ? undefined : { value, end: cursor.at };
}

function valueAt(cursor: Cursor, depth: number): Value | undefined {
  if (depth > MAX_DEPTH) return undefined;
  if (take(cursor, OPEN_OBJECT)) return propertiesAt(cursor, depth);
  if (take(cursor, OPEN_LIST)) return itemsAt(cursor, depth);
  const scalar = take(cursor, SCALAR);
  return scalar === undefined ? undefined : (JSON.parse(scalar) as Value);
}

function itemsAt(cursor: Cursor, depth: number): readonly Value[] | undefined {
  const items: Value[] = [];
  while (take(cursor, CLOSE_LIST) === undefined) {
    const item = valueAt(cursor, depth + 1);
    if (item === undefined || !endsItem(cursor, CLOSE_LIST)) return undefined;
    items.push(item);
  }
  return items;
}

function propertiesAt(cursor: Cursor, depth: number): Properties | undefined {
  const properties = new Map<string, Value>();
  while (take(cursor, CLOSE_OBJECT) === undefined) {
    const name = nameAt(cursor);
    const value = name === undefined ? undefined : valueAt(cursor, depth + 1);
    if (name === undefined || value === undefined || properties.has(name)) return undefined;
    if (!endsItem(cursor, CLOSE_OBJECT)) return undefined;
    properties.set(name, value);
  }
  return properties;
}

/** The name of a property with the colon behind it: an identifier, a string, or the one computed name that there is. */
function nameAt(cursor: Cursor): string | undefined {
  const name = take(cursor, NAME);
  if (name === undefined || take(cursor, COLON) === undefined) return undefined;
  if (name.startsWith("[")) return "__proto__";
  return name.startsWith('"') ? (JSON.parse(name) as string) : name;
}

/** Behind an item stands a comma, or the bracket that closes. */
function endsItem(cursor: Cursor, close: RegExp): boolean {
  if (take(cursor, COMMA) !== undefined) return true;
  const { at } = cursor;
  const isClosed = take(cursor, close) !== undefined;
  cursor.at = at;
  return isClosed;
}

const STRING = String.raw`"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"`;
const SCALAR = new RegExp(
  String.raw`\s*(${STRING}|-?(?:0|[1-9]\d*)(?![\w.])|(?:true|false|null)(?![\w$]))`,
  "y",
);
const NAME = new RegExp(String.raw`\s*(${STRING}|[A-Za-z_$][\w$]*|\["__proto__"\])`, "y");
const OPEN_OBJECT = /\s*(\{)/y;
const CLOSE_OBJECT = /\s*(\})/y;
const OPEN_LIST = /\s*(\[)/y;
const CLOSE_LIST = /\s*(\])/y;
const COLON = /\s*(:)/y;
const COMMA = /\s*(,)/y;

function take(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const match = pattern.exec(cursor.text);
  if (match !== null) cursor.at = pattern.lastIndex;
  return match?.[1];
}
