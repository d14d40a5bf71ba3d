import fc from "fast-check";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../../support/clickhouse.js";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { compact } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { CLICKHOUSE } from "./clickhouse-reference.js";
import { POSTGRES } from "./postgres-reference.js";
import {
  filteredRequests,
  filteredWhere,
  type Reference,
  ROWS,
  sendFiltered,
  type TestFilter,
  valueOf,
} from "./reference.js";

/**
 * Requests with valid parameters, each compared with what the database says by SQL of this test's own, and as many with
 * column filters and chosen columns; `SQL_REQUESTS=800` for the full number.
 */
const REQUESTS = Number(process.env["SQL_REQUESTS"] ?? 75);

const MAX_LIMIT = 250;

const rowsOf = (reference: Reference): string =>
  Array.from({ length: ROWS }, (_, i) => i + 1)
    .map(
      (id) =>
        `(${namesOf(reference)
          .map((name) => valueOf(reference, name, id)[0])
          .join(", ")})`,
    )
    .join(", ");
const namesOf = ({ columns }: Reference): readonly string[] => ["id", ...Object.keys(columns)];
const definitionOf = ({ idType, columns }: Reference): string =>
  [`id ${idType}`, ...Object.entries(columns).map(([name, { type }]) => `${name} ${type}`)].join(", ");

interface Database {
  readonly reference: Reference;
  readonly adapter: string;
  readonly url: string;
  readonly schema: string;
  /** The ids that a query of the table selects. */
  readonly ids: (rest: string) => Promise<readonly number[]>;
}

async function postgres(): Promise<Database> {
  const schema = await ownSchema(
    `CREATE TABLE @.rows (${definitionOf(POSTGRES)}); INSERT INTO @.rows VALUES ${rowsOf(POSTGRES)}`,
  );
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4, options: "-c timezone=Asia/Kolkata" });
  afterAll(() => pool.end());
  const ids = async (rest: string): Promise<readonly number[]> => {
    const { rows } = await pool.query<{ id: number }>(`SELECT id FROM "${schema}".rows ${rest}`);
    return rows.map(({ id }) => id);
  };
  return { reference: POSTGRES, adapter: "postgres", url: databaseUrl, schema, ids };
}

/** From so many alternatives ClickHouse makes a list, which tells 0 from -0 and cuts fractions of seconds. */
const NO_LISTS = "SETTINGS optimize_min_equality_disjunction_chain_length = 1000";

async function clickhouseDatabase(): Promise<Database> {
  const schema = await ownDatabase([
    `CREATE TABLE @.rows (${definitionOf(CLICKHOUSE)}) ORDER BY id`,
    `INSERT INTO @.rows VALUES ${rowsOf(CLICKHOUSE)}`,
  ]);
  const ids = async (rest: string): Promise<readonly number[]> => {
    const lines = await clickhouse(`SELECT id FROM ${schema}.rows ${rest} ${NO_LISTS} FORMAT TSV`);
    return lines
      .split("\n")
      .filter((line) => line !== "")
      .map(Number);
  };
  return { reference: CLICKHOUSE, adapter: "clickhouse", url: clickhouseUrl(), schema, ids };
}

const typeOf = ({ operator }: TestFilter): string =>
  operator === "IN" ? "string_list" : operator === ">=" || operator === "<=" ? "date" : "string";

/** Serves the table as a list, in an envelope, and with column filters. */
function serve({ reference, adapter, url, schema }: Database): Promise<string> {
  const parameters = Object.entries(reference.filters).map(([name, filter]) => ({
    ...{ name, column: filter.column, operator: filter.operator, type: typeOf(filter) },
    ...(filter.case && { case: filter.case }),
  }));
  const models = (["list", "envelope", "filtered"] as const).map((name) => ({
    name,
    schema,
    columns: {
      id: reference.idType,
      ...Object.fromEntries(Object.entries(reference.columns).map(([column, { type }]) => [column, type])),
    },
    alias: "rows",
    tags: ["production", "law", `api:${name}`],
    api: {
      methods: ["GET", "POST"],
      allow_unfiltered: true,
      parameters: name === "filtered" ? [] : parameters,
      pagination: {
        ...{ enabled: true, default_limit: 10, max_limit: MAX_LIMIT },
        response: name === "envelope" ? name : "list",
      },
      sort: [{ column: "id", direction: "DESC" }],
      sortable_fields: reference.sortable,
    },
    routewright: {
      ...reference.settings,
      ...(name === "filtered" && { fields: true, filters: Object.keys(reference.columnFilters) }),
    },
  }));
  const manifest = manifestOf(models, { adapter_type: adapter });
  return serveManifest(manifest, { DATABASE_URL: url, RATE_LIMITS: "tier3=10000000" });
}

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

function requestsTo({ filters, sortable }: Reference): fc.Arbitrary<Request> {
  const filter = fc
    .constantFrom(...Object.entries(filters))
    .chain(([name, { operator, values }]) =>
      fc.tuple(
        fc.constant(name),
        fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: operator === "IN" ? 4 : 1 }),
      ),
    );
  return fc.record({
    endpoint: fc.constantFrom("list", "envelope"),
    filters: fc.uniqueArray(filter, { maxLength: 2, selector: ([name]) => name }),
    sort: fc.option(fc.tuple(fc.constantFrom(...sortable), fc.constantFrom("ASC", "DESC", "desc", null))),
    limit: fc.option(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: MAX_LIMIT }))),
    offset: fc.option(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: ROWS + 10 }))),
    format: fc.constantFrom("json", "json", "csv", "ndjson"),
    by: fc.constantFrom("accept", "suffix"),
    method: fc.constantFrom("GET", "GET", "POST"),
    joined: fc.boolean(),
    encoding: fc.constantFrom("identity", "gzip", "br"),
  });
}

