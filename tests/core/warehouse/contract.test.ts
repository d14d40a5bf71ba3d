import { describe, expect, it } from "vitest";
import { Projection } from "../../../runtime/core/model/projection.js";
import type { Condition, ResolvedQuery, Selection } from "../../../runtime/core/model/query.js";
import type { EngineOptions } from "../../../runtime/core/warehouse/base-engine.js";
import { Overloaded, QueryAbandoned, QueryTimeout } from "../../../runtime/core/warehouse/query-errors.js";
import type { QueryContext, Warehouse } from "../../../runtime/core/warehouse/warehouse.js";
import { atEnd } from "../../support/at-end.js";
import { engines, MANY, numbers, wideColumns } from "./contract-tables.js";
import { asText, queryContext, type TextRows } from "../../support/query-context.js";

const WHOLE: Selection = { conditions: [], sort: [["i", "ASC"]], page: null };
const page = (limit: number, offset = 0, lookAhead = true): Selection => ({
  ...WHOLE,
  page: { limit, offset, lookAhead },
});
const upTo = (count: number): number[] => numbers(count).map(({ i }) => i);
const idsIn = (json: unknown): number[] =>
  (JSON.parse(`[${String(json)}]`) as { i: number }[]).map(({ i }) => i);

describe.each(Object.entries(engines))(
  "the engine of %s",
  (_, { open: openEngine, url, schema, replace, columns: most }) => {
    function open(options: Partial<EngineOptions> = {}): Warehouse {
      const opened = openEngine({ url, statementTimeoutMs: 30_000, warn: () => undefined, ...options });
      atEnd(() => opened.close());
      return opened;
    }
    const warehouse = open();

    const queryOf = (
      name: string,
      selection: Selection,
      more: Partial<ResolvedQuery> = {},
    ): ResolvedQuery => ({
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
        columns: new Projection([
          { name: "i", type: "Int64", wide: true },
          { name: "label", type: "String" },
        ]),
      };
      const asStrings = (numbers: "number" | "string"): Selection => ({
        ...two,
        columns: new Projection((two.columns?.columns ?? []).map((column) => ({ ...column, numbers }))),
      });
      const textIn = async (format: ResolvedQuery["format"], selection = two) => {
        const rows = await ask("small", selection, { format });
        return rows.kind === "buffered" ? rows.text : "";
      };
      const rows = ['{"i":2,"label":"quo\\"te"}', '{"i":3,"label":null}'];
      expect((await textIn("json")).replace(",\n", ",")).toBe(rows.join(","));
      expect(await textIn("ndjson")).toBe(rows.join("\n"));
      expect((await textIn("json-strings")).replace(",\n", ",")).toBe(
        rows.join(",").replace(/:(\d)/g, ':"$1"'),
      );
      expect(await textIn("json-declared", asStrings("string"))).toBe(await textIn("json-strings"));
      expect(await textIn("json-declared", asStrings("number"))).toBe(await textIn("json"));
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
      [
        { column: "i", operator: "IN", type: "string_list", value: ["1", "5", "99999999999999999999"] },
        [1, 5],
      ],
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
      ["many", 6_000, 6_000, "stream", true],
      ["many", 12_000, MANY, "stream", false],
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

    it("matches names of columns exactly, else in any letter case, and serves them as declared", async () => {
      const columns = new Projection([{ name: "i", type: null }]);
      const condition: Condition = { name: "p", column: "i", operator: "gt", type: "value", value: "1" };
      const rows = await ask("cased", { ...page(5), columns, conditions: [condition] });
      expect(rows).toMatchObject({ text: '{"i":2}', columns: [{ name: "i" }] });
      const exact = new Projection([
        { name: "LABEL", type: null },
        { name: "Label", type: null },
      ]);
      expect(await ask("cased", { ...page(1), columns: exact })).toMatchObject({
        text: '{"LABEL":null,"Label":"a"}',
      });
    });

    it.each([
      ["label", "i", "label (ambiguous: Label, LABEL)"],
      ["none", "i", "none"],
      ["i", "none", "none"],
      ["i", "label", "label (ambiguous: Label, LABEL)"],
    ])(
      "serves no rows without columns, and drops no filter: column %s, filter %s",
      async (name, column, named) => {
        const condition: Condition = { name: "p", column, operator: "=", type: "string", value: "1" };
        const selection = {
          ...page(5),
          columns: new Projection([{ name, type: null }]),
          conditions: [condition],
        };
        await expect(ask("cased", selection)).rejects.toThrow(
          `The relation ${schema}.cased lacks columns of its model: ${named}.`,
        );
        expect(warehouse.missingRelations).not.toContain(`${schema}.cased`);
      },
    );

    it("reads as many columns as a table has, also with a long list", async () => {
      const [column = "", ...others] = wideColumns(most);
      const values = Array.from({ length: 5000 }, (_, i) => String(i));
      const condition: Condition = { name: "p", column, operator: "IN", type: "string_list", value: values };
      const rows = await ask("wide", { conditions: [condition], sort: [], page: null });
      const [row = {}] = JSON.parse(`[${(rows as { text: string }).text}]`) as Readonly<
        Record<string, number>
      >[];
      expect(Object.keys(row)).toEqual([column, ...others]);
      expect(row[others.at(-1) ?? ""]).toBe(most - 1);
    });

    it("runs a query that fails by itself once", async () => {
      await expect(ask("failing")).rejects.toThrow();
      const { started } = warehouse.load;
      await expect(ask("failing")).rejects.toThrow();
      // The query, and what it takes to ask whether the relation has changed.
      expect(warehouse.load.started - started).toBeLessThan(7);
      expect(warehouse.missingRelations).not.toContain(`${schema}.failing`);
    });

    it("answers from the relation that has taken the place of the one whose columns it knows", async () => {
      const all: Selection = { conditions: [], sort: [], page: null };
      expect(await ask("replaced", all)).toMatchObject({ text: '{"i":1}' });
      await replace();
      expect(await ask("replaced", all)).toMatchObject({ text: '{"j":"one"}' });
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
  },
);
