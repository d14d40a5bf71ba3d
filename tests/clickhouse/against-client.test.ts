import fc from "fast-check";
import { expect, it } from "vitest";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { compact } from "../support/http-client.js";
import { filteredRequests, filteredWhere, sendFiltered } from "../warehouse/filtered-requests.js";
import {
  COLUMN_FILTERS,
  COLUMNS,
  FILTERS,
  NAMES,
  ROWS,
  shownValue,
  type TestFilter,
  valueOf,
} from "./special-values.js";

/** Requests with valid parameters, each compared with what ClickHouse says by SQL of this test's own. */
const REQUESTS = 2000;

/** The same with column filters and chosen columns. */
const FILTERED_REQUESTS = 1000;
const MAX_LIMIT = 250;

const ids = Array.from({ length: ROWS }, (_, i) => i + 1);
const definition = Object.entries(COLUMNS).map(([name, { type }]) => `${name} ${type}`);
const database = await ownDatabase([
  `CREATE TABLE @.rows (id UInt32, ${definition.join(", ")}) ORDER BY id`,
  `INSERT INTO @.rows VALUES ${ids.map((id) => `(${NAMES.map((name) => valueOf(name, id)[0]).join(", ")})`).join(", ")}`,
]);

const typeOf = ({ operator }: TestFilter): string =>
  operator === "IN" ? "string_list" : operator === ">=" || operator === "<=" ? "date" : "string";

const SORTABLE = ["id", "label", "amount", "day", "at", "wide", "ratio", "mood"];
const PARAMETERS = Object.entries(FILTERS).map(([name, filter]) => ({
  name,
  column: filter.column,
  operator: filter.operator,
  type: typeOf(filter),
  ...(filter.case && { case: filter.case }),
}));
const models = ["list", "envelope", "filtered"].map((response) => ({
  name: response,
  schema: database,
  columns: {
    id: "UInt32",
    ...Object.fromEntries(Object.entries(COLUMNS).map(([name, { type }]) => [name, type])),
  },
  tags: ["production", "law", `api:${response}`],
  api: {
    methods: ["GET", "POST"],
    allow_unfiltered: true,
    parameters: response === "filtered" ? [] : PARAMETERS,
    pagination: {
      ...{ enabled: true, default_limit: 10, max_limit: MAX_LIMIT },
      response: response === "envelope" ? response : "list",
    },
    sort: [{ column: "id", direction: "DESC" }],
    sortable_fields: SORTABLE,
  },
}));
const manifest = manifestOf(models, { adapter_type: "clickhouse" }) as {
  nodes: Record<string, { alias: string; config: { meta: Record<string, unknown> } }>;
};
for (const [id, node] of Object.entries(manifest.nodes)) {
  node.alias = "rows";
  if (id.endsWith("filtered"))
    node.config.meta["routewright"] = { fields: true, filters: Object.keys(COLUMN_FILTERS) };
}
const url = hasClickhouse
  ? await serveManifest(manifest, { DATABASE_URL: clickhouseUrl(), RATE_LIMITS: "tier3=10000000" })
  : "";

interface Request {
  readonly endpoint: "list" | "envelope";
  readonly filters: readonly (readonly [name: string, values: readonly string[]])[];
  readonly sort: readonly [field: string, direction: "ASC" | "DESC"] | null;
  readonly limit: number | null;
  readonly offset: number | null;
  readonly format: "json" | "csv" | "ndjson";
  readonly method: "GET" | "POST";
  readonly encoding: "identity" | "gzip";
}

const filter = fc
  .constantFrom(...Object.entries(FILTERS))
  .chain(([name, { operator, values }]) =>
    fc.tuple(
      fc.constant(name),
      fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: operator === "IN" ? 4 : 1 }),
    ),
  );

const request: fc.Arbitrary<Request> = fc.record({
  endpoint: fc.constantFrom("list", "envelope"),
  filters: fc.uniqueArray(filter, { maxLength: 2, selector: ([name]) => name }),
  sort: fc.option(fc.tuple(fc.constantFrom(...SORTABLE), fc.constantFrom("ASC", "DESC"))),
  limit: fc.option(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: MAX_LIMIT }))),
  offset: fc.option(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: ROWS + 10 }))),
  format: fc.constantFrom("json", "json", "csv", "ndjson"),
  method: fc.constantFrom("GET", "GET", "POST"),
  encoding: fc.constantFrom("identity", "gzip"),
});

/** What ClickHouse says: the ids of the page in their order, and whether rows follow. */
async function expected({ filters, sort, limit, offset }: Request) {
  const wheres = filters.map(
    ([name, values]) => `(${values.map((v) => FILTERS[name]?.sql(v)).join(" OR ")})`,
  );
  const rows = await idsOf(wheres.length === 0 ? "" : `WHERE ${wheres.join(" AND ")}`, sort);
  const [from, count] = [offset ?? 0, limit ?? 10];
  return { page: rows.slice(from, from + count), hasMore: rows.length > from + count };
}

/** From so many alternatives ClickHouse makes a list, which tells 0 from -0 and cuts fractions of seconds. */
const NO_LISTS = "SETTINGS optimize_min_equality_disjunction_chain_length = 1000";

/** The ids of the selected rows, in their order. */
async function idsOf(where: string, sort: Request["sort"]): Promise<readonly number[]> {
  const nulls = sort?.[1] === "DESC" ? "NULLS FIRST" : "NULLS LAST";
  const orders = [
    ...(sort === null ? [] : [`${sort.join(" ")} ${nulls}`]),
    ...(sort?.[0] === "id" ? [] : ["id DESC"]),
  ];
  const lines = await clickhouse(
    `SELECT id FROM ${database}.rows ${where} ORDER BY ${orders.join(", ")} ${NO_LISTS} FORMAT TSV`,
  );
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map(Number);
}

