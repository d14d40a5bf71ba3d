import type { Filter, Method, Pagination } from "@routewright/runtime/model";
import { isObject, listOr } from "../../manifest/json.js";
import {
  flag,
  HINT,
  listOf,
  name,
  oneOf,
  openRecord,
  type SchemaError,
  schemaErrorOf,
  text,
  unknownKey,
  validatorOf,
  type ValueOf,
  wholeNumber,
} from "../../manifest/json-schema.js";
import type { CatalogueEntry, DescribedParameter } from "../catalogue.js";

/** From 1 to the maximum of a PostgreSQL `integer`. */
const positive = wholeNumber(1, 2_147_483_647);
const column = { ...name, [HINT]: "Name a column of the model." };

const parameter = openRecord(
  {
    name: { ...name, [HINT]: "Name the query parameter." },
    column,
    operator: oneOf(["=", ">=", "<=", "ILIKE", "IN"]),
    type: oneOf(["string", "date", "string_list"]),
  },
  {
    description: text,
    case: oneOf(["lower", "upper"]),
    max_items: positive,
    max_length: positive,
  },
);

const limits = {
  default_limit: { [HINT]: "Give the number of rows on a page without `limit`." },
  max_limit: { [HINT]: "Give the largest `limit` that a request may send." },
};

const pagination = {
  ...openRecord(
    { enabled: flag },
    { default_limit: positive, max_limit: positive, response: oneOf(["list", "envelope"]) },
  ),
  if: { properties: { enabled: { const: true } }, required: ["enabled"] },
  then: { required: Object.keys(limits), properties: limits },
};

const sortKey = openRecord({ column, direction: oneOf(["ASC", "DESC"]) });

/** The shape of `meta.api`; rules.ts checks what depends on several values. */
export const META_API_SCHEMA = openRecord(
  {},
  {
    exclude_from_api: flag,
    methods: { ...listOf(oneOf(["GET", "POST"])), minItems: 1 },
    allow_unfiltered: flag,
    require_any_of: listOf(name),
    parameters: listOf(parameter),
    pagination,
    sort: listOf(sortKey),
    sortable_fields: listOf(name),
  },
);

export type MetaApi = ValueOf<typeof META_API_SCHEMA>;
export type MetaParameter = ValueOf<typeof parameter>;
export type MetaPagination = ValueOf<typeof pagination>;

const keysOf = ({ properties }: { readonly [keyword: string]: unknown }): readonly string[] =>
  Object.keys(properties as object);

/** The known keys of each object. Any other key is probably misspelled. */
export const KNOWN_KEYS = {
  api: keysOf(META_API_SCHEMA),
  parameter: keysOf(parameter),
  pagination: keysOf(pagination),
  sort: keysOf(sortKey),
} as const;

/** A value without its invalid parts; lists keep their length, with `undefined` for an invalid item. */
export type ValidPart<T> = T extends readonly (infer Item)[]
  ? readonly (ValidPart<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: ValidPart<T[Key]> | undefined }
    : T;

interface ShapeResult {
  /** The valid parts; null where the value is not an object. */
  readonly valid: ValidPart<MetaApi> | null;
  readonly errors: readonly ValidationError[];
}

/** An error in a `meta.api`; `at` is its path there. */
export type ValidationError = SchemaError;

const errorsIn = validatorOf("meta-api");

/** Validates a `meta.api` against its schema and reports every error, not only the first. */
export function validateShape(value: unknown): ShapeResult {
  const errors = errorsIn(value).filter(({ keyword }) => keyword !== "if");
  const invalid = errors.filter(({ keyword }) => keyword !== "required").map((error) => error.instancePath);
  const valid = isObject(value) ? (withoutInvalid(value, "", new Set(invalid)) as ValidPart<MetaApi>) : null;
  return { valid, errors: errors.map(schemaErrorOf) };
}

/** `meta.api` → `parameters` → a parameter → its keys: rules.ts reads nothing deeper. */
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

/** Warnings about unknown keys: most are misspelled. */
export function unknownKeys(value: unknown): ValidationError[] {
  if (!isObject(value)) return [];
  const { parameters, sort, pagination } = value;
  return [
    ...unknownKeysOf(value, "", KNOWN_KEYS.api),
    ...listOr(parameters).flatMap((item, i) => unknownKeysOf(item, `parameters[${i}]`, KNOWN_KEYS.parameter)),
    ...listOr(sort).flatMap((item, i) => unknownKeysOf(item, `sort[${i}]`, KNOWN_KEYS.sort)),
    ...unknownKeysOf(pagination, "pagination", KNOWN_KEYS.pagination),
  ];
}

/** Warnings about the keys of an object that are not `known`. */
export function unknownKeysOf(value: unknown, at: string, known: readonly string[]): ValidationError[] {
  if (!isObject(value)) return [];
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const { message, hint } = unknownKey(key, known);
      return { at, message: message.replace(/\.$/, "; ignored."), hint };
    });
}

/** The parts of an endpoint that `meta.api` decides. */
export type ApiSettings = Pick<
  CatalogueEntry,
  | "methods"
  | "legacy"
  | "parameters"
  | "allowUnfiltered"
  | "requireAnyOf"
  | "pagination"
  | "sort"
  | "sortableFields"
>;

/** A model without `meta.api`: GET only, no parameters, the whole table. */
export const LEGACY: ApiSettings = {
  methods: ["GET"],
  legacy: true,
  parameters: [],
  allowUnfiltered: true,
  requireAnyOf: [],
  pagination: null,
  sort: [],
  sortableFields: [],
};

/** Fills in the defaults of a checked `meta.api`. */
export function settingsOf(api: MetaApi): ApiSettings {
  const methods: readonly Method[] = api.methods?.includes("POST") ? ["GET", "POST"] : ["GET"];
  return {
    methods,
    legacy: false,
    parameters: (api.parameters ?? []).map(parameterOf),
    allowUnfiltered: api.allow_unfiltered ?? false,
    requireAnyOf: [...new Set(api.require_any_of)],
    pagination: paginationOf(api.pagination),
    sort: (api.sort ?? []).map(({ column, direction }) => [column, direction] as const),
    sortableFields: [...new Set(api.sortable_fields)],
  };
}

function parameterOf(meta: MetaParameter): DescribedParameter {
  const { name, column, description = "" } = meta;
  return { name, column, ...filterOf(meta), ...(description.trim() !== "" && { description }) };
}

/** Operator and type match: rules.ts has checked it. */
function filterOf({ operator, case: letterCase, max_items, max_length }: MetaParameter): Filter {
  const text = {
    ...(letterCase !== undefined && { case: letterCase }),
    ...(max_length !== undefined && { maxLength: max_length }),
  };
  switch (operator) {
    case "=":
    case "ILIKE":
      return { operator, type: "string", ...text };
    case ">=":
    case "<=":
      return { operator, type: "date" };
    case "IN":
      return {
        operator,
        type: "string_list",
        ...text,
        ...(max_items === undefined ? {} : { maxItems: max_items }),
      };
  }
}

function paginationOf(meta: MetaPagination | undefined): Pagination | null {
  if (!meta?.enabled || meta.default_limit === undefined || meta.max_limit === undefined) return null;
  return { defaultLimit: meta.default_limit, maxLimit: meta.max_limit, response: meta.response ?? "list" };
}
