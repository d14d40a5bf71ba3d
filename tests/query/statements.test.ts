import { describe, expect, it } from "vitest";
import type { ResultColumns, Condition, Selection } from "../../runtime/query/warehouse.js";
import { postgresDialect } from "../../runtime/query/postgres.js";
import { ownSchema, query } from "../support/database.js";

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
/** What goes around every selection of the column `id`. */
const wholeJson = (shape: ResultColumns, selection: Selection) =>
  postgresDialect.whole(["sch", "rel"], shape, selection, "json");

const around = (tail: string): string =>
  `SELECT string_agg(j, ',') AS rows, count(*)::int AS found FROM (SELECT row_to_json(t.*)::text AS j FROM (SELECT s."id" AS "id" FROM "sch"."rel" AS s${tail}) t) r`;

interface Found {
  readonly rows: unknown;
  readonly found: number;
}

/** The same statement on the real relation. */
async function found(selection: Partial<Selection>, shape: ResultColumns = SHAPE): Promise<Found> {
  const { text, values } = postgresDialect.whole(
    [schema, "plain"],
    shape,
    { ...NOTHING, ...selection },
    "json",
  );
  const [row] = await query(`SET timezone = 'UTC'; SET datestyle = 'ISO'`).then(() => query(text, values));
  return { rows: JSON.parse(`[${String(row?.["rows"] ?? "")}]`), found: Number(row?.["found"]) };
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
  ["= on text", { column: "name", operator: "=", type: "string", value: "Ann" }, `s."name" = $1`, "Ann", [1]],
  [
    "= on what is no text",
    { column: "id", operator: "=", type: "string", value: "2" },
    `s."id"::text = $1`,
    "2",
    [2],
  ],
  [
    "= in lower case",
    { column: "name", operator: "=", type: "string", case: "lower", value: "ann" },
    `lower(s."name") = $1`,
    "ann",
    [1],
  ],
  [
    "= in upper case",
    { column: "name", operator: "=", type: "string", case: "upper", value: "BOB" },
    `upper(s."name") = $1`,
    "BOB",
    [2],
  ],
  [
    "ILIKE",
    { column: "name", operator: "ILIKE", type: "string", value: "%O%" },
    `s."name" ILIKE $1`,
    "%O%",
    [2],
  ],
  [
    "IN",
    { column: "name", operator: "IN", type: "string_list", value: ["Ann", "bob"] },
    `s."name" = ANY($1::text[])`,
    ["Ann", "bob"],
    [1, 2],
  ],
  [
    "IN in a case",
    { column: "name", operator: "IN", type: "string_list", case: "upper", value: ["BOB"] },
    `upper(s."name") = ANY($1::text[])`,
    ["BOB"],
    [2],
  ],
  [
    ">= on a date",
    { column: "day", operator: ">=", type: "date", value: "2024-01-02" },
    `s."day" >= $1::date`,
    "2024-01-02",
    [2, 3],
  ],
  [
    "<= on a date",
    { column: "day", operator: "<=", type: "date", value: "2024-01-01" },
    `s."day" <= $1::date`,
    "2024-01-01",
    [1],
  ],
  [
    ">= on a time",
    { column: "at", operator: ">=", type: "date", value: "2024-01-02" },
    `s."at" >= $1::date`,
    "2024-01-02",
    [2],
  ],
  [
    "<= on a time",
    { column: "at", operator: "<=", type: "date", value: "2024-01-02" },
    `s."at" < $1::date + 1`,
    "2024-01-02",
    [1, 2, 3],
  ],
  [
    "<= on a time without a zone",
    { column: "local", operator: "<=", type: "date", value: "2024-01-02" },
    `s."local" < $1::date + 1`,
    "2024-01-02",
    [1, 2],
  ],
  [
    ">= on text",
    { column: "name", operator: ">=", type: "date", value: "2024-01-01" },
    `s."name" >= $1`,
    "2024-01-01",
    [1, 2],
  ],
  [
    "<= on a number",
    { column: "id", operator: "<=", type: "date", value: "2024-01-01" },
    `s."id"::text <= $1`,
    "2024-01-01",
    [1, 2],
  ],
];

describe("a filter", () => {
  it.each(FILTERS)("is written with its value beside it: %s", (_, condition, where, value) => {
    const { text, values } = wholeJson(SHAPE, { ...NOTHING, conditions: [condition] });
    expect(text.slice(text.indexOf(' FROM "sch"'))).toBe(
      ` FROM "sch"."rel" AS s WHERE ${where} LIMIT 1001) t) r`,
    );
    expect(values).toEqual([value]);
  });

  it.each(FILTERS)("finds its rows: %s", async (_, condition, _where, _value, ids) => {
    expect(await idsWhere(condition)).toEqual(ids);
  });

  it("beside others is joined by AND, with the values in order", () => {
    const { text, values } = wholeJson(ID_SHAPE, {
      ...NOTHING,
      conditions: [
        { column: "id", operator: "=", type: "string", value: "1" },
        { column: "id", operator: "IN", type: "string_list", value: ["1", "2"] },
      ],
    });
    expect(text).toBe(around(` WHERE s."id"::text = $1 AND s."id"::text = ANY($2::text[]) LIMIT 1001`));
    expect(values).toEqual(["1", ["1", "2"]]);
  });
});