const MEDIA = { json: "application/json", csv: "text/csv", ndjson: "application/x-ndjson" } as const;

function send(url: string, { filters: tested }: Reference, sent: Request, tag: string | null) {
  const { endpoint, filters, sort, limit, offset, format, by, method, joined, encoding } = sent;
  const fields: [string, string | readonly string[] | number][] = [
    ...filters.map(([name, values]): [string, string | readonly string[]] => [
      name,
      tested[name]?.operator === "IN" && !joined ? values : values.join(","),
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
function jsonRow(reference: Reference, id: number, fields: readonly string[] = []): string {
  const names = fields.length === 0 ? namesOf(reference) : fields;
  return `{${names.map((name) => `${JSON.stringify(name)}:${valueOf(reference, name, id)[1]}`).join(",")}}`;
}

/** RFC 4180: null is empty; a string is its own text. */
function csvField(json: string, isQuoted: boolean): string {
  if (json === "null") return "";
  const value = json.startsWith('"') && !json.includes("\\u0000") ? (JSON.parse(json) as string) : json;
  return isQuoted ? `"${value.replaceAll('"', '""')}"` : value;
}

function csvRow(reference: Reference, id: number): string {
  const fields = namesOf(reference).map((name) => {
    const json = valueOf(reference, name, id)[1];
    return csvField(json, reference.isQuoted(name, json));
  });
  return fields.join(",");
}

function bodyOf(
  reference: Reference,
  { endpoint, format, limit, offset }: Request,
  page: readonly number[],
  hasMore: boolean,
): string {
  switch (format) {
    case "csv": {
      const lines = [namesOf(reference).join(","), ...page.map((id) => csvRow(reference, id))];
      return lines.map((line) => `${line}\r\n`).join("");
    }
    case "ndjson":
      return page.map((id) => `${jsonRow(reference, id)}\n`).join("");
    case "json": {
      const rows = `[${page.map((id) => jsonRow(reference, id)).join(",")}]`;
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

/** Of both engines a request at a time would take longest: some are under way together. */
async function forEach<T>(requests: T[], run: (sent: T, left: number) => Promise<void>): Promise<void> {
  const work = async (): Promise<void> => {
    for (let sent; (sent = requests.pop()) !== undefined;) await run(sent, requests.length);
  };
  await Promise.all(Array.from({ length: 4 }, work));
}

const databases = { PostgreSQL: postgres, ...(hasClickhouse && { ClickHouse: clickhouseDatabase }) };

describe.each(Object.entries(databases))("the API answers as %s does", async (_, open) => {
  const database = await open();
  const { reference, ids } = database;
  const url = await serve(database);
  const ordered = (sort: readonly [string, string | null] | null): string =>
    `ORDER BY ${[
      ...(sort === null
        ? []
        : [reference.order(sort[0], sort[1]?.toUpperCase() === "DESC" ? "DESC" : "ASC")]),
      ...(sort?.[0] === "id" ? [] : ["id DESC"]),
    ].join(", ")}`;

  it(`to ${String(REQUESTS)} valid requests`, async () => {
    let [filled, notModified] = [0, 0];
    await forEach(fc.sample(requestsTo(reference), REQUESTS), async (sent, left) => {
      const { filters, sort, limit, offset } = sent;
      const wheres = filters.map(
        ([name, values]) => `(${values.map((v) => reference.filters[name]?.sql(v)).join(" OR ")})`,
      );
      const where = wheres.length === 0 ? "" : `WHERE ${wheres.join(" AND ")}`;
      const [response, rows] = await Promise.all([
        send(url, reference, sent, null),
        ids(`${where} ${ordered(sort)}`),
      ]);
      const [from, count] = [offset ?? 0, limit ?? 10];
      const page = rows.slice(from, from + count);
      const hasMore = rows.length > from + count;
      const body = compact(await response.text());
      expect([sent, response.status, body]).toEqual([sent, 200, bodyOf(reference, sent, page, hasMore)]);
      expect(response.headers.get("link")?.includes('rel="next"') ?? false).toBe(hasMore);
      if (page.length > 0) filled++;
      const tag = response.headers.get("etag");
      // One in two is asked again.
      if (tag === null || sent.method === "POST" || left % 2 > 0) return;
      const again = await send(url, reference, sent, tag);
      expect([again.status, await again.text()]).toEqual([304, ""]);
      notModified++;
    });
    // The requests are not of the kind that finds nothing.
    expect(filled).toBeGreaterThan(REQUESTS / 5);
    expect(notModified).toBeGreaterThan(REQUESTS / 24);
  });

  it(`to ${String(REQUESTS)} requests with column filters and fields`, async () => {
    const table = {
      ...{ filters: reference.columnFilters, names: namesOf(reference) },
      ...{ sortable: reference.sortable, maxLimit: MAX_LIMIT },
    };
    let filled = 0;
    await forEach(fc.sample(filteredRequests(table), REQUESTS), async (sent) => {
      const { fields, sort, limit, offset } = sent;
      const where = filteredWhere(sent, reference.shown, reference.literal);
      const [response, rows] = await Promise.all([
        sendFiltered(`${url}/v1/law/filtered`, sent),
        ids(`${where} ${ordered(sort)}`),
      ]);
      const page = rows.slice(offset, offset + limit).map((id) => jsonRow(reference, id, fields));
      const body = compact(await response.text());
      expect([sent, response.status, body]).toEqual([sent, 200, `[${page.join(",")}]`]);
      expect([sent, response.headers.get("x-total-count")]).toEqual([sent, String(rows.length)]);
      if (page.length > 0) filled++;
    });
    expect(filled).toBeGreaterThan(REQUESTS / 5);
  });
});
