import pg from "pg";
import { describe, expect, it } from "vitest";
import type { Condition, Selection } from "../../runtime/model/query.js";
import type { ResultColumns } from "../../runtime/warehouse/warehouse.js";
import { describe as describeRelation } from "../../runtime/warehouse/postgres/postgres-columns.js";
import {
  selectEach,
  selectRows,
  selectText,
  VALUE_SEPARATOR,
} from "../../runtime/warehouse/postgres/postgres-select.js";
import { rowWriter } from "../../runtime/warehouse/postgres/row-text.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";

const SHAPE: ResultColumns = [
  { name: "id", type: "int4" },
  { name: "name", type: "text" },
  { name: "day", type: "date" },
  { name: "at", type: "timestamptz" },
  { name: "local", type: "timestamp" },
];

const schema = await ownSchema(`
  CREATE TABLE @.plain (id int, name text, day date, at timestamptz, local timestamp);
  INSERT INTO @.plain VALUES
    (1, 'Ann', '2024-01-01', '2024-01-01 12:00Z', '2024-01-01 12:00'),
    (2, 'bob', '2024-01-02', '2024-01-02 23:59:59.5Z', '2024-01-02 23:59'),
    (3, NULL, 'infinity', '-infinity', NULL);`);

const NOTHING: Selection = { conditions: [], sort: [], page: null };
const ID_SHAPE = SHAPE.slice(0, 1);
const wholeJson = (shape: ResultColumns, selection: Selection) =>
  selectText(["sch", "rel"], shape, selection);

/** The statement around the selected rows of one integer column. `limit`: where the page may be too long. */
const around = (rows: string, limit = " AND count(*) <= 1000"): string =>
  `SELECT string_agg(r, E'\\x1f'), count(*) AS found FROM (SELECT concat_ws(E'\\x1f', coalesce("c0", E'\\x1e')) AS r FROM (SELECT coalesce(t."id", NULL::int4)::text AS "c0" FROM (${rows}) t OFFSET 0) u OFFSET 0) v HAVING count(r) = count(*) AND (octet_length(string_agg(r, E'\\x1f')) > 2097152) IS NOT TRUE${limit}`;

const selectId = (tail: string): string => `SELECT s."id" FROM "sch"."rel" AS s${tail}`;

interface Found {
  readonly rows: unknown;
  readonly found: number;
}

/** The rows of a statement, as lists of texts. */
async function textsOf({ text, values }: { text: string; values: readonly unknown[] }) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("SET timezone = 'UTC'; SET datestyle = 'ISO'");
    const types = { getTypeParser: () => (value: string) => value };
    const config = { text, values: [...values], rowMode: "array", types };
    return (await client.query<(string | null)[]>(config as pg.QueryArrayConfig)).rows;
  } finally {
    await client.end();
  }
}

/** The same statement on the real relation. */
async function found(selection: Partial<Selection>, shape: ResultColumns = SHAPE): Promise<Found> {
  const whole = { ...NOTHING, ...selection };
  const [row = []] = await textsOf(selectText([schema, "plain"], shape, whole));
  const count = Number(row[1]);
  const text = rowWriter(shape, "json").ofText(row[0] ?? "", count, count);
  return { rows: JSON.parse(`[${String(text)}]`), found: count };
}

async function idsWhere(...conditions: Condition[]): Promise<unknown> {
  const { rows } = await found(
    { conditions, sort: [["id", "ASC"]] },
    SHAPE.slice(0, 1).concat(SHAPE.slice(1)),
  );
  return (rows as { id: number }[]).map(({ id }) => id);
}

