/** A value is sent as of its enum: an index finds it by its frequency, and what is no label equals no row. */
import { expect, it } from "vitest";
import type { Condition } from "../../runtime/core/model/query.js";
import { openPostgres } from "../../runtime/postgres/engine.js";
import { selectRows } from "../../runtime/postgres/select.js";
import { atEnd } from "../support/at-end.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

const schema = await ownSchema(`CREATE TYPE @.state AS ENUM ('usual', 'rare', 'unused');
  CREATE TABLE @.orders AS SELECT g AS id, CASE WHEN g % 12000 = 0 THEN 'rare' WHEN g % 7 = 0 THEN NULL ELSE 'usual' END::@.state AS st,
    (g % 100)::numeric::money AS price, timestamp '2026-01-01' + g * interval '1 hour' AS at FROM generate_series(1, 48000) g;
  CREATE INDEX ON @.orders (st); CREATE INDEX ON @.orders (price); CREATE INDEX ON @.orders (at); ANALYZE @.orders;`);
const url = await serveManifest(
  manifestOf([
    {
      ...{ name: "orders", schema, columns: { id: "int", st: "state", price: "money", at: "timestamp" } },
      api: {
        allow_unfiltered: true,
        methods: ["GET", "POST"],
        pagination: { enabled: true, default_limit: 3, max_limit: 50_000 },
      },
      routewright: { filters: ["st"], fields: true },
    },
  ]),
);
const total = async (filter: string): Promise<unknown> => {
  const target = `/v1/shop/orders?fields=id&${filter}`;
  const reply = await sendRequest(url, target, { key: KEYS.tier3, headers: { Prefer: "count=exact" } });
  return reply.status === 200 ? Number(reply.headers["x-total-count"]) : reply.text;
};

it("equals no row where the text is no label, and the other labels of a list count", async () => {
  expect(await total("st[eq]=rare")).toBe(4);
  expect(await total("st[eq]=none")).toBe(0);
  expect(await total("st[gt]=none")).toBe(0);
  expect(await total("st[in]=none,rare,%20")).toBe(4);
  expect(await total("st[ne]=none")).toBe(await total("st[null]=false"));
});

it("counts a label from the moment that the enum has it", async () => {
  expect(await total("st[eq]=late")).toBe(0);
  await query(`ALTER TYPE "${schema}".state ADD VALUE 'late'`);
  await query(`INSERT INTO "${schema}".orders VALUES (0, 'late')`);
  expect(await total("st[eq]=late")).toBe(1);
  expect(await total("st[in]=late,rare,none")).toBe(5);
});

it("lets the planner see the values of enums, money and times", async () => {
  const warehouse = openPostgres({
    url: databaseUrl,
    statementTimeoutMs: 20_000,
    warn: () => undefined,
  });
  atEnd(() => warehouse.close());
  const columns = await warehouse.columns([schema, "orders"], null);
  const planned = async (column: string, value: string | readonly string[]): Promise<number> => {
    const operator = typeof value === "string" ? "=" : "IN";
    const condition = {
      name: "p",
      column,
      operator,
      type: operator === "=" ? "string" : "string_list",
      value,
    };
    const made = selectRows({ relation: [schema, "orders"] }, columns, {
      conditions: [condition as Condition],
      ...{ sort: [], page: null },
    });
    const values = made.values.map((each) =>
      typeof each === "string" ? `'${each}'` : `'{${String(each)}}'`,
    );
    const rows = await query(
      `PREPARE shown AS ${made.text}; EXPLAIN (FORMAT JSON) EXECUTE shown(${values.join(", ")})`,
    );
    const [{ Plan: plan }] = rows[0]?.["QUERY PLAN"] as [
      { Plan: { "Plan Rows": number; Plans?: { "Plan Rows": number }[] } },
    ];
    return plan["Plan Rows"];
  };
  expect(await planned("st", "rare")).toBeLessThan(500);
  expect(await planned("st", "usual")).toBeGreaterThan(30_000);
  expect(await planned("st", ["rare"])).toBeLessThan(500);

  expect(await planned("at", ["2026-01-01T03:00:00+02:00"])).toBeLessThan(10);
});
