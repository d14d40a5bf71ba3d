import fc from "fast-check";
import pg from "pg";
import { afterAll, expect, it } from "vitest";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { filteredRequests, filteredWhere, sendFiltered } from "../filtered-requests.js";
import { COLUMN_FILTERS, FILTERS, LISTS, shownValue, typedLiteral, typeOf } from "../reference-filters.js";
import { COLUMNS, NAMES, ROWS, valueOf } from "../special-values.js";

/** Requests with valid parameters, each compared with what PostgreSQL says by SQL of this test's own. */
const REQUESTS = 2000;

/** The same with column filters and chosen columns. */
const FILTERED_REQUESTS = 3000;

const ids = Array.from({ length: ROWS }, (_, i) => i + 1);
const definition = Object.entries(COLUMNS).map(([name, { type }]) => `"${name}" ${type}`);
const schema = await ownSchema(
  `CREATE TABLE @.rows (id int, ${definition.join(", ")});
   INSERT INTO @.rows VALUES ${ids.map((id) => `(${NAMES.map((name) => valueOf(name, id)[0]).join(", ")})`).join(", ")}`,
);

const SORTABLE = ["id", "label", "amount", "day", "at", "wide", "ratio"];
const MAX_LIMIT = 250;

const api = (response: string): object => ({
  methods: ["GET", "POST"],
  allow_unfiltered: true,
  parameters: Object.entries(FILTERS).map(([name, { column, operator, case: letterCase }]) => ({
    name,
    column,
    operator,
    type: typeOf(operator),
    ...(letterCase && { case: letterCase }),
  })),
  pagination: { enabled: true, default_limit: 10, max_limit: MAX_LIMIT, response },
  sort: [{ column: "id", direction: "DESC" }],
  sortable_fields: SORTABLE,
});

const columns = Object.fromEntries(NAMES.map((name) => [name, COLUMNS[name]?.type ?? "int"]));
const models = ["list", "envelope"].map((name) => ({
  name,
  schema,
  columns,
  tags: ["production", "law", `api:${name}`],
  api: api(name),
}));
models.push({
  name: "filtered",
  schema,
  columns,
  tags: ["production", "law", "api:filtered"],
  api: { ...api("list"), parameters: [] },
});

/** All models are of one table; its times without a zone are of Vienna. */
function manifest(): unknown {
  const base = manifestOf(models) as {
    nodes: Record<string, { config: { meta: Record<string, unknown> } }>;
  };
  const routewright = { timezone: "Europe/Vienna" };
  const filtered = { ...routewright, fields: true, filters: Object.keys(COLUMN_FILTERS) };
  const nodes = Object.entries(base.nodes).map(([id, { config, ...node }]) => {
    const own = id.endsWith("filtered") ? filtered : routewright;
    return [
      id,
      { ...node, alias: "rows", config: { ...config, meta: { ...config.meta, routewright: own } } },
    ];
  });
  return { ...base, nodes: Object.fromEntries(nodes) as unknown };
}

const url = await serveManifest(manifest(), { RATE_LIMITS: "tier3=10000000" });
const client = new pg.Client({ connectionString: databaseUrl });
await client.connect();
await client.query("SET timezone = 'Asia/Kolkata'");
afterAll(() => client.end());

interface Request {
  readonly endpoint: "list" | "envelope";
  readonly filters: readonly (readonly [name: string, values: readonly string[]])[];
  readonly sort: readonly [field: string, direction: "ASC" | "DESC" | "desc" | null] | null;
  readonly limit: number | null;
  readonly offset: number | null;
  readonly format: "json" | "csv" | "ndjson";
  /** How the format is requested. */
  readonly by: "accept" | "suffix";
  readonly method: "GET" | "POST";
  /** How a list is written: in one text, or as several values. */
  readonly joined: boolean;
  readonly encoding: "identity" | "gzip" | "br";
}

const filter = fc
  .constantFrom(...Object.entries(FILTERS))
  .chain(([name, { operator, values }]) =>
    fc.tuple(
      fc.constant(name),
      fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: LISTS.has(operator) ? 4 : 1 }),
    ),
  );

const request: fc.Arbitrary<Request> = fc.record({
  endpoint: fc.constantFrom("list", "envelope"),
  filters: fc.uniqueArray(filter, { maxLength: 2, selector: ([name]) => name }),
  sort: fc.option(fc.tuple(fc.constantFrom(...SORTABLE), fc.constantFrom("ASC", "DESC", "desc", null))),
  limit: fc.option(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: MAX_LIMIT }))),
  offset: fc.option(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: ROWS + 10 }))),
  format: fc.constantFrom("json", "json", "csv", "ndjson"),
  by: fc.constantFrom("accept", "suffix"),
  method: fc.constantFrom("GET", "GET", "POST"),
  joined: fc.boolean(),
  encoding: fc.constantFrom("identity", "gzip", "br"),
});

/** What PostgreSQL says: the ids of the page in their order, and whether rows follow. */
async function expected({ filters, sort, limit, offset }: Request) {
  const wheres = filters.map(
    ([name, values]) => `(${values.map((v) => FILTERS[name]?.sql(v)).join(" OR ")})`,
  );
  const orders = [
    ...(sort === null ? [] : [`"${sort[0]}" ${sort[1] ?? "ASC"}`]),
    ...(sort?.[0] === "id" ? [] : ["id DESC"]),
  ];
  const where = wheres.length === 0 ? "" : `WHERE ${wheres.join(" AND ")}`;
  const statement = `SELECT id FROM "${schema}".rows ${where} ORDER BY ${orders.join(", ")}`;
  const { rows } = await client.query<{ id: number }>(statement);
  const [from, count] = [offset ?? 0, limit ?? 10];
  const page = rows.slice(from, from + count).map(({ id }) => id);
  return { page, hasMore: rows.length > from + count };
}