function send(
  { endpoint, filters, sort, limit, offset, format, method, encoding }: Request,
  tag: string | null,
) {
  const fields: [string, string | readonly string[] | number][] = [
    ...filters.map(([name, values]): [string, string | readonly string[]] => [
      name,
      FILTERS[name]?.operator === "IN" ? values : (values[0] ?? ""),
    ]),
    ...(sort === null
      ? []
      : ([
          ["sort_by", sort[0]],
          ["sort_direction", sort[1]],
        ] as [string, string][])),
    ...(limit === null ? [] : [["limit", limit] as [string, number]]),
    ...(offset === null ? [] : [["offset", offset] as [string, number]]),
  ];
  const headers = {
    "X-API-Key": KEYS.tier3,
    "Accept-Encoding": encoding,
    ...(tag !== null && { "If-None-Match": tag }),
  };
  const path = `${url}/v1/law/${endpoint}.${format}`;
  if (method === "POST")
    return fetch(path, { method, headers, body: JSON.stringify(Object.fromEntries(fields)) });
  const query = new URLSearchParams();
  for (const [name, value] of fields)
    for (const each of typeof value === "object" ? value : [String(value)]) query.append(name, each);
  return fetch(`${path}?${query.toString()}`, { headers });
}

/** `fields`: the chosen columns; none: all. */
const jsonRow = (id: number, fields: readonly string[] = []): string =>
  `{${(fields.length === 0 ? NAMES : fields).map((name) => `${JSON.stringify(name)}:${valueOf(name, id)[1]}`).join(",")}}`;

/** RFC 4180: null is empty, texts, dates and lists are quoted. */
function csvField(json: string): string {
  if (json === "null") return "";
  const value = json.startsWith('"') ? (JSON.parse(json) as string) : json;
  return /^["[]/.test(json) ? `"${value.replaceAll('"', '""')}"` : value;
}

function bodyOf(
  { endpoint, format, limit, offset }: Request,
  page: readonly number[],
  hasMore: boolean,
): string {
  switch (format) {
    case "csv":
      return [
        NAMES.join(","),
        ...page.map((id) => NAMES.map((name) => csvField(valueOf(name, id)[1])).join(",")),
      ]
        .map((line) => `${line}\r\n`)
        .join("");
    case "ndjson":
      return page.map((id) => `${jsonRow(id)}\n`).join("");
    case "json": {
      const rows = `[${page.map((id) => jsonRow(id)).join(",")}]`;
      const pagination = {
        limit: limit ?? 10,
        offset: offset ?? 0,
        returned: page.length,
        has_more: hasMore,
      };
      return endpoint === "list" ? rows : `{"items":${rows},"pagination":${JSON.stringify(pagination)}}`;
    }
  }
}

/** Compares the answer to a request. */
async function compare(sent: Request): Promise<{ isFilled: boolean; tag: string | null }> {
  const [response, { page, hasMore }] = await Promise.all([send(sent, null), expected(sent)]);
  const body = await response.text();
  expect([sent, response.status, compact(body)]).toEqual([sent, 200, bodyOf(sent, page, hasMore)]);
  expect(response.headers.get("link")?.includes('rel="next"') ?? false).toBe(hasMore);
  return { isFilled: page.length > 0, tag: sent.method === "GET" ? response.headers.get("etag") : null };
}

it.skipIf(!hasClickhouse)(`answers ${String(REQUESTS)} valid requests as ClickHouse does`, async () => {
  const requests = fc.sample(request, REQUESTS);
  let [filled, notModified] = [0, 0];
  const work = async (): Promise<void> => {
    for (let sent; (sent = requests.pop()) !== undefined;) {
      const { isFilled, tag } = await compare(sent);
      if (isFilled) filled++;
      // One in eight is asked again.
      if (tag === null || requests.length % 8 > 0) continue;
      const again = await send(sent, tag);
      expect([again.status, await again.text()]).toEqual([304, ""]);
      notModified++;
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
  expect(filled).toBeGreaterThan(REQUESTS / 3);
  expect(notModified).toBeGreaterThan(REQUESTS / 24);
});

it.skipIf(!hasClickhouse)(
  `answers ${String(FILTERED_REQUESTS)} requests with column filters and fields as ClickHouse does`,
  async () => {
    const table = { filters: COLUMN_FILTERS, names: NAMES, sortable: SORTABLE, maxLimit: MAX_LIMIT };
    const requests = fc.sample(filteredRequests(table), FILTERED_REQUESTS);
    const literal = (column: string, value: string): string => COLUMN_FILTERS[column]?.sql(value) ?? "";
    let filled = 0;
    const work = async (): Promise<void> => {
      for (let sent; (sent = requests.pop()) !== undefined;) {
        const { fields, sort, limit, offset } = sent;
        const [response, rows] = await Promise.all([
          sendFiltered(`${url}/v1/law/filtered`, sent),
          idsOf(filteredWhere(sent, shownValue, literal), sort),
        ]);
        const page = rows.slice(offset, offset + limit).map((id) => jsonRow(id, fields));
        const body = compact(await response.text());
        expect([sent, response.status, body]).toEqual([sent, 200, `[${page.join(",")}]`]);
        expect([sent, response.headers.get("x-total-count")]).toEqual([sent, String(rows.length)]);
        if (page.length > 0) filled++;
      }
    };
    await Promise.all(Array.from({ length: 4 }, work));
    expect(filled).toBeGreaterThan(FILTERED_REQUESTS / 3);
  },
);
