import pg from "pg";
import { describe, expect, it } from "vitest";
import { operatorsOf } from "../../runtime/core/model/column-operators.js";
import { VALUES } from "../../runtime/core/model/column-types.js";
import { postgresType } from "../../runtime/core/model/database-types.js";
import type { Condition } from "../../runtime/core/model/query.js";
import { openPostgres } from "../../runtime/postgres/engine.js";
import { selectRows } from "../../runtime/postgres/select.js";
import { atEnd } from "../support/at-end.js";
import { ownDatabase, queryKept } from "../support/database.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

/** By type: the value of row `g`, in which `g` is 0 to 2,995, and where it is not the printed one, the text that a request sends. */
const TYPES: Readonly<Record<string, readonly [value: string, sent?: string]>> = {
  int2: ["(g - 1500)::int2"],
  int4: ["g - 1500"],
  int8: ["(g - 1500)::int8 * 6000000000000000"],
  oid: ["(g + 4294960000)::oid"],
  numeric: ["(g - 1500) * 0.010"],
  float4: ["((g - 1500) * 0.1)::float4"],
  float8: ["(g - 1500) * 1e-7::float8"],
  money: ["((g - 1500) * 0.5)::numeric::money", "v::numeric::text"],
  bool: ["g % 2 = 0"],
  text: ["md5(g::text)"],
  varchar: ["md5(g::text)::varchar"],
  "varchar(40)": ["md5(g::text)"],
  "char(40)": ["md5(g::text)::char(40)"],
  name: ["md5(g::text)::name"],
  citext: ["@.citext(CASE WHEN g % 2 = 0 THEN upper(md5(g::text)) ELSE md5(g::text) END)"],
  bytea: ["decode(md5(g::text), 'hex')"],
  date: ["date '2020-01-01' + g"],
  time: ["time '00:00' + g * interval '7.123456 seconds'"],
  timetz: [
    "(time '00:00' + g * interval '1 second')::text::time AT TIME ZONE 'UTC' AT TIME ZONE interval '03:00'",
  ],
  timestamp: ["timestamp '2020-01-01' + g * interval '1.000001 hours'"],
  timestamptz: ["timestamptz '2020-01-01 00:00Z' + g * interval '1.000001 hours'"],
  interval: ["(g - 1500) * interval '1 mon 2 days 03:04:05.5'"],
  uuid: ["md5(g::text)::uuid"],
  inet: ["inet '10.0.0.0' + g * 7"],
  cidr: ["set_masklen((inet '10.0.0.0' + g * 256)::cidr, 24)"],
  macaddr: ["('08002b' || lpad(to_hex(g), 6, '0'))::macaddr"],
  macaddr8: ["('08002b0000' || lpad(to_hex(g), 6, '0'))::macaddr8"],
  "bit(12)": ["g::bit(12)"],
  varbit: ["(g::bit(12))::varbit"],
  int4range: ["int4range(g, g + 5)"],
  int8range: ["int8range(g, NULL)"],
  numrange: ["numrange(g * 0.5, g * 0.5 + 1, '(]')"],
  daterange: ["daterange(date '2020-01-01' + g, date '2020-01-03' + g)"],
  tsrange: ["tsrange(timestamp '2020-01-01' + g * interval '1 hour', NULL)"],
  tstzrange: ["tstzrange(timestamptz '2020-01-01 00:00Z' + g * interval '1 hour', NULL)"],
  int4multirange: ["int4multirange(int4range(g, g + 1), int4range(g + 5, g + 7))"],
  ltree: ["@.text2ltree('top.n' || g)"],
  mood: ["(ARRAY['sad', 'ok', 'fine', 'it''s'])[1 + g % 4]::@.mood"],
  // A domain.
  feeling: ["(ARRAY['sad', 'ok', 'fine', 'it''s'])[1 + g % 4]::@.mood"],
};

