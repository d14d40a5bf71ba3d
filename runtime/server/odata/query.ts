import { type HttpError, httpError, isHttpError, type Result } from "../../core/model/errors.js";
import { MAX_OFFSET } from "../../core/model/limits.js";
import type { Projection } from "../../core/model/projection.js";
import {
  type Condition,
  FILTER,
  type Page,
  type RawFields,
  type ResolvedQuery,
} from "../../core/model/query.js";
import type { Caller } from "../../core/model/caller.js";
import type { SortKey } from "../../core/model/endpoint.js";
import type { Pagination } from "../../core/model/endpoint-parts.js";
import type { Gateway } from "../../core/handler/gateway.js";
import { queryOf } from "../../core/handler/resolve.js";
import {
  chooseColumns,
  missingFilter,
  ownRows,
  readConditions,
  unsupported,
} from "../../core/request/resolve-query.js";
import { readSort } from "../../core/request/request-fields.js";
import { readOdataFilter } from "./filter.js";
import { type OdataOptions, readCount } from "./options.js";
import type { Representation } from "./representation.js";
import type { OdataProperty, OdataSet } from "./sets.js";

/** A request for the rows of a set. */
export interface OdataQuery {
  readonly query: ResolvedQuery;
  /** Rows that are still wanted; null: all. */
  readonly top: number | null;
  /** The properties of a row where `$select` chose them; null: all. */
  readonly selected: readonly string[] | null;
}

/** Where a request differs from one for a page: conditions of a key, or only a number. */
export interface Asked {
  readonly options: OdataOptions;
  readonly representation: Representation;
  readonly conditions?: readonly Condition[];
  /** Rows instead of those that the options ask for. */
  readonly limit?: number;
  /** The one property that a path asks for. */
  readonly property?: OdataProperty;
}

/** Checks the options and makes the query of them, as the endpoint's own parameters would (`resolve`). */
export async function resolveOdata(
  gateway: Gateway,
  set: OdataSet,
  caller: Caller,
  asked: Asked,
): Promise<Result<OdataQuery>> {
  const { endpoint } = set;
  const { options } = asked;
  const own = ownRows(endpoint.spec, caller.org);
  if (isHttpError(own)) return own;
  const conditions = await conditionsOf(set, asked);
  if (isHttpError(conditions)) return conditions;
  const page = pageOf(set, asked);
  if (isHttpError(page)) return page;
  const sort = sortOf(set, options);
  if (isHttpError(sort)) return sort;
  const chosen = chosenBy(set, asked);
  if (isHttpError(chosen)) return chosen;
  const { columns, selected } = chosen;
  const selection = { columns, conditions, sort, page };
  const fields = nativeFields(
    options,
    selected === null ? "" : columns.columns.map(({ name }) => name).join(","),
  );
  const query = queryOf(gateway, endpoint, caller, { fields, format: "json-declared", own }, selection);
  if (isHttpError(query)) return query;
  const top = readCount("top", options);
  return isHttpError(top) ? top : { query, top, selected };
}

async function conditionsOf(set: OdataSet, asked: Asked): Promise<Result<readonly Condition[]>> {
  const { endpoint } = set;
  const { custom } = asked.options;
  const unknown = unknownOption(set, asked.options);
  if (unknown !== null) return unknown;
  const fields = new Map([...custom].filter(([name]) => name !== FILTER));
  const own = readConditions(endpoint.filters, fields, { endpoint, filters: [] });
  if (isHttpError(own)) return own;
  const filtered = await readOdataFilter(set, asked.options);
  if (isHttpError(filtered)) return filtered;
  const all = [...own, ...filtered, ...(asked.conditions ?? [])];
  return missingFilter(endpoint.spec, all) ?? all;
}

/** What is neither an option of OData nor a parameter of the endpoint that filters. */
export function unknownOption(set: OdataSet, { custom }: OdataOptions): HttpError | null {
  const unknown = [...custom.keys()].filter((name) => !isOwnParameter(set, name));
  return unknown.length === 0 ? null : unsupported(unknown, "query");
}

/** Whether a name is a parameter of the endpoint that filters. */
export function isOwnParameter({ endpoint }: OdataSet, name: string): boolean {
  return endpoint.filters.some((filter) => filter.name === name);
}

/** Rows of a page: at most `maxLimit`, or fewer where the client prefers that. */
export function pageSizeOf(
  { maxLimit }: Pick<Pagination, "maxLimit">,
  { maxPageSize }: Pick<Representation, "maxPageSize">,
): number {
  return Math.min(maxPageSize ?? Infinity, maxLimit);
}