const MEDIA = { json: "application/json", csv: "text/csv", ndjson: "application/x-ndjson" } as const;

function send(sent: Request, tag: string | null): Promise<Response> {
  const { endpoint, filters, sort, limit, offset, format, by, method, joined, encoding } = sent;
  const fields: [string, string | readonly string[] | number][] = [
    ...filters.map(([name, values]): [string, string | readonly string[]] => [
      name,
      LISTS.has(FILTERS[name]?.operator ?? "") && !joined ? values : values.join(","),
    ]),
    ...(sort === null ? [] : [["sort_by", sort[0]] as [string, string]]),
    ...(sort?.[1] == null ? [] : [["sort_direction", sort[1]] as [string, string]]),
    ...(limit === null ? [] : [["limit", limit] as [string, number]]),
    ...(offset === null ? [] : [["offset", offset] as [string, number]]),
  ];
  const headers = {
    "X-API-Key": KEYS.tier3,
    "Accept-Encoding": encoding,
    ...(by === "accept" && { Accept: MEDIA[format] }),
    ...(tag !== null && { "If-None-Match": tag }),
  };
  const path = `${url}/v1/law/${endpoint}${by === "suffix" ? `.${format}` : ""}`;
  if (method === "POST")
    return fetch(path, {
      method,
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify(Object.fromEntries(fields)),
    });
  const query = new URLSearchParams();
  for (const [name, value] of fields)
    for (const each of typeof value === "object" ? value : [String(value)]) query.append(name, each);
  return fetch(`${path}?${query.toString()}`, { headers });
}

/** `fields`: the chosen columns; none: all. */
const jsonRow = (id: number, fields: readonly string[] = []): string =>
  `{${(fields.length === 0 ? NAMES : fields).map((name) => `${JSON.stringify(name)}:${valueOf(name, id)[1]}`).join(",")}}`;

const csvRow = (id: number): string =>
  NAMES.map((name) => csvField(COLUMNS[name]?.type ?? "int", valueOf(name, id)[1])).join(",");

const QUOTED: ReadonlySet<string> = new Set(["text", "json", "jsonb", "float8[]"]);

/** RFC 4180: null is empty, texts and documents are quoted; a string is its own text. */
function csvField(type: string, json: string): string {
  if (json === "null") return "";
  const value = json.startsWith('"') && !json.includes("\\u0000") ? (JSON.parse(json) as string) : json;
  return QUOTED.has(type) ? `"${value.replaceAll('"', '""')}"` : value;
}

function bodyOf(
  { endpoint, format, limit, offset }: Request,
  page: readonly number[],
  hasMore: boolean,
): string {
  switch (format) {
    case "csv":
      return [NAMES.join(","), ...page.map(csvRow)].map((line) => `${line}\r\n`).join("");
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

it(`answers ${String(REQUESTS)} valid requests as PostgreSQL does`, async () => {
  let [filled, notModified] = [0, 0];
  await fc.assert(
    fc.asyncProperty(request, async (sent) => {
      const [response, { page, hasMore }] = await Promise.all([send(sent, null), expected(sent)]);
      const body = await response.text();
      expect([response.status, body]).toEqual([200, bodyOf(sent, page, hasMore)]);
      expect(response.headers.get("link")?.includes('rel="next"') ?? false).toBe(hasMore);
      if (page.length > 0) filled++;
      const tag = response.headers.get("etag");
      if (tag === null || sent.method === "POST") return;
      const again = await send(sent, tag);
      expect([again.status, await again.text()]).toEqual([304, ""]);
      notModified++;
    }),
    { numRuns: REQUESTS },
  );
  // The requests are not of the kind that finds nothing.
  expect(filled).toBeGreaterThan(REQUESTS / 3);
  expect(notModified).toBeGreaterThan(REQUESTS / 3);
});

const filteredRequest = filteredRequests({
  filters: COLUMN_FILTERS,
  names: NAMES,
  sortable: SORTABLE,
  maxLimit: MAX_LIMIT,
});

it(`answers ${String(FILTERED_REQUESTS)} requests with column filters and fields as PostgreSQL does`, async () => {
  let filled = 0;
  await fc.assert(
    fc.asyncProperty(filteredRequest, async (sent) => {
      const { fields, sort, limit, offset } = sent;
      const orders = [
        ...(sort === null ? [] : [`"${sort[0]}" ${sort[1]}`]),
        ...(sort?.[0] === "id" ? [] : ["id DESC"]),
      ];
      const where = filteredWhere(sent, shownValue, typedLiteral);
      const statement = `SELECT id FROM "${schema}".rows ${where} ORDER BY ${orders.join(", ")}`;
      const [response, { rows }] = await Promise.all([
        sendFiltered(`${url}/v1/law/filtered`, sent),
        client.query<{ id: number }>(statement),
      ]);
      const page = rows.slice(offset, offset + limit).map(({ id }) => jsonRow(id, fields));
      expect([response.status, await response.text()]).toEqual([200, `[${page.join(",")}]`]);
      expect(response.headers.get("x-total-count")).toBe(String(rows.length));
      if (page.length > 0) filled++;
    }),
    { numRuns: FILTERED_REQUESTS },
  );
  expect(filled).toBeGreaterThan(FILTERED_REQUESTS / 3);
});
