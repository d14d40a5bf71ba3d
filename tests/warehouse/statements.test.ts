import pg from "pg";
import { describe, expect, it } from "vitest";
import type { Condition, Selection } from "../../runtime/model/query.js";
import type { ResultColumns } from "../../runtime/warehouse/warehouse.js";
import { describe as describeRelation } from "../../runtime/warehouse/postgres/columns.js";
import { rowFields, selectRows } from "../../runtime/warehouse/postgres/select.js";
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
  selectRows(["sch", "rel"], shape, selection);

/** The statement around the selected rows of one integer column. */
const around = (rows: string): string => `SELECT coalesce(t."id", NULL::int4) FROM (${rows}) t`;

const selectId = (tail: string): string => `SELECT s."id" FROM "sch"."rel" AS s${tail}`;

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

/** The ids of the same statement on the real relation. */
async function idsOf(selection: Partial<Selection>, shape: ResultColumns = SHAPE): Promise<number[]> {
  const rows = await textsOf(selectRows([schema, "plain"], shape, { ...NOTHING, ...selection }));
  return rows.map(([id]) => Number(id));
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
    expect(text).toContain(` FROM "sch"."rel" AS s WHERE ${where}) t`);
    expect(values).toEqual([value]);
  });

  it.each(FILTERS)("finds its rows: %s", async (_, condition, _where, _value, ids) => {
    expect(await idsOf({ conditions: [condition], sort: [["id", "ASC"]] })).toEqual(ids);
  });

  it("beside others is joined by AND, with the values in order", () => {
    const { text, values } = wholeJson(ID_SHAPE, {
      ...NOTHING,
      conditions: [
        { name: "p", column: "id", operator: "=", type: "string", value: "1" },
        { name: "p", column: "id", operator: "IN", type: "string_list", value: ["1", "2"] },
      ],
    });
    expect(text).toBe(around(selectId(` WHERE s."id" = $1::bigint AND s."id" = ANY($2::bigint[])`)));
    expect(values).toEqual(["1", ["1", "2"]]);
  });
});

describe("a selection", () => {
  it("is sorted", async () => {
    const sort = [
      ["name", "DESC"],
      ["id", "ASC"],
    ] as const;
    expect(wholeJson(ID_SHAPE, { ...NOTHING, sort }).text).toBe(
      around(selectId(` ORDER BY s."name" DESC, s."id" ASC`)),
    );
    expect(await idsOf({ sort: [["id", "DESC"]] }, ID_SHAPE)).toEqual([3, 2, 1]);
  });

  it.each([
    ["a common limit in its text", { limit: 2, offset: 0 }, " LIMIT 2", []],
    ["an offset as a value", { limit: 2, offset: 1 }, " LIMIT 2 OFFSET $1", [1]],
    ["another limit as a value", { limit: 17, offset: 1 }, " LIMIT $1 OFFSET $2", [17, 1]],
  ])("of a page has %s", async (_, range, tail, bound) => {
    const page = { ...range, lookAhead: false };
    const { text, values } = wholeJson(ID_SHAPE, { ...NOTHING, page });
    expect(text).toBe(around(selectId(tail)));
    expect(values).toEqual(bound);
    const ids = await idsOf({ sort: [["id", "ASC"]], page }, ID_SHAPE);
    expect(ids).toEqual([1, 2, 3].slice(range.offset, range.offset + range.limit));
  });

  it("that looks ahead asks for one row more", async () => {
    const page = { limit: 2, offset: 0, lookAhead: true };
    expect(wholeJson(ID_SHAPE, { ...NOTHING, page }).text).toBe(around(selectId(" LIMIT 3")));
    expect(await idsOf({ sort: [["id", "ASC"]], page }, ID_SHAPE)).toEqual([1, 2, 3]);
  });

  it("with a limit beyond a thousand has it as a value", () => {
    const page = { limit: 5000, offset: 3, lookAhead: true };
    const { text, values } = wholeJson(ID_SHAPE, { ...NOTHING, page });
    expect(text).toBe(around(selectId(" LIMIT $1 OFFSET $2")));
    expect(values).toEqual([5001, 3]);
  });

  it("with a cursor has the sort keys that the response does not show behind its columns", () => {
    const page = { limit: 2, offset: 0, lookAhead: true };
    const sort = [
      ["at", "DESC"],
      ["id", "ASC"],
    ] as const;
    const columns = [{ name: "id", type: null }] as unknown as NonNullable<Selection["columns"]>;
    const selection = { ...NOTHING, columns, sort, page, keyset: { scope: "", after: null } };
    expect(wholeJson(SHAPE, selection).text).toBe(
      `SELECT coalesce(t."id", NULL::int4), t."at"::text FROM (SELECT s."id", s."at" FROM "sch"."rel" AS s ORDER BY s."at" DESC, s."id" ASC LIMIT 3) t`,
    );
    expect(rowFields(SHAPE, selection)).toEqual({ hidden: ["at"], keys: [1, 0], count: 2 });
  });

  it.each([
    ["int4", `coalesce(t."v", NULL::int4)`],
    ["timestamp", `t."v"::timestamp`],
    ["inet", `to_json(t."v")`],
  ])("writes a column of type %s as %s", (type, expression) => {
    const { text } = wholeJson([{ name: "v", type }], NOTHING);
    expect(text).toMatch(`SELECT ${expression} FROM (`);
  });

  it("fails for a column whose type has changed, rather than write its values as of the old one", async () => {
    await expect(idsOf({}, [{ name: "name", type: "int4" }])).rejects.toMatchObject({ code: "42804" });
    await expect(idsOf({}, [{ name: "id", type: "text" }])).rejects.toMatchObject({ code: "42804" });
  });

  it("quotes every name", () => {
    const hostile = 'a"b; DROP TABLE x; --';
    const { text, values } = selectRows([hostile, hostile], [{ name: hostile, type: "text" }], {
      conditions: [{ name: "p", column: hostile, operator: "=", type: "string", value: hostile }],
      sort: [[hostile, "DESC"]],
      page: null,
    });
    expect(text.replaceAll('"a""b; DROP TABLE x; --"', "Q")).toBe(
      "SELECT coalesce(t.Q, NULL::text) FROM (SELECT s.Q FROM Q.Q AS s WHERE s.Q = $1 ORDER BY s.Q DESC) t",
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
});