function pageOf(set: OdataSet, asked: Asked): Result<Page> | null {
  const { options, representation, limit } = asked;
  const [top, skip] = [readCount("top", options), readCount("skip", options, MAX_OFFSET)];
  if (isHttpError(top)) return top;
  if (isHttpError(skip)) return skip;
  const { pagination } = set.endpoint.spec;
  if (skip !== null && pagination === null)
    return httpError("notImplemented", { name: "$skip", reason: "this set has no pages" });
  const most = pagination === null ? Infinity : pageSizeOf(pagination, representation);
  // Engines take no page without rows: of `$top=0` one is read and not sent.
  const rows = limit ?? Math.max(1, Math.min(top ?? Infinity, most));
  return rows === Infinity ? null : { limit: rows, offset: skip ?? 0, lookAhead: true };
}

/** The order that `$orderby` names: one that the endpoint has, or the begin of one. */
function sortOf(set: OdataSet, { system: { orderby } }: OdataOptions): Result<readonly SortKey[]> {
  const { spec } = set.endpoint;
  const asked = readOrder(set, orderby);
  if (isHttpError(asked)) return asked;
  const [first] = asked;
  const isChosen = first !== undefined && spec.sortableFields.includes(first[0]);
  const text = (value: string) => ({ from: "query", texts: [value] }) as const;
  const chosen: RawFields = isChosen
    ? new Map([
        ["sort_by", text(first[0])],
        ["sort_direction", text(first[1])],
      ])
    : new Map();
  const sort = readSort(spec, chosen);
  if (isHttpError(sort)) return sort;
  const isOffered = asked.every(([column, direction], i) => {
    const [name, order] = sort.keys[i] ?? [];
    return name === column && order === direction;
  });
  return isOffered
    ? sort.keys
    : httpError("notImplemented", { name: "$orderby", reason: "the endpoint does not sort like this" });
}

function readOrder(set: OdataSet, text: string | undefined): Result<readonly SortKey[]> {
  const keys: SortKey[] = [];
  for (const part of text === undefined || text === "" ? [] : text.split(",")) {
    const [name = "", direction = "asc", ...more] = part.trim().split(/\s+/);
    const property = set.properties.find((each) => each.name === name);
    const isAgain = keys.some(([column]) => column === property?.column.name);
    const isDirection = /^(?:asc|desc)$/i.test(direction);
    if (property === undefined || isAgain || !isDirection || more.length > 0)
      return httpError("valueNotOfType", { name: "$orderby", type: namesOf(set) });
    keys.push([property.column.name, direction.toLowerCase() === "asc" ? "ASC" : "DESC"]);
  }
  return keys;
}

interface SelectedColumns {
  readonly columns: Projection;
  readonly selected: readonly string[] | null;
}

/** The columns that a path names, else those of the options. */
function chosenBy(
  set: OdataSet,
  { options, representation: { isExact }, property }: Asked,
): Result<SelectedColumns> {
  if (property === undefined) return readSelect(set, options, isExact);
  const columns = chooseColumns(isExact ? set.exactRows : set.rows, [property.column.name]);
  return columns === null ? httpError("notFound") : { columns, selected: [property.name] };
}

/** The columns of `$select`. Where the endpoint gives no choice a row has all of them, as OData allows. */
function readSelect(
  set: OdataSet,
  { system: { select } }: OdataOptions,
  isExact: boolean,
): Result<SelectedColumns> {
  const all = isExact ? set.exactRows : set.rows;
  const names = (select ?? "").split(",").map((name) => name.trim());
  if (select === undefined || select === "" || names.includes("*")) return { columns: all, selected: null };
  const found = names.map((name) => set.properties.find((property) => property.name === name));
  if (found.includes(undefined)) return httpError("valueNotOfType", { name: "$select", type: namesOf(set) });
  const columns = set.endpoint.spec.fields
    ? chooseColumns(
        all,
        (found as OdataProperty[]).map(({ column }) => column.name),
      )
    : null;
  return columns === null ? { columns: all, selected: null } : { columns, selected: [...new Set(names)] };
}

/** Names that an error repeats. */
const MAX_NAMES = 1000;

const namesOf = ({ properties }: OdataSet): string =>
  `names among ${properties.map(({ name }) => name).join(", ")}`.slice(0, MAX_NAMES);

/** The options by the names that the endpoint has for them: usage and shapes know these. */
function nativeFields({ system, custom }: OdataOptions, columns: string): RawFields {
  const { filter, orderby = "", top, skip, skiptoken } = system;
  const [by = "", direction = "asc"] = orderby.split(",")[0]?.trim().split(/\s+/) ?? [];
  const named: Readonly<Record<string, string | undefined>> = {
    ...{ [FILTER]: filter, fields: columns, sort_by: by, sort_direction: by && direction },
    ...{ limit: top, offset: skip, cursor: skiptoken },
  };
  const sent = Object.entries(named).flatMap(([name, value]) =>
    value ? [[name, { from: "query" as const, texts: [value] }] as const] : [],
  );
  return new Map([...custom, ...sent]);
}