describe("a selection", () => {
  it("of everything asks for one row more than is answered in one piece", () => {
    expect(wholeJson(ID_SHAPE, NOTHING)).toMatchObject({
      text: around(" LIMIT 1001"),
      values: [],
    });
  });

  it("is sorted", async () => {
    const sort = [
      ["name", "DESC"],
      ["id", "ASC"],
    ] as const;
    expect(wholeJson(ID_SHAPE, { ...NOTHING, sort }).text).toBe(
      around(` ORDER BY s."name" DESC, s."id" ASC LIMIT 1001`),
    );
    expect((await found({ sort: [["id", "DESC"]] }, ID_SHAPE)).rows).toEqual([
      { id: 3 },
      { id: 2 },
      { id: 1 },
    ]);
  });

  it("of a page has its limit and offset as values", async () => {
    const page = { limit: 1, offset: 1, lookAhead: false };
    const { text, values } = wholeJson(ID_SHAPE, { ...NOTHING, page });
    expect(text).toBe(around(" LIMIT $1 OFFSET $2"));
    expect(values).toEqual([1, 1]);
    expect(await found({ sort: [["id", "ASC"]], page }, ID_SHAPE)).toEqual({ rows: [{ id: 2 }], found: 1 });
  });

  it("that looks ahead asks for one row more, counts it and does not give it", async () => {
    const page = { limit: 2, offset: 0, lookAhead: true };
    const { text, values } = wholeJson(ID_SHAPE, { ...NOTHING, page });
    expect(text).toBe(
      `SELECT string_agg(j, ',') FILTER (WHERE n <= $1) AS rows, count(*)::int AS found FROM (SELECT row_to_json(t.*)::text AS j, row_number() OVER () AS n FROM (SELECT s."id" AS "id" FROM "sch"."rel" AS s LIMIT $2 OFFSET $3) t) r`,
    );
    expect(values).toEqual([2, 3, 0]);
    expect(await found({ sort: [["id", "ASC"]], page }, ID_SHAPE)).toEqual({
      rows: [{ id: 1 }, { id: 2 }],
      found: 3,
    });
  });

  it("of no rows has none", async () => {
    const conditions: Condition[] = [{ column: "id", operator: "=", type: "string", value: "x" }];
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
    ["int4", `s."v"`],
    ["float8", `CASE WHEN s."v" - s."v" = 0 THEN s."v" END`],
    ["date", `CASE WHEN isfinite(s."v") THEN s."v" END`],
    ["timestamp", `CASE WHEN isfinite(s."v") THEN replace(s."v"::timestamp::text, ' ', 'T') || 'Z' END`],
    [
      "timestamptz",
      `CASE WHEN isfinite(s."v") THEN replace((s."v" AT TIME ZONE 'UTC')::text, ' ', 'T') || 'Z' END`,
    ],
    ["_text", `s."v"`],
    [
      "_date",
      `CASE WHEN s."v" IS NOT NULL THEN coalesce((SELECT json_agg(CASE WHEN isfinite(e) THEN e END) FROM unnest(s."v") AS e), '[]') END`,
    ],
  ])("writes a column of type %s as %s", (type, expression) => {
    const { text } = wholeJson([{ name: "v", type }], NOTHING);
    expect(text).toContain(`(SELECT ${expression} AS "v" FROM`);
  });

  it("quotes every name", () => {
    const hostile = 'a"b; DROP TABLE x; --';
    const { text, values } = postgresDialect.whole(
      [hostile, hostile],
      [{ name: hostile, type: "text" }],
      {
        conditions: [{ column: hostile, operator: "=", type: "string", value: hostile }],
        sort: [[hostile, "DESC"]],
        page: null,
      },
      "json",
    );
    expect(text.replaceAll('"a""b; DROP TABLE x; --"', "Q")).toBe(
      "SELECT string_agg(j, ',') AS rows, count(*)::int AS found FROM (SELECT row_to_json(t.*)::text AS j FROM (SELECT s.Q AS Q FROM Q.Q AS s WHERE s.Q = $1 ORDER BY s.Q DESC LIMIT 1001) t) r",
    );
    expect(values).toEqual([hostile]);
  });
});

describe("the question for a relation's columns", () => {
  it("names the relation in its values only and is answered in the relation's order", async () => {
    const { text, values } = postgresDialect.describe([schema, "plain"]);
    expect(values).toEqual([schema, "plain"]);
    expect(text).not.toContain(schema);
    const [row] = await query(text, values);
    expect(JSON.parse(String(row?.["columns"]))).toEqual(SHAPE);
  });

  it("finds nothing for a relation that is not there", async () => {
    const { text, values } = postgresDialect.describe([schema, "none'; DROP TABLE plain; --"]);
    expect(await query(text, values)).toEqual([{ columns: null }]);
  });

  it("of a page longer than one piece asks for one row more than that", () => {
    const page = { limit: 5000, offset: 0, lookAhead: true };
    expect(wholeJson(ID_SHAPE, { ...NOTHING, page }).values).toEqual([5000, 1001, 0]);
  });

  it("row by row has all of the page, and one row that tells whether more follow", () => {
    const page = { limit: 5000, offset: 3, lookAhead: true };
    const { text, values } = postgresDialect.each(["sch", "rel"], ID_SHAPE, { ...NOTHING, page }, "json");
    expect(text).toBe(
      'SELECT row_to_json(t.*)::text FROM (SELECT s."id" AS "id" FROM "sch"."rel" AS s LIMIT $1 OFFSET $2) t',
    );
    expect(values).toEqual([5001, 3]);
  });
});
