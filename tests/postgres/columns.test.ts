import { describe, expect, it } from "vitest";
import { describe as describeRelation } from "../../runtime/postgres/describe.js";
import { ownDatabase, ownSchema, query, queryAt } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { sendRequest, post, refusal, statusAndBody } from "../support/http-client.js";

/** Names that mean something to SQL, to JavaScript or to our own statements. */
const NAMES = [
  "select",
  'a"b',
  "__proto__",
  "constructor",
  "😀",
  "a b",
  "Ü",
  "$1",
  "s",
  "t",
  "r",
  "e",
  "j",
  "n",
  "rows",
  "a'b",
  "--",
  "toJSON",
];

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const named = NAMES.map((name, i) => `${String(i)}::text AS ${quoted(name)}`).join(", ");
const schema = await ownSchema(`
  CREATE TABLE @.named AS SELECT ${named};
  CREATE TABLE @."select ""x""; --" AS SELECT 1 AS id;
  CREATE TABLE @.more AS SELECT 1 AS extra, 2 AS id, 'x' AS other;
  CREATE TABLE @.dropped (a int, b int, c int);
  ALTER TABLE @.dropped DROP COLUMN b;
  INSERT INTO @.dropped VALUES (1, 3);`);

/** The columns of a relation before it is replaced: SQL, and what is shown of it. */
const BEFORE: Readonly<Record<string, readonly [sql: string, shown: unknown]>> = {
  id: ["1", 1],
  v: ["'a'", "a"],
  day: ["'2024-01-01'::timestamp", "2024-01-01T00:00:00Z"],
  f: ["0.5::float8", 0.5],
  fs: ["ARRAY[0.5::float8]", [0.5]],
};

/** What is different afterwards (null: the column is gone), and the query string of the request. */
const CHANGES: readonly (readonly [
  after: Readonly<Record<string, readonly [string, unknown] | null>>,
  search: string,
])[] = [
  [{ day: null }, ""],
  [{ v: null, day: null, fs: null }, ""],
  [{ day: ["7", 7] }, ""],
  [{ day: ["'later'", "later"] }, ""],
  [{ day: ["'2024-05-05'::timestamptz", "2024-05-05T00:00:00Z"] }, "?from=2024-05-05"],
  [{ day: ["'2024-05-05'::text", "2024-05-05"] }, "?from=2024-01-01"],
  [{ v: ["5", 5] }, "?v=5"],
  [{ v: ["true", true] }, "?v=true"],
  [{ v: ["1.5::float8", 1.5] }, "?v=1.5"],
  [{ f: ["7", 7] }, ""],
  [{ f: ["'2024-05-05'::date", "2024-05-05"] }, ""],
  [{ fs: ["'x'", "x"] }, ""],
  [{ fs: ["ARRAY[7]", [7]] }, ""],
];

function selectOf(columns: Readonly<Record<string, readonly [string, unknown] | null>>): string {
  const items = Object.entries(columns).flatMap(([name, column]) =>
    column ? [`${column[0]} AS ${name}`] : [],
  );
  return `SELECT ${items.join(", ")}`;
}

function shownOf(columns: Readonly<Record<string, readonly [string, unknown] | null>>): unknown {
  return Object.fromEntries(
    Object.entries(columns).flatMap(([name, column]) => (column ? [[name, column[1]]] : [])),
  );
}

const CHANGING = {
  columns: { id: "integer", v: "text", day: "date", f: "double precision", fs: "double precision[]" },
  api: {
    allow_unfiltered: true,
    parameters: [
      { name: "v", column: "v", operator: "=", type: "string" },
      { name: "from", column: "day", operator: ">=", type: "date" },
    ],
    sort: [{ column: "id", direction: "ASC" }],
  },
};

const columns = Object.fromEntries([...NAMES.map((name) => [name, "text"] as const)]);
const proto = JSON.parse('{"__proto__": "text"}') as Record<string, string>;
const api = {
  methods: ["GET", "POST"],
  allow_unfiltered: true,
  parameters: NAMES.map((name, i) => ({
    name: `p${String(i)}`,
    column: name,
    operator: "=",
    type: "string",
  })),
  sortable_fields: NAMES,
};

const model = (name: string, resource: string, rest: object): Parameters<typeof manifestOf>[0][number] => ({
  name,
  schema,
  tags: ["production", "columns", `api:${resource}`],
  ...rest,
});

