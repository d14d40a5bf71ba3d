import type { Method, Pagination, SortKey } from "@routewright/runtime/model";
import { isObject } from "../../manifest/json.js";
import { described, flag, listOf, name, oneOf, openRecord, type ValueOf } from "@routewright/runtime/model";
import { HINT, validatorOf } from "../../manifest/schema-errors.js";
import type { Model } from "../../manifest/model.js";
import { type NearName, nearName } from "../../manifest/near-name.js";
import { formatValue } from "../../manifest/strings.js";
import type { ApiSettings } from "./context.js";
import { column, parameters, positive } from "./parameters.js";
import { type SettingColumn, unknownColumn, unorderedColumn } from "./setting-columns.js";
import {
  asWritten,
  invalid,
  reading,
  readSettings,
  schemaOf,
  type Setting,
  type SettingProblem,
  type TableReading,
  type ValidPart,
  type Values,
} from "./setting.js";

/** What the keys of a `meta.api` depend on besides their values. */
export interface ApiContext {
  /** The whole `meta.api`, without its invalid parts. */
  readonly api: ValidPart<MetaApi>;
  readonly columns: readonly SettingColumn[];
  /** Whether `meta.routewright.filters` names columns. */
  readonly hasFilters: boolean;
}

type MetaApi = {
  readonly [Key in keyof typeof META_API]?: ValueOf<(typeof META_API)[Key]["schema"]>;
};

const pages = openRecord(
  { enabled: described("required where `pagination` is given", flag) },
  {
    default_limit: described("at least 1", positive),
    max_limit: described("at least `default_limit`", positive),
    response: described("a bare array, or `{items, pagination}`", oneOf(["list", "envelope"]), "list"),
  },
);
type MetaPagination = ValueOf<typeof pages>;

const limits = {
  default_limit: { [HINT]: "Give the number of rows on a page without `limit`." },
  max_limit: { [HINT]: "Give the largest `limit` that a request may send." },
};

const pagination: Setting<MetaPagination, Pagination | null, ApiContext> = {
  schema: {
    ...described("pages of rows", pages),
    if: { properties: { enabled: { const: true } }, required: ["enabled"] },
    then: { required: Object.keys(limits), properties: limits },
  },
  read: (value) => reading(value === undefined ? [] : swappedLimits(value), () => paginationOf(value)),
};

function swappedLimits({ enabled, default_limit, max_limit }: ValidPart<MetaPagination>) {
  if (!enabled || default_limit === undefined || max_limit === undefined) return [];
  if (default_limit <= max_limit) return [];
  return invalid(
    "pagination.max_limit",
    `\`max_limit\` (${String(max_limit)}) is below \`default_limit\` (${String(default_limit)}).`,
    "Raise `max_limit` or lower `default_limit`.",
  );
}

function paginationOf(meta: ValidPart<MetaPagination> | undefined): Pagination | null {
  if (!meta?.enabled || meta.default_limit === undefined || meta.max_limit === undefined) return null;
  return { defaultLimit: meta.default_limit, maxLimit: meta.max_limit, response: meta.response ?? "list" };
}

const sortKey = openRecord({ column, direction: oneOf(["ASC", "DESC"]) });
type MetaSortKey = ValueOf<typeof sortKey>;

const sort: Setting<readonly MetaSortKey[], readonly SortKey[], ApiContext> = {
  schema: described(
    "`{column, direction}`, applied in order; the column must exist and have an order",
    listOf(sortKey),
    [],
  ),
  read: (value = [], { columns }) =>
    reading(
      sortProblems(
        value.map((key, i) => [key?.column, `sort[${String(i)}].column`]),
        columns,
      ),
      () => (value as readonly MetaSortKey[]).map(({ column, direction }) => [column, direction] as const),
    ),
};

const sortableFields: Setting<readonly string[], readonly string[], ApiContext> = {
  schema: described("columns that callers may sort by", listOf(name), []),
  read: (value = [], { columns }) =>
    reading(
      sortProblems(
        value.map((column, i) => [column, `sortable_fields[${String(i)}]`]),
        columns,
      ),
      () => [...new Set(value as readonly string[])],
    ),
};

function sortProblems(
  sorted: readonly (readonly [column: string | undefined, at: string])[],
  columns: readonly SettingColumn[],
): readonly SettingProblem[] {
  return [
    ...sorted.flatMap(([column, at]) => unknownColumn(column, at, columns)),
    ...sorted.flatMap(([column, at]) => unorderedColumn(column, at, columns)),
  ];
}

const requireAnyOf: Setting<readonly string[], readonly string[], ApiContext> = {
  schema: described("declared parameters, of which a request needs one", listOf(name), []),
  read: (value = [], { api }) =>
    reading(undeclaredParameters(value, api), () => [...new Set(value as readonly string[])]),
};

