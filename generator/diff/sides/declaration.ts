import {
  type Direction,
  type Endpoint,
  type Filter,
  isTier,
  type LetterCase,
  type Method,
  type Pagination,
  type Parameter,
} from "@routewright/runtime/model";
import type { Properties, Value } from "./literal.js";

export type EndpointReading =
  | { readonly ok: true; readonly endpoint: Endpoint }
  | { readonly ok: false; readonly fields: readonly string[] };

/**
 * The endpoint that a module declares; what is left out has the runtime's default (`Declaration`). The fields that
 * are missing, unknown or not what they should be are named instead.
 */
export function endpointOf(declared: Properties): EndpointReading {
  const fields = new Fields(declared);
  const endpoint = {
    model: fields.take("model", asText, undefined),
    path: fields.take("path", asPath, undefined),
    tier: fields.take(
      "tier",
      (value) => (typeof value === "string" && isTier(value) ? value : undefined),
      undefined,
    ),
    relation: fields.take("relation", asRelation, undefined),
    columns: fields.take("columns", asColumns, undefined),
    methods: fields.take("methods", asMethods, ["GET"]),
    legacy: !declared.has("parameters"),
    parameters: fields.take("parameters", asParameters, []),
    allowUnfiltered: fields.take("allowUnfiltered", asBoolean, !declared.has("parameters")),
    requireAnyOf: fields.take("requireAnyOf", asTexts, []),
    pagination: fields.take("pagination", asPagination, null),
    sort: fields.take("sort", asSort, []),
    sortableFields: fields.take("sortableFields", asTexts, []),
    deprecationDate: fields.take("deprecationDate", asText, null),
    successor: fields.take("successor", asPath, null),
    upstreamNodes: fields.take("upstreamNodes", asTexts, null),
  };
  const bad = fields.bad();
  // Without a bad field none of them is undefined.
  return bad.length === 0 ? { ok: true, endpoint: endpoint as Endpoint } : { ok: false, fields: bad };
}

/** Reads named properties one by one and remembers which were not as they should be. */
class Fields {
  readonly #bad: string[] = [];
  readonly #known = new Set<string>();

  constructor(private readonly properties: Properties) {}

  /** The property as `read` understands it, or `fallback` where it is left out; without one it must be there. */
  take<T>(name: string, read: (value: Value) => T | undefined, fallback: T | undefined): T | undefined {
    this.#known.add(name);
    const value = this.properties.get(name);
    const result = value === undefined ? fallback : read(value);
    if (result === undefined) this.#bad.push(name);
    return result;
  }

  bad(): readonly string[] {
    return [...this.#bad, ...[...this.properties.keys()].filter((name) => !this.#known.has(name))];
  }
}

function asText(value: Value): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function asBoolean(value: Value): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function asPath(value: Value): string | undefined {
  return typeof value === "string" && value.startsWith("/v1/") ? value : undefined;
}

/** All items as `read` understands them, or undefined if it does not understand one. */
function asList<T>(value: Value, read: (item: Value) => T | undefined): readonly T[] | undefined {
  if (!isList(value)) return undefined;
  const items = value.map(read).filter((item) => item !== undefined);
  return items.length === value.length ? items : undefined;
}

function asTexts(value: Value): readonly string[] | undefined {
  return asList(value, asText);
}

function asRelation(value: Value): Endpoint["relation"] | undefined {
  const [schema, name, ...rest] = asTexts(value) ?? [];
  return schema !== undefined && name !== undefined && rest.length === 0 ? [schema, name] : undefined;
}

function asColumns(value: Value): Endpoint["columns"] | undefined {
  if (!isProperties(value)) return undefined;
  const columns = [...value].map(([name, type]) => ({ name, type }));
  const isColumn = ({ type }: { type: Value }) => type === null || typeof type === "string";
  return columns.every(isColumn) ? (columns as Endpoint["columns"]) : undefined;
}

function asMethods(value: Value): readonly Method[] | undefined {
  const methods = asTexts(value)?.join(" ");
  if (methods === "GET") return ["GET"];
  return methods === "GET POST" ? ["GET", "POST"] : undefined;
}

function asParameters(value: Value): readonly Parameter[] | undefined {
  return isProperties(value) ? asList([...value], asParameter) : undefined;
}

function asParameter(value: Value): Parameter | undefined {
  if (!isList(value)) return undefined;
  const [name, properties] = value;
  if (typeof name !== "string" || properties === undefined || !isProperties(properties)) return undefined;
  const { column, operator, type, ...rest } = Object.fromEntries(properties);
  const filter = operator === undefined ? undefined : filterOf(operator, rest);
  if (typeof column !== "string" || filter === undefined || filter.type !== type) return undefined;
  return { name, column, ...filter };
}

function filterOf(operator: Value, rest: Readonly<Record<string, Value>>): Filter | undefined {
  const { case: letterCase, maxItems, ...unknown } = rest;
  if (Object.keys(unknown).length > 0) return undefined;
  if (letterCase !== undefined && letterCase !== "lower" && letterCase !== "upper") return undefined;
  if (maxItems !== undefined && typeof maxItems !== "number") return undefined;
  const casing: { case?: LetterCase } = letterCase === undefined ? {} : { case: letterCase };
  switch (operator) {
    case "=":
    case "ILIKE":
      return maxItems === undefined ? { operator, type: "string", ...casing } : undefined;
    case ">=":
    case "<=":
      return maxItems === undefined && letterCase === undefined ? { operator, type: "date" } : undefined;
    case "IN":
      return { operator, type: "string_list", ...casing, ...(maxItems !== undefined && { maxItems }) };
    default:
      return undefined;
  }
}

function asPagination(value: Value): Pagination | undefined {
  if (!isProperties(value) || value.size !== 3) return undefined;
  const { defaultLimit, maxLimit, response } = Object.fromEntries(value);
  if (typeof defaultLimit !== "number" || typeof maxLimit !== "number") return undefined;
  return response === "list" || response === "envelope" ? { defaultLimit, maxLimit, response } : undefined;
}

function asSort(value: Value): Endpoint["sort"] | undefined {
  return asList(value, (key) => {
    const [column, direction, ...rest] = asTexts(key) ?? [];
    if (column === undefined || rest.length > 0 || !isDirection(direction)) return undefined;
    return [column, direction] as const;
  });
}

function isDirection(text: string | undefined): text is Direction {
  return text === "ASC" || text === "DESC";
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function isProperties(value: Value): value is Properties {
  return value instanceof Map;
}