const url = await serveManifest(
  manifestOf([
    model("named", "named", { columns: { ...columns, ...proto }, api }),
    model('select "x"; --', "hostile", {}),
    model("more", "more", { columns: { other: "text", missing: "text", id: "integer" } }),
    model("dropped", "dropped", {}),
    ...CHANGES.map((_, i) => model(`changing${String(i)}`, `changing${String(i)}`, CHANGING)),
  ]),
);
const key = KEYS.tier3;

describe("the name of a column", () => {
  it("is data, and the columns keep the relation's order", async () => {
    const { text } = await sendRequest(url, "/v1/columns/named", { key });
    expect(text).toBe(`[{${NAMES.map((name, i) => `${JSON.stringify(name)}:"${String(i)}"`).join(",")}}]`);
  });

  it.each(NAMES.map((name, i) => [name, i] as const))("can be filtered by: %s", async (_, i) => {
    expect(
      JSON.parse((await sendRequest(url, `/v1/columns/named?p${String(i)}=${String(i)}`, { key })).text),
    ).toHaveLength(1);
    expect(statusAndBody(await sendRequest(url, `/v1/columns/named?p${String(i)}=none`, { key }))).toEqual([
      200,
      [],
    ]);
  });

  it.each(NAMES)("can be sorted by: %s", async (name) => {
    expect((await post(url, "/v1/columns/named", { sort_by: name }, { key })).status).toBe(200);
  });

  it("may be anything for a relation too", async () => {
    expect(statusAndBody(await sendRequest(url, "/v1/columns/hostile", { key }))).toEqual([200, [{ id: 1 }]]);
  });
});

describe("a relation that is not as the manifest says", () => {
  it.each([
    ["", '[{"other":"x","id":2}]'],
    [".csv", 'other,id\r\n"x",2\r\n'],
    [".ndjson", '{"other":"x","id":2}\n'],
  ])("serves the declared columns that it has, in declared order, and no other: %s", async (suffix, rows) => {
    expect((await sendRequest(url, `/v1/columns/more${suffix}`, { key })).text).toBe(rows);
  });

  it("does not show a column that was dropped", async () => {
    expect((await sendRequest(url, "/v1/columns/dropped", { key })).text).toBe('[{"a":1,"c":3}]');
  });
});

describe("a relation that is replaced while it is served", () => {
  const replace = async (i: number, select: string): Promise<void> => {
    const name = `"${schema}".changing${String(i)}`;
    await query(`DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} AS ${select}`);
  };
  const get = (i: number, search = ""): Promise<string> =>
    sendRequest(url, `/v1/columns/changing${String(i)}${search}`, { key }).then(({ text }) => text);

  it.each(CHANGES.map((row, i) => [...row, i] as const))(
    "is answered as it is now: %j %s",
    async (changed, search, i) => {
      const after = { ...BEFORE, ...changed };
      await replace(i, selectOf(BEFORE));
      await get(i, search);
      await replace(i, selectOf(after));
      expect(JSON.parse(await get(i, search))).toEqual([shownOf(after)]);
    },
  );

  it("fails while it is gone and answers when it is back", async () => {
    await query(`DROP TABLE "${schema}".changing0`);
    expect(statusAndBody(await sendRequest(url, "/v1/columns/changing0", { key }))).toEqual(
      refusal(500, "Database query failed."),
    );
    await replace(0, "SELECT 1 AS id");
    expect(await get(0)).toBe('[{"id":1}]');
  });
});

/** Pages that a look-up of the columns of `pg_proc` reads. */
async function pagesRead(database: string): Promise<number> {
  const { text } = describeRelation(["pg_catalog", "pg_proc"]);
  const named = text.replace("$1", "'pg_catalog'").replace("$2", "'pg_proc'");
  const [row] = await queryAt(database, `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${named}`);
  const [{ Plan }] = row!["QUERY PLAN"] as [{ Plan: Record<string, number> }];
  return Plan["Shared Hit Blocks"]! + Plan["Shared Read Blocks"]!;
}

describe("a look-up of columns", () => {
  it("reads the types of the database a few times, not once for each column and type", async () => {
    const database = await ownDatabase();
    await queryAt(
      database,
      "DO $$ BEGIN FOR i IN 1..100 LOOP EXECUTE format('CREATE TABLE t%s (a int, b text)', i); END LOOP; END $$; ANALYZE",
    );
    const [row] = await queryAt(
      database,
      "SELECT sum(pg_relation_size(r) / 8192)::int AS pages FROM unnest('{pg_type, pg_attribute, pg_class, pg_range}'::regclass[]) r",
    );
    expect(await pagesRead(database)).toBeLessThan(Number(row!["pages"]) * 5);
  });
});
