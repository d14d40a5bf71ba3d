import { describe, expect, it } from "vitest";
import type { Condition, ResolvedQuery, Selection } from "../../runtime/model/query.js";
import type { EngineOptions, OpenEngine } from "../../runtime/warehouse/base-engine.js";
import { openClickhouse } from "../../runtime/warehouse/clickhouse/engine.js";
import { Overloaded } from "../../runtime/warehouse/fair-queue.js";
import { openPostgres } from "../../runtime/warehouse/postgres/engine.js";
import {
  QueryAbandoned,
  type QueryContext,
  QueryTimeout,
  type Warehouse,
} from "../../runtime/warehouse/warehouse.js";
import { atEnd } from "../support/at-end.js";
import { clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { openMemory } from "../support/memory-engine.js";
import { asText, queryContext, type TextRows } from "../support/query-context.js";

/** Rows of the table `small`. */
const SMALL: readonly { i: number; label: string | null; day: string | null }[] = [
  { i: 1, label: "plum", day: "2024-01-01" },
  { i: 2, label: 'quo"te', day: "2024-01-02" },
  { i: 3, label: null, day: null },
  { i: 4, label: "Plum, ripe", day: "2024-02-29" },
  { i: 5, label: "zebra", day: "2024-01-02" },
];

const MANY = 50_000;
const LATE = 40_000;

const values = SMALL.map(
  ({ i, label, day }) => `(${[i, ...[label, day].map((v) => (v === null ? "NULL" : `'${v}'`))].join(", ")})`,
).join(", ");
const numbers = (count: number) => Array.from({ length: count }, (_, i) => ({ i: i + 1 }));
const integers = { i: "integer" } as const;
const labelled = { i: "integer", label: "text" } as const;
const labels = numbers(MANY).map(({ i }) => ({ i, label: "x".repeat(100) }));

interface Engine {
  readonly open: OpenEngine;
  readonly url: string;
  readonly schema: string;
}

const engines: Readonly<Record<string, Engine>> = {
  PostgreSQL: {
    open: openPostgres,
    url: databaseUrl,
    schema: await ownSchema(`
      CREATE TABLE @.small (i bigint, label text, day date); INSERT INTO @.small VALUES ${values};
      CREATE TABLE @.empty (i bigint);
      CREATE TABLE @.thousand AS SELECT i FROM generate_series(1::bigint, 1000) i;
      CREATE TABLE @.many AS SELECT i, repeat('x', 100) AS label FROM generate_series(1::bigint, ${String(MANY)}) i;
      CREATE VIEW @.late AS SELECT i + 0 / (i - ${String(LATE)}) AS i, label FROM @.many;
      CREATE VIEW @.slow AS SELECT 1::bigint AS i FROM pg_sleep(60)`),
  },
  ...(hasClickhouse && {
    ClickHouse: {
      open: openClickhouse,
      url: clickhouseUrl(),
      schema: await ownDatabase([
        "CREATE TABLE @.small (i Int64, label Nullable(String), day Nullable(Date)) ENGINE = MergeTree ORDER BY i",
        `INSERT INTO @.small VALUES ${values}`,
        "CREATE TABLE @.empty (i Int64) ENGINE = MergeTree ORDER BY i",
        "CREATE TABLE @.thousand ENGINE = MergeTree ORDER BY i AS SELECT toInt64(number + 1) AS i FROM numbers(1000)",
        `CREATE TABLE @.many ENGINE = MergeTree ORDER BY i AS SELECT toInt64(number + 1) AS i, repeat('x', 100) AS label FROM numbers(${String(MANY)})`,
        `CREATE VIEW @.late AS SELECT i + throwIf(i = ${String(LATE)}) AS i, label FROM @.many`,
        "CREATE VIEW @.slow AS SELECT toInt64(sleepEachRow(1)) AS i FROM numbers(60) SETTINGS max_block_size = 1",
      ]),
    },
  }),
  "a table in memory": {
    open: openMemory({
      "s.small": { columns: { i: "integer", label: "text", day: "date" }, rows: SMALL },
      "s.empty": { columns: integers, rows: [] },
      "s.thousand": { columns: integers, rows: numbers(1000) },
      "s.many": { columns: labelled, rows: labels },
      "s.late": { columns: labelled, rows: labels, failsAt: LATE },
      "s.slow": { columns: integers, rows: numbers(1), milliseconds: 60_000 },
    }),
    url: "memory://",
    schema: "s",
  },
};

const WHOLE: Selection = { conditions: [], sort: [["i", "ASC"]], page: null };
const page = (limit: number, offset = 0, lookAhead = true): Selection => ({
  ...WHOLE,
  page: { limit, offset, lookAhead },
});
const upTo = (count: number): number[] => numbers(count).map(({ i }) => i);
const idsIn = (json: unknown): number[] =>
  (JSON.parse(`[${String(json)}]`) as { i: number }[]).map(({ i }) => i);

describe.each(Object.entries(engines))("the engine of %s", (_, { open: openEngine, url, schema }) => {
  function open(options: Partial<EngineOptions> = {}): Warehouse {
    const opened = openEngine({ url, statementTimeoutMs: 30_000, warn: () => undefined, ...options });
    atEnd(() => opened.close());
    return opened;
  }
  const warehouse = open();

  const queryOf = (name: string, selection: Selection, more: Partial<ResolvedQuery> = {}): ResolvedQuery => ({
    ...{ relation: [schema, name], selection, format: "json", timeoutMs: 0, ...more },
  });
  const ask = async (
    name: string,
    selection = WHOLE,
    more?: Partial<ResolvedQuery>,
    context?: Partial<QueryContext>,
  ) => asText(await warehouse.rows(queryOf(name, selection, more), queryContext(context)));

  /** All of a result. */
  async function read(rows: TextRows) {
    if (rows.kind === "buffered") return { ...rows, lengths: [] };
    const texts: string[] = [];
    try {
      let chunk = await rows.chunks.next();
      for (; chunk.done !== true; chunk = await rows.chunks.next()) texts.push(String(chunk.value));
      return {
        kind: rows.kind,
        text: texts.join(""),
        lengths: texts.map(({ length }) => length),
        ...chunk.value,
      };
    } finally {
      await rows.chunks.return();
    }
  }

  it("knows the columns of a relation, and which relations are missing", async () => {
    const columns = await warehouse.columns([schema, "small"], null);
    expect(columns.map(({ name }) => name)).toEqual(["i", "label", "day"]);
    await warehouse.checkRelations([
      [schema, "small"],
      [schema, "none"],
    ]);
    expect(warehouse.missingRelations).toEqual([`${schema}.none`]);
    await expect(ask("none")).rejects.toThrow(
      `The relation ${schema}.none does not exist in the database, or has no columns.`,
    );
    expect([await warehouse.isReachable(), warehouse.degraded]).toEqual([true, null]);
  });

  it("writes rows in each format of text", async () => {
    const two: Selection = {
      ...page(2, 1),
      columns: [
        { name: "i", type: "Int64", wide: true },
        { name: "label", type: "String" },
      ] as never,
    };
    const textIn = async (format: ResolvedQuery["format"]) => {
      const rows = await ask("small", two, { format });
      return rows.kind === "buffered" ? rows.text : "";
    };
    const rows = ['{"i":2,"label":"quo\\"te"}', '{"i":3,"label":null}'];
    expect((await textIn("json")).replace(",\n", ",")).toBe(rows.join(","));
    expect(await textIn("ndjson")).toBe(rows.join("\n"));
    expect((await textIn("json-strings")).replace(",\n", ",")).toBe(
      rows.join(",").replace(/:(\d)/g, ':"$1"'),
    );
    expect((await textIn("csv")).split("\r\n").map((line) => line.split(",")[0])).toEqual(["2", "3"]);
  });

  it.each([
    [2, 0, { returned: 2, hasMore: true }],
    [5, 0, { returned: 5, hasMore: false }],
    [5, 3, { returned: 2, hasMore: false }],
    [5, 10, { returned: 0, hasMore: false, text: "" }],
  ])("looks one row ahead: limit %i, offset %i", async (limit, offset, expected) => {
    expect(await ask("small", page(limit, offset))).toMatchObject(expected);
  });

  it("does not look ahead where it is not asked to, and has no rows of an empty relation", async () => {
    expect(await ask("small", page(2, 0, false))).toMatchObject({ returned: 2, hasMore: false });
    expect(await ask("empty")).toMatchObject({ kind: "buffered", text: "", returned: 0, hasMore: false });
  });

  const conditions: readonly (readonly [Omit<Condition, "name">, number[]])[] = [
    [{ column: "i", operator: "=", type: "string", value: "+2" }, [2]],
    [{ column: "i", operator: "IN", type: "string_list", value: ["1", "5", "99999999999999999999"] }, [1, 5]],
    [{ column: "i", operator: "gt", type: "value", value: "3" }, [4, 5]],
    [{ column: "day", operator: "lte", type: "value", value: "2024-01-01" }, [1]],
    [{ column: "day", operator: ">=", type: "date", value: "2024-01-02" }, [2, 4, 5]],
    [{ column: "day", operator: "<=", type: "date", value: "2024-01-02" }, [1, 2, 5]],
    [{ column: "label", operator: "=", type: "string", value: 'quo"te' }, [2]],
    [{ column: "label", operator: "=", type: "string", case: "upper", value: "PLUM" }, [1]],
    [{ column: "label", operator: "ILIKE", type: "string", value: "%PLUM%" }, [1, 4]],
    [{ column: "label", operator: "ne", type: "value", value: "plum" }, [2, 4, 5]],
    [{ column: "label", operator: "null", type: "boolean", value: "true" }, [3]],
  ] as never;

  it.each(conditions)("filters: %j", async (condition, ids) => {
    const rows = await ask("small", { ...WHOLE, conditions: [{ name: "p", ...condition } as Condition] });
    expect(idsIn((rows as { text: string }).text)).toEqual(ids);
  });

  it.each([
    ["i", "1.5", "Parameter 'p' must be an integer."],
    ["day", "2024-02-30", "Parameter 'p' must be a date in YYYY-MM-DD format."],
  ])("refuses a value that is not of the type of %s", async (column, value, detail) => {
    const columns = await warehouse.columns([schema, "small"], null);
    const condition: Condition = { name: "p", column, operator: "=", type: "string", value };
    expect(warehouse.check([condition], columns)).toMatchObject({ status: 400, detail });
    expect(warehouse.check([{ ...condition, operator: "ILIKE", column: "label" }], columns)).toBeNull();
  });

  it("sorts by several keys, nulls as the greatest values", async () => {
    const sorted = async (direction: "ASC" | "DESC") =>
      idsIn(
        (
          (await ask("small", {
            ...WHOLE,
            sort: [
              ["day", direction],
              ["i", "DESC"],
            ],
          })) as { text: string }
        ).text,
      );
    expect(await sorted("ASC")).toEqual([1, 5, 2, 4, 3]);
    expect(await sorted("DESC")).toEqual([3, 4, 5, 2, 1]);
  });

  it("continues a page from the key of its last row", async () => {
    const ids: number[] = [];
    let after: readonly (string | null)[] | null = null;
    do {
      const rows: TextRows = await ask("small", { ...page(2), keyset: { scope: "", after } });
      if (rows.kind === "stream") throw new Error("too large");
      ids.push(...idsIn(rows.text));
      after = rows.next ?? null;
    } while (after !== null);
    expect(ids).toEqual([1, 2, 3, 4, 5]);
  });

  it("counts what filters select, with the bounds of columns", async () => {
    const columns = (await warehouse.columns([schema, "small"], null)).slice(0, 2);
    const condition: Condition = { name: "p", column: "i", operator: "lt", type: "value", value: "5" };
    const query = queryOf("small", { ...WHOLE, conditions: [condition] });
    expect(await warehouse.aggregate(query, queryContext(), columns)).toEqual({
      count: 4,
      bounds: [
        { min: 1, max: 4 },
        { min: "Plum, ripe", max: 'quo"te' },
      ],
    });
  });

  it.each([
    ["thousand", 2000, 1000, "buffered", false],
    ["many", 1000, 1000, "buffered", true],
    ["many", 30_000, 30_000, "stream", true],
    ["many", 60_000, MANY, "stream", false],
  ])("of %s, limit %i, returns %i rows: %s", async (name, limit, returned, kind, hasMore) => {
    const { text, ...result } = await read(await ask(name, page(limit)));
    expect(idsIn(text)).toEqual(upTo(returned));
    expect(result).toMatchObject({ kind, returned, hasMore });
    expect(Math.max(0, ...result.lengths.slice(1))).toBeLessThan(500_000);
  });

  it("fails in the middle of a stream when the query fails", async () => {
    const failing = ask("late", { ...WHOLE, sort: [] }).then(read);
    await expect(failing).rejects.toThrow();
  });

  it("releases the place of a stream that its reader ends", async () => {
    for (let i = 0; i < 10; i++) {
      const rows = await ask("many");
      if (rows.kind === "buffered") throw new Error("no stream");
      await rows.chunks.next();
      await rows.chunks.return();
    }
    await expect.poll(() => warehouse.load).toMatchObject({ running: 0, waiting: 0 });
  });

  it("cancels a query at its time limit, the shorter of its own and that of all", async () => {
    await expect(ask("slow", WHOLE, { timeoutMs: 300 })).rejects.toThrow(QueryTimeout);
    const limited = open({ statementTimeoutMs: 300 });
    await expect(limited.rows(queryOf("slow", WHOLE), queryContext())).rejects.toThrow(QueryTimeout);
  });

  it("cancels a query that nobody waits for", async () => {
    let isNeeded = true;
    const asked = ask("slow", WHOLE, {}, { isStillNeeded: () => isNeeded });
    asked.catch(() => undefined);
    await expect.poll(() => warehouse.load.running).toBe(1);
    isNeeded = false;
    await expect(asked).rejects.toThrow(QueryAbandoned);
    await expect.poll(() => warehouse.load).toMatchObject({ running: 0, waiting: 0 });
  });

  it("is overloaded for a caller that has taken its share of the queue, and answers what it has queued", async () => {
    await ask("small");
    const results = await Promise.allSettled(Array.from({ length: 700 }, () => ask("small", page(1))));
    const full = new Overloaded("queueFull");
    // On a busy machine some that were queued wait longer than a query may.
    const refused = results.filter(
      (one) => one.status === "rejected" && (one.reason as Error).message === full.message,
    ).length;
    expect(refused).toBeGreaterThan(100);
    expect(refused).toBeLessThanOrEqual(200);
    expect(await ask("small", page(1))).toMatchObject({ returned: 1 });
  });
});
