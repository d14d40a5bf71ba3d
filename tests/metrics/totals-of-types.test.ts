/** Totals by groups of each type, of which some of ClickHouse hold no null. */
import { describe, expect, it } from "vitest";
import { byEngine, engine, engineUrl, ownTables } from "../support/engines.js";
import { manifestOf } from "../support/manifest.js";
import { serveManifest } from "../support/service.js";

type Types = Readonly<Record<string, readonly [type: string, value: string]>>;

const CLICKHOUSE = {
  low: ["LowCardinality(String)", "'a'"],
  enumerated: ["Enum8('a' = 1, 'b' = 2)", "'b'"],
  day: ["Date", "'2026-01-02'"],
  day32: ["Date32", "'1950-01-02'"],
  instant: ["DateTime64(3, 'UTC')", "'2026-01-02 03:04:05'"],
  id: ["UUID", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"],
  address: ["IPv4", "'127.0.0.1'"],
  price: ["Decimal(18, 4)", "1.5"],
  fixed: ["FixedString(3)", "'abc'"],
  flag: ["Bool", "true"],
  list: ["Array(String)", "['a', 'b']"],
  map: ["Map(String, UInt8)", "map('a', 1)"],
  pair: ["Tuple(UInt8, String)", "(1, 'a')"],
  lists: ["Array(Array(UInt8))", "[[1], []]"],
  point: ["Point", "(1, 2)"],
  ring: ["Ring", "[(0, 0), (1, 1)]"],
} satisfies Types;
const POSTGRES = {
  list: ["text[]", "'{a,b}'"],
  day: ["date", "'2026-01-02'"],
  pairs: ["jsonb", `'{"a": 1}'`],
  span: ["int4range", "'[1,3)'"],
  bytes: ["bytea", "'abc'"],
} satisfies Types;
const COLUMNS = byEngine<Types>({
  postgres: POSTGRES,
  clickhouse: CLICKHOUSE,
});

const DATE = byEngine({ postgres: "date", clickhouse: "Date" });
const names = Object.keys(COLUMNS);
const types = Object.values(COLUMNS).map(([type]) => type);
const list = [...names.map((name, i) => `${name} ${types[i]!}`), `days ${DATE}`].join(", ");
const rows = ["2025", "2026"].map(
  (year) =>
    `INSERT INTO @.items SELECT ${Object.values(COLUMNS)
      .map(([, value]) => value)
      .join(", ")}, '${year}-05-06'`,
);
const schema = await ownTables({
  postgres: [`CREATE TABLE @.items (${list})`, ...rows].join(";"),
  clickhouse: [`CREATE TABLE @.items (${list}) ENGINE = MergeTree ORDER BY tuple()`, ...rows],
});
const url = await serveManifest(
  manifestOf(
    [
      {
        name: "items",
        schema,
        columns: { ...Object.fromEntries(names.map((name, i) => [name, types[i]!])), days: DATE },
        api: {
          allow_unfiltered: true,
          parameters: [
            { name: "start_date", column: "days", operator: ">=", type: "date" },
            { name: "end_date", column: "days", operator: "<=", type: "date" },
          ],
        },
        routewright: {
          aggregate: { group_by: names, measures: { items: { agg: "count" } } },
        },
      },
    ],
    { adapter_type: engine },
  ),
  { DATABASE_URL: engineUrl() },
);

async function ask(request: string) {
  const response = await fetch(`${url}/v1/shop/items?${request}`);
  return { status: response.status, text: await response.text() };
}

const WITHOUT_NULL = new Set(
  byEngine<readonly string[]>({
    postgres: [],
    clickhouse: ["list", "map", "pair", "lists", "point", "ring"],
  }),
);

describe("groups of one type", () => {
  it.each(names)("%s", async (name) => {
    const plain = await ask(`group_by=${name}`);
    const [row] = JSON.parse(plain.text) as [Record<string, unknown>];
    const compared = await ask(
      `group_by=${name}&compare=previous_year&start_date=2026-01-01&end_date=2026-12-31`,
    );
    expect(JSON.parse(compared.text)).toEqual([{ ...row, items: 1, items__previous: 1, items__change: 0 }]);
    const first = await ask(`group_by=${name}&top=1&sort_by=items`);
    expect(JSON.parse(first.text)).toEqual([row]);
    for (const [option, request] of [
      ["totals", `group_by=${name}&totals=true`],
      ["other", `group_by=${name}&top=1&sort_by=items&other=true`],
    ] as const) {
      const { status, text } = await ask(request);
      if (WITHOUT_NULL.has(name))
        expect([status, text]).toEqual([
          400,
          expect.stringContaining(`'${option}' has no value for ${name}, whose type has no null.`),
        ]);
      else expect([status, JSON.parse(text)[0]]).toEqual([200, expect.objectContaining(row)]);
    }
  });
});