/** No extension is in the search path of the role: operators and casts are found where the extension is. */
const types = Object.entries(TYPES).map(([type, [value, sent = null]], i) => ({
  ...{ name: `t${String(i)}`, type, value, sent },
  base: type
    .replace(/\(.*/, "")
    .replace(/^char$/, "bpchar")
    .replace("feeling", "mood"),
}));
const qualified = (type: string): string => (/^(citext|ltree|mood|feeling)$/.test(type) ? `@.${type}` : type);

/** Two rows of each value, so that sorts have ties, and some without one. */
type Row = Readonly<Record<string, unknown>>;

const schema = "world";
const database = await ownDatabase();
const client = new pg.Client({ connectionString: database });
await client.connect();
atEnd(() => client.end());
const query = async (sql: string) => [await client.query(sql)].flat().at(-1)?.rows as Row[];
const setup = `CREATE SCHEMA @; CREATE EXTENSION IF NOT EXISTS citext SCHEMA @; CREATE EXTENSION IF NOT EXISTS ltree SCHEMA @;
  CREATE TYPE @.mood AS ENUM ('sad', 'ok', 'fine', 'it''s', 'unused');
  CREATE DOMAIN @.feeling AS @.mood;
  ${types
    .map(
      ({ name, type, value }) => `CREATE TABLE @.${name} (id int PRIMARY KEY, v ${qualified(type)});
        INSERT INTO @.${name} SELECT n, CASE WHEN n % 100 <> 7 THEN (${value}) END FROM generate_series(0, 1199) n, LATERAL (SELECT n % 600 * 5) AS x(g);
        CREATE INDEX ${name}_v ON @.${name} (v); ANALYZE @.${name};`,
    )
    .join("\n")}`;
await query(setup.replaceAll("@", schema));

const pagination = { enabled: true, default_limit: 10_000, max_limit: 10_000, response: "envelope" };
const models = types.map(({ name, type }) => ({
  ...{
    name,
    schema,
    key: "id",
    columns: { id: "int", v: type },
    tags: ["production", "types", `api:${name}`],
  },
  api: {
    allow_unfiltered: true,
    pagination,
    parameters: [
      { name: "equal", column: "v", operator: "=", type: "string" },
      { name: "some", column: "v", operator: "IN", type: "string_list" },
    ],
    sort: [{ column: "id", direction: "ASC" }],
    sortable_fields: ["v"],
    methods: ["GET", "POST"],
  },
  routewright: { cursor: true, filters: ["v"] },
}));
const url = await serveManifest(manifestOf(models), { DATABASE_URL: database, RATE_LIMITS: "tier3=1000000" });

interface Page {
  readonly items: readonly { readonly id: number; readonly v: unknown }[];
  readonly pagination: { readonly next_cursor: string | null };
}

async function page(name: string, parameters: Readonly<Record<string, string>>): Promise<Page | string> {
  const target = `/v1/types/${name}?${new URLSearchParams(parameters).toString()}`;
  const { status, text } = await sendRequest(url, target, { key: KEYS.tier3 });
  return status === 200 ? (JSON.parse(text) as Page) : `${String(status)} ${text}`;
}

async function ids(
  name: string,
  parameters: Readonly<Record<string, string>>,
): Promise<readonly number[] | string> {
  const found = await page(name, parameters);
  return typeof found === "string" ? found : found.items.map(({ id }) => id);
}

const SIGNS = { eq: "=", ne: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
const ASKED = [0, 300, 599] as const;

/** What psql finds, as the owner of the extensions. */
async function oracle(name: string, condition: string, order = "id"): Promise<readonly number[]> {
  const rows = await query(
    `SET search_path TO "${schema}", public; SELECT id FROM "${schema}".${name} WHERE ${condition} ORDER BY ${order}`,
  );
  return rows.map(({ id }) => Number(id));
}

/** The same database, where a scan of a whole table costs too much. */
const unwilling = new URL(database);
unwilling.searchParams.set("options", "-c enable_seqscan=off");

describe.each(types)("a filter on $type", ({ name, base, sent }) => {
  const sentOf = async (id: number): Promise<string> => {
    if (sent !== null) {
      const [row] = await query(`SELECT ${sent} AS text FROM "${schema}".${name} WHERE id = ${String(id)}`);
      return String(row?.["text"]);
    }
    const found = await page(name, { limit: "1", offset: String(id) });
    return typeof found === "string" ? found : String(found.items[0]?.v);
  };
  // PostgreSQL compares no domains over an enum.
  const v = base === "mood" ? "v::mood" : "v";
  const value = (id: number): string => `(SELECT ${v} FROM "${schema}".${name} WHERE id = ${String(id)})`;

  it("finds by each operator what psql finds by it", async () => {
    const { value: kind } = base === "mood" ? { value: "text" as const } : postgresType(base);
    for (const id of ASKED) {
      const text = await sentOf(id);
      expect([id, await ids(name, { equal: text })]).toEqual([id, await oracle(name, `${v} = ${value(id)}`)]);
      for (const operator of operatorsOf(kind)) {
        if (!(operator in SIGNS)) continue;
        const sign = SIGNS[operator as keyof typeof SIGNS];
        const found = await ids(name, { [`v[${operator}]`]: text });
        expect([operator, text, found]).toEqual([
          operator,
          text,
          await oracle(name, `${v} ${sign} ${value(id)}`),
        ]);
      }
    }
    for (const flag of ["true", "false"])
      expect(await ids(name, { "v[null]": flag })).toEqual(
        await oracle(name, `v IS ${flag === "true" ? "" : "NOT "}NULL`),
      );
  });

  it("finds by a list what psql finds by it", async () => {
    const texts = await Promise.all(ASKED.map(sentOf));
    const expected = await oracle(name, `${v} IN (${ASKED.map(value).join(", ")})`);
    const body = (field: object) =>
      sendRequest(url, `/v1/types/${name}`, {
        ...{ method: "POST", key: KEYS.tier3, body: JSON.stringify(field) },
        headers: { "Content-Type": "application/json" },
      });
    for (const field of [{ some: texts }, { v: { in: texts } }]) {
      const { status, text } = await body(field);
      expect([status, status === 200 ? (JSON.parse(text) as Page).items.map(({ id }) => id) : text]).toEqual([
        200,
        expected,
      ]);
    }
  });

  it.each(["ASC", "DESC"])("its sort is that of psql, page by page: %s", async (direction) => {
    const walked: number[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const found: Page | string = await page(name, {
        ...{ sort_by: "v", sort_direction: direction, limit: "250" },
        ...(cursor !== "" && { cursor }),
      });
      if (typeof found === "string") throw new Error(found);
      walked.push(...found.items.map(({ id }) => id));
      cursor = found.pagination.next_cursor;
    }
    expect(walked).toEqual(await oracle(name, "true", `v ${direction}, id`));
  });

  it("is served by an index", async () => {
    const warehouse = openPostgres({ url: database, statementTimeoutMs: 0, warn: () => undefined });
    atEnd(() => warehouse.close());
    const columns = await warehouse.columns([schema, name], null);
    const text = await sentOf(1);
    const operators = [
      { operator: "=", type: "string", value: text },
      { operator: "IN", type: "string_list", value: [text] },
      ...(base === "mood" || VALUES[postgresType(base).value].ordered
        ? (["gt", "gte", "lt", "lte"] as const).map((operator) => ({ operator, type: "value", value: text }))
        : []),
    ] as const;
    for (const each of operators) {
      const conditions = [{ name: "p", column: "v", ...each } as Condition];
      const { text: sql, values } = selectRows({ relation: [schema, name] }, columns, {
        conditions,
        sort: [],
        page: null,
      });
      const plan = JSON.stringify(await queryKept(unwilling.href, `EXPLAIN (FORMAT JSON) ${sql}`, values));
      expect([each.operator, /"Index Cond":/.test(plan), plan.includes(`${name}_v`)]).toEqual([
        each.operator,
        true,
        true,
      ]);
    }
  });
});
