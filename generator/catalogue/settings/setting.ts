import type { ErrorObject } from "ajv";
import { isObject, member, objectOr } from "../../manifest/json.js";
import { openRecord, type Schema } from "@routewright/runtime/model";
import { type SchemaError, schemaErrorOf, unknownKey } from "../../manifest/schema-errors.js";
import type { NearName } from "../../manifest/near-name.js";
import { formatValue } from "../../manifest/strings.js";
import type { Warning } from "../catalogue.js";

/**
 * One key of `meta.api` or `meta.routewright`, whole: unknown keys, near misses, the JSON Schema for editors and the tables
 * of the pages follow from it. It may stand where a table lists it. `Context`: what it depends on besides its value.
 */
export interface Setting<Value, Read, Context> {
  /** Shape, default and description. */
  readonly schema: Schema<Value>;
  /**
   * Reads the value: undefined where it is absent, without its invalid parts where its shape has problems, which are
   * reported already.
   */
  readonly read: (value: ValidPart<Value> | undefined, context: Context) => Reading<Read>;
  /** Its problems are warnings: the endpoint serves the same rows without it. */
  readonly isAdvisory?: true;
}

/** The problems of a setting, or its value: no problem, no call. */
export interface Reading<Value> {
  readonly problems: readonly SettingProblem[];
  readonly value: () => Value;
}

/** `at` is the path below `meta.api` or `meta.routewright`: `parameters[0].column`. */
export type SettingProblem = SchemaError;

export function reading<Value>(problems: readonly SettingProblem[], value: () => Value): Reading<Value> {
  return { problems, value };
}

/** A setting whose shape says everything. */
export function asWritten<Value>(value: ValidPart<Value> | undefined): Reading<Value | undefined> {
  return reading([], () => value as Value | undefined);
}

/** One problem, as the list that a reader returns. */
export function invalid(at: string, message: string, hint: string): readonly SettingProblem[] {
  return [{ at, message, hint }];
}

/** A value without its invalid parts; lists keep their length, with `undefined` for an invalid item. */
export type ValidPart<T> = T extends readonly (infer Item)[]
  ? readonly (ValidPart<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: ValidPart<T[Key]> | undefined }
    : T;

// The settings of a table have values of different types.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnySetting<Context> = Setting<any, unknown, Context>;

export type SettingTable<Context> = Readonly<Record<string, AnySetting<Context>>>;

/** What each setting of a table was read to. */
export type Values<Table extends SettingTable<never>> = {
  readonly [Key in keyof Table]: ReturnType<ReturnType<Table[Key]["read"]>["value"]>;
};

/** The JSON Schema of a table's settings. */
export function schemaOf(table: SettingTable<never>): Schema {
  return openRecord({}, Object.fromEntries(Object.entries(table).map(([key, { schema }]) => [key, schema])));
}

export interface TableReading<Read> {
  readonly problems: readonly SettingProblem[];
  /** Problems of advisory settings. */
  readonly advice: readonly SettingProblem[];
  /** Keys that nothing reads. */
  readonly unknown: readonly SettingProblem[];
  /** Not to be called where there are problems. */
  readonly values: () => Read;
}

interface WrittenSettings {
  readonly value: unknown;
  readonly schema: Schema;
  /** What is wrong with its shape. */
  readonly errors: readonly ErrorObject[];
  /** The setting that a key probably means whose loss could expose rows. */
  readonly nearName: (key: string) => NearName | null;
}

/**
 * Reads the settings of one `meta.api` or `meta.routewright`.*/