const FILTERS: readonly (readonly [
  what: string,
  condition: Condition,
  where: string,
  value: unknown,
  ids: number[],
])[] = [
  [
    "= on text",
    { name: "p", column: "name", operator: "=", type: "string", value: "Ann" },
    `s."name" = $1`,
    "Ann",
    [1],
  ],
  [
    "= on an integer",
    { name: "p", column: "id", operator: "=", type: "string", value: "2" },
    `s."id" = $1::bigint`,
    "2",
    [2],
  ],
  [
    "= in lower case",
    { name: "p", column: "name", operator: "=", type: "string", case: "lower", value: "ann" },
    `lower(s."name") = lower($1)`,
    "ann",
    [1],
  ],
  [
    "= in upper case",
    { name: "p", column: "name", operator: "=", type: "string", case: "upper", value: "BOB" },
    `upper(s."name") = upper($1)`,
    "BOB",
    [2],
  ],
  [
    "ILIKE",
    { name: "p", column: "name", operator: "ILIKE", type: "string", value: "%O%" },
    `s."name" ILIKE $1`,
    "%O%",
    [2],
  ],
  [
    "IN",
    { name: "p", column: "name", operator: "IN", type: "string_list", value: ["Ann", "bob"] },
    `s."name" = ANY($1::text[])`,
    ["Ann", "bob"],
    [1, 2],
  ],
  [
    "IN in a case",
    { name: "p", column: "name", operator: "IN", type: "string_list", case: "upper", value: ["BOB"] },
    `upper(s."name") = ANY(ARRAY(SELECT upper(v) FROM unnest($1::text[]) AS v))`,
    ["BOB"],
    [2],
  ],
  [
    ">= on a date",
    { name: "p", column: "day", operator: ">=", type: "date", value: "2024-01-02" },
    `s."day" >= $1::date`,
    "2024-01-02",
    [2, 3],
  ],
  [
    "<= on a date",
    { name: "p", column: "day", operator: "<=", type: "date", value: "2024-01-01" },
    `s."day" <= $1::date`,
    "2024-01-01",
    [1],
  ],
  [
    ">= on a time",
    { name: "p", column: "at", operator: ">=", type: "date", value: "2024-01-02" },
    `s."at" >= $1::date`,
    "2024-01-02",
    [2],
  ],
  [
    "<= on a time",
    { name: "p", column: "at", operator: "<=", type: "date", value: "2024-01-02" },
    `s."at" < $1::date + 1`,
    "2024-01-02",
    [1, 2, 3],
  ],
  [
    "<= on a time without a zone",
    { name: "p", column: "local", operator: "<=", type: "date", value: "2024-01-02" },
    `s."local" < $1::date + 1`,
    "2024-01-02",
    [1, 2],
  ],
  [
    ">= on text",
    { name: "p", column: "name", operator: ">=", type: "date", value: "2024-01-01" },
    `s."name" >= $1`,
    "2024-01-01",
    [1, 2],
  ],
  [
    "<= on a number",
    { name: "p", column: "id", operator: "<=", type: "date", value: "2024-01-01" },
    `s."id"::text <= $1`,
    "2024-01-01",
    [1, 2],
  ],
];

describe("a filter", () => {
  it.each(FILTERS)("is written with its value beside it: %s", (_, condition, where, value) => {
    const { text, values } = wholeJson(SHAPE, { ...NOTHING, conditions: [condition] });
    expect(text).toContain(` FROM "sch"."rel" AS s WHERE ${where} LIMIT 1001) t`);
    expect(values).toEqual([value]);
  });

  it.each(FILTERS)("finds its rows: %s", async (_, condition, _where, _value, ids) => {
    expect(await idsWhere(condition)).toEqual(ids);
  });

  it("beside others is joined by AND, with the values in order", () => {
    const { text, values } = wholeJson(ID_SHAPE, {
      ...NOTHING,
      conditions: [
        { name: "p", column: "id", operator: "=", type: "string", value: "1" },
        { name: "p", column: "id", operator: "IN", type: "string_list", value: ["1", "2"] },
      ],
    });
    expect(text).toBe(
      around(selectId(` WHERE s."id" = $1::bigint AND s."id" = ANY($2::bigint[]) LIMIT 1001`)),
    );
    expect(values).toEqual(["1", ["1", "2"]]);
  });
});