function undeclaredParameters(
  required: readonly (string | undefined)[],
  api: ValidPart<MetaApi>,
): readonly SettingProblem[] {
  const names = (api.parameters ?? []).map((parameter) => parameter?.name);
  if (isInvalid(api, "parameters") || names.includes(undefined)) return [];
  const declared = names.map(formatValue).join(", ") || "none are declared";
  return required.flatMap((name, i) => {
    if (name === undefined || names.includes(name)) return [];
    const hint = `Declare it, or use one of: ${declared}.`;
    return invalid(`require_any_of[${String(i)}]`, `No parameter is named ${formatValue(name)}.`, hint);
  });
}

const allowUnfiltered: Setting<boolean, boolean, ApiContext> = {
  schema: described("when false, a request needs at least one declared parameter", flag, false),
  read: (value = false, { api, hasFilters }) =>
    reading(value || hasFilters ? [] : missingFilters(api), () => value),
};

function missingFilters(api: ValidPart<MetaApi>): readonly SettingProblem[] {
  if (isInvalid(api, "parameters") || isInvalid(api, "allow_unfiltered")) return [];
  if ((api.parameters ?? []).length > 0) return [];
  return invalid(
    "allow_unfiltered",
    "It is false and no parameter is declared: every request would be refused.",
    "Declare a parameter, or write `allow_unfiltered: true`.",
  );
}

function isInvalid(api: ValidPart<MetaApi>, key: keyof MetaApi): boolean {
  return Object.hasOwn(api, key) && api[key] === undefined;
}

const methods: Setting<readonly Method[], readonly Method[], ApiContext> = {
  schema: {
    ...described("`GET`, `POST`; not empty", listOf(oneOf(["GET", "POST"])), ["GET"]),
    minItems: 1,
  },
  read: (value = []) => reading([], () => (value.includes("POST") ? ["GET", "POST"] : ["GET"])),
};

const excludeFromApi: Setting<boolean, boolean | undefined, ApiContext> = {
  schema: described("keeps the model out", flag, false),
  read: asWritten,
};

/** The keys of `meta.api` (generator/docs/meta-api.md). */
const META_API = {
  methods,
  parameters,
  sort,
  sortable_fields: sortableFields,
  require_any_of: requireAnyOf,
  allow_unfiltered: allowUnfiltered,
  pagination,
  exclude_from_api: excludeFromApi,
};

export const META_API_SCHEMA = schemaOf(META_API);

const errorsIn = validatorOf("meta-api");

export const META_API_KEYS: ReadonlySet<string> = new Set(Object.keys(META_API));

/** Whether a value has the shape of a setting of `meta.api`. */
export function fitsMetaApi(key: string, value: unknown): boolean {
  return !errorsIn({ [key]: value }).some(({ instancePath }) => instancePath.startsWith(`/${key}`));
}

/** Whether `meta.api` excludes the model. */
export function isExcluded({ api }: Pick<Model, "api">): boolean {
  return isObject(api?.value) && api.value["exclude_from_api"] === true;
}

/** A model without `meta.api`: GET only, no parameters, the whole table. */
const LEGACY: ApiSettings = {
  methods: ["GET"],
  legacy: true,
  parameters: [],
  allowUnfiltered: true,
  requireAnyOf: [],
  pagination: null,
  sort: [],
  sortableFields: [],
};

function settingsOf(read: Values<typeof META_API>): ApiSettings {
  return {
    methods: read.methods,
    legacy: false,
    parameters: read.parameters,
    allowUnfiltered: read.allow_unfiltered,
    requireAnyOf: read.require_any_of,
    pagination: read.pagination,
    sort: read.sort,
    sortableFields: read.sortable_fields,
  };
}

/** A model that its author keeps out is not served because of a letter. */
const nearExclude = (key: string): NearName | null => nearName(key, ["exclude_from_api"]);

/** Reads `meta.api` as written; null for a legacy model. An empty `meta.api:` is an empty record (generator/docs/meta-api.md). */
export function readMetaApi(api: Model["api"], context: Omit<ApiContext, "api">): TableReading<ApiSettings> {
  if (api === null) return { problems: [], advice: [], unknown: [], values: () => LEGACY };
  const value = api.value ?? {};
  const { values, ...found } = readSettings<typeof META_API, ApiContext>(
    META_API,
    { value, schema: META_API_SCHEMA, errors: errorsIn(value), nearName: nearExclude },
    (valid) => ({ ...context, api: valid }),
  );
  return { ...found, values: () => settingsOf(values()) };
}