export function readSettings<Table extends SettingTable<Context>, Context>(
  table: Table,
  { value, schema, errors, nearName: near }: WrittenSettings,
  contextOf: (valid: Readonly<Record<string, unknown>>) => Context,
): TableReading<Values<Table>> {
  const shape = errors.filter(({ keyword }) => keyword !== "if");
  const valid = validPartOf(value, shape);
  const context = contextOf(valid ?? {});
  const readings = Object.entries(table).map(
    ([key, setting]) => [key, setting.read(valid?.[key], context)] as const,
  );
  const misspelt = Object.keys(objectOr(value)).flatMap((key) => {
    const found = Object.hasOwn(table, key) ? null : near(key);
    return found?.nearness === "near" ? [[key, found.name] as const] : [];
  });
  const isAdvisory = ({ at }: SettingProblem): boolean => table[keyOf(at)]?.isAdvisory === true;
  const found = [
    ...shape.map(schemaErrorOf),
    // A value that is not an object has no keys to read.
    ...(valid === null ? [] : readings.flatMap(([, { problems }]) => problems)),
    ...misspelt.map(([key, name]) => misspeltKey(key, name)),
  ];
  return {
    problems: found.filter((problem) => !isAdvisory(problem)),
    advice: found.filter(isAdvisory),
    unknown: unknownKeysIn(value, schema, "").filter(
      ({ at, key }) => at !== "" || !misspelt.some(([name]) => name === key),
    ),
    values: () => Object.fromEntries(readings.map(([key, { value }]) => [key, value()])) as Values<Table>,
  };
}

function misspeltKey(key: string, name: string): SettingProblem {
  const message = `The key ${formatValue(key)} is not ${formatValue(name)}, but looks like it: nothing reads it.`;
  return {
    at: member(key).replace(/^\./, ""),
    message,
    hint: `Write ${formatValue(name)}, or remove the key.`,
  };
}

/** `parameters[0].column` → `parameters` */
function keyOf(at: string): string {
  return /^\w*/.exec(at)?.[0] ?? "";
}

/** A settings object without its invalid parts; null for a value that is not an object. */
function validPartOf(
  value: unknown,
  shape: readonly ErrorObject[],
): Readonly<Record<string, unknown>> | null {
  if (!isObject(value)) return null;
  const invalid = shape.filter(({ keyword }) => keyword !== "required").map((error) => error.instancePath);
  if (invalid.length === 0) return value;
  return withoutInvalid(value, "", new Set(invalid)) as Readonly<Record<string, unknown>>;
}

/** `meta.api` → `parameters` → a parameter → its keys: no reader reads deeper. */
const MAX_DEPTH = 3;

/** A value without the parts at the `invalid` JSON pointers; `pointer` is its own. */
function withoutInvalid(value: unknown, pointer: string, invalid: ReadonlySet<string>, depth = 0): unknown {
  if (invalid.has(pointer)) return undefined;
  if (depth === MAX_DEPTH) return value;
  const part = (item: unknown, key: string | number): unknown =>
    withoutInvalid(item, `${pointer}/${String(key)}`, invalid, depth + 1);
  if (Array.isArray(value)) return value.map(part);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, part(item, key)]));
}

interface UnknownKey extends SettingProblem {
  readonly key: string;
}

/** Keys that no schema names, wherever one names others; most are misspelled. A closed object's are errors of its shape. */
function unknownKeysIn(value: unknown, schema: Schema, at: string): readonly UnknownKey[] {
  const { properties, additionalProperties, items } = schema;
  if (Array.isArray(value) && isObject(items))
    return value.flatMap((item: unknown, i) => unknownKeysIn(item, items, `${at}[${String(i)}]`));
  if (!isObject(value) || !isObject(properties) || additionalProperties !== undefined) return [];
  const known = Object.keys(properties);
  const own = Object.keys(value).filter((key) => !known.includes(key));
  return [
    ...own.map((key) => ({ at, key, ...unknownKey(key, known) })),
    ...known.flatMap((key) =>
      Object.hasOwn(value, key)
        ? unknownKeysIn(value[key], properties[key] as Schema, (at + member(key)).replace(/^\./, ""))
        : [],
    ),
  ];
}

/** Unknown keys as warnings of a model; `base`: the path of the settings in its node. */
export function ignoredKeys(
  unknown: readonly SettingProblem[],
  base: string,
): readonly Omit<Warning, "model">[] {
  return unknown.map(({ at, message, hint }) => ({
    path: pathBelow(base, at),
    message: message.replace(/\.$/, "; ignored."),
    hint,
    isUnknownKey: true,
  }));
}

/** Problems as complaints of a model; `base`: the path of the settings in its node. */
export function pathBelow(base: string, at: string): string {
  return at === "" ? base : at.startsWith("[") ? base + at : `${base}.${at}`;
}