describe("a selection", () => {
  it("of everything asks for one row more than is answered in one piece", () => {
    expect(wholeJson(ID_SHAPE, NOTHING)).toMatchObject({
      text: around(selectId(" LIMIT 1001")),
      values: [],
    });
  });

  it("is sorted", async () => {
    const sort = [
      ["name", "DESC"],
      ["id", "ASC"],
    ] as const;
    expect(wholeJson(ID_SHAPE, { ...NOTHING, sort }).text).toBe(
      around(selectId(` ORDER BY s."name" DESC, s."id" ASC LIMIT 1001`)),
    );
    expect((await found({ sort: [["id", "DESC"]] }, ID_SHAPE)).rows).toEqual([
      { id: 3 },
      { id: 2 },
      { id: 1 },
    ]);
  });

  it.each([
    ["a common limit in its text", { limit: 2, offset: 0 }, " LIMIT 2", []],
    ["an offset as a value", { limit: 2, offset: 1 }, " LIMIT 2 OFFSET $1", [1]],
    ["another limit as a value", { limit: 17, offset: 1 }, " LIMIT $1 OFFSET $2", [17, 1]],
  ])("of a page has %s", async (_, range, tail, bound) => {
    const page = { ...range, lookAhead: false };
    const { text, values } = wholeJson(ID_SHAPE, { ...NOTHING, page });
    expect(text).toBe(around(selectId(tail), ""));
    expect(values).toEqual(bound);
    const { rows } = await found({ sort: [["id", "ASC"]], page }, ID_SHAPE);
    expect(rows).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }].slice(range.offset, range.offset + range.limit));
  });

  it("that looks ahead asks for one row more", async () => {
    const page = { limit: 2, offset: 0, lookAhead: true };
    expect(wholeJson(ID_SHAPE, { ...NOTHING, page }).text).toContain(" LIMIT 3) t OFFSET 0");
    expect(await found({ sort: [["id", "ASC"]], page }, ID_SHAPE)).toEqual({
      rows: [{ id: 1 }, { id: 2 }, { id: 3 }],
      found: 3,
    });
  });

  it("of no rows has none", async () => {
    const conditions: Condition[] = [{ name: "p", column: "id", operator: "=", type: "string", value: "x" }];
    expect(await found({ conditions })).toEqual({ rows: [], found: 0 });
  });

  it("shows times in UTC and infinite ones as null", async () => {
    expect((await found({ sort: [["id", "ASC"]] })).rows).toEqual([
      { id: 1, name: "Ann", day: "2024-01-01", at: "2024-01-01T12:00:00Z", local: "2024-01-01T12:00:00Z" },
      { id: 2, name: "bob", day: "2024-01-02", at: "2024-01-02T23:59:59.5Z", local: "2024-01-02T23:59:00Z" },
      { id: 3, name: null, day: null, at: null, local: null },
    ]);
  });

  it.each([
    ["int4", `coalesce(t."v", NULL::int4)::text`],
    ["timestamp", `t."v"::timestamp::text`],
    ["inet", `to_json(t."v")::text`],
  ])("writes a column of type %s as %s", (type, expression) => {
    const { text } = wholeJson([{ name: "v", type }], NOTHING);
    expect(text).toContain(`(SELECT ${expression} AS "c0" FROM`);
  });

  it("fails for a column whose type has changed, rather than write its values as of the old one", async () => {
    await expect(found({}, [{ name: "name", type: "int4" }])).rejects.toMatchObject({ code: "42804" });
    await expect(found({}, [{ name: "id", type: "text" }])).rejects.toMatchObject({ code: "42804" });
  });

  it.each([
    ["one row", 200, 40_000, 1],
    ["all rows together", 1000, 3000, 1000],
  ])("of too many bytes in %s returns nothing", async (_, limit, bytes, rows) => {
    await query(`DROP TABLE IF EXISTS "${schema}".large;
      CREATE TABLE "${schema}".large AS SELECT repeat('x', ${String(bytes)}) AS v FROM generate_series(1, ${String(rows)})`);
    const selection = { ...NOTHING, page: { limit, offset: 0, lookAhead: false } };
    const large = [{ name: "v", type: "text" }];
    expect(await textsOf(selectText([schema, "large"], large, selection))).toEqual([]);
    expect((await textsOf(selectRows([schema, "large"], large, selection))).slice(0, 1)).toEqual(
      rows === 1 ? [[null, "f"]] : [["x".repeat(bytes), "t"]],
    );
  });

  it("reads more columns than a function of PostgreSQL takes arguments", async () => {
    const wide = Array.from({ length: 250 }, (_, i) => ({ name: `c${String(i)}`, type: "int4" }));
    await query(
      `CREATE TABLE "${schema}".wide AS SELECT ${wide.map(({ name }, i) => `${String(i)} AS ${name}`).join(", ")}`,
    );
    const [row = []] = await textsOf(selectText([schema, "wide"], wide, NOTHING));
    expect(row[0]?.split(VALUE_SEPARATOR)).toEqual(wide.map((_, i) => String(i)));
  });

  it("quotes every name", () => {
    const hostile = 'a"b; DROP TABLE x; --';
    const { text, values } = selectEach([hostile, hostile], [{ name: hostile, type: "text" }], {
      conditions: [{ name: "p", column: hostile, operator: "=", type: "string", value: hostile }],
      sort: [[hostile, "DESC"]],
      page: null,
    });
    expect(text.replaceAll('"a""b; DROP TABLE x; --"', "Q")).toBe(
      'SELECT coalesce(t.Q, NULL::text)::text AS "c0" FROM (SELECT s.Q FROM Q.Q AS s WHERE s.Q = $1 ORDER BY s.Q DESC) t',
    );
    expect(values).toEqual([hostile]);
  });
});

describe("the question for a relation's columns", () => {
  it("names the relation in its values only and is answered in the relation's order", async () => {
    const { text, values } = describeRelation([schema, "plain"]);
    expect(values).toEqual([schema, "plain"]);
    expect(text).not.toContain(schema);
    const [row] = await query(text, values);
    const storage: unknown = expect.stringMatching(/^\d+\.\d+$/);
    expect(JSON.parse(String(row?.["columns"]))).toEqual(SHAPE.map((column) => ({ ...column, storage })));
  });

  it("finds nothing for a relation that is not there", async () => {
    const { text, values } = describeRelation([schema, "none'; DROP TABLE plain; --"]);
    expect(await query(text, values)).toEqual([]);
  });

  it("of a page longer than one piece asks for one row more than that", () => {
    const page = { limit: 5000, offset: 0, lookAhead: true };
    expect(wholeJson(ID_SHAPE, { ...NOTHING, page }).text).toContain(" LIMIT 1001) t OFFSET 0");
  });

  it("row by row has all of the page, and one row that shows whether more follow", () => {
    const page = { limit: 5000, offset: 3, lookAhead: true };
    const { text, values } = selectEach(["sch", "rel"], ID_SHAPE, { ...NOTHING, page });
    expect(text).toBe(
      'SELECT coalesce(t."id", NULL::int4)::text AS "c0" FROM (SELECT s."id" FROM "sch"."rel" AS s LIMIT $1 OFFSET $2) t',
    );
    expect(values).toEqual([5001, 3]);
  });
});
