import { describe, expect, it } from "vitest";
import { operatorsOf } from "../../runtime/core/model/column-operators.js";
import { clickhouseType } from "../../runtime/core/model/database-types.js";
import type { FilterParameter } from "../../runtime/core/model/endpoint.js";
import { openWarehouse } from "../../runtime/core/handler/open-gateway.js";
import { parseType } from "../../runtime/clickhouse/filter-types.js";
import { atEnd } from "../support/at-end.js";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

/** By type: the value of row `number` (0 to 1,199), which two rows have. A `Time64` is compared as seconds, which no primary key serves. */
const TYPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["Int16", "Int32", "Int64", "Int128", "Int256", "UInt16", "UInt32", "UInt64", "UInt128", "UInt256"].map(
      (type) => [type, type.startsWith("U") ? "g" : "toInt32(g) - 300"],
    ),
  ),
  "Decimal(18, 4)": "(toInt32(g) - 300) * 0.25",
  "Decimal(50, 10)": "(toInt32(g) - 300) * 0.25",
  Float32: "(toInt32(g) - 300) * 0.5",
  Float64: "(toInt32(g) - 300) / 3",
  String: "hex(MD5(toString(g)))",
  "LowCardinality(String)": "hex(MD5(toString(g)))",
  "FixedString(40)": "hex(MD5(toString(g)))",
  "Enum8('sad' = 1, 'ok' = -2, 'it\\'s' = 3)": "['sad', 'ok', 'it\\'s'][1 + g % 3]",
  Bool: "g % 2",
  UUID: "reinterpretAsUUID(MD5(toString(g)))",
  IPv4: "toIPv4(g * 77)",
  IPv6: "toIPv6(concat('::', hex(g + 1)))",
  Date: "toDate('2020-01-01') + g",
  Date32: "toDate32('1950-01-01') + g",
  "DateTime('Asia/Kolkata')": "toDateTime('2024-01-01 00:00:00', 'UTC') + g * 77",
  "DateTime64(6, 'UTC')": "toDateTime64('2024-01-01 00:00:00', 6, 'UTC') + g * 77 + 0.000001",
  Time: "g * 77",
  "Time64(3)": "toDecimal64(g * 77 + 0.125, 3)",
};
const types = Object.entries(TYPES).map(([type, value], i) => ({ name: `t${String(i)}`, type, value }));

const database = await ownDatabase(
  types.flatMap(({ name, type, value }) => {
    const stored = type.startsWith("LowCardinality")
      ? type.replace("(String", "(Nullable(String)")
      : `Nullable(${type})`;
    return [
      `CREATE TABLE @.${name} (id UInt32, v ${stored}) ENGINE = MergeTree ORDER BY v SETTINGS allow_nullable_key = 1, index_granularity = 32`,
      `INSERT INTO @.${name} SELECT number AS id, if(number % 100 = 7, NULL, CAST(${value} AS ${type})) FROM (SELECT number, number % 600 AS g FROM numbers(1200))`,
    ];
  }),
);

const models = types.map(({ name, type }) => ({
  ...{
    name,
    schema: database,
    columns: { id: "UInt32", v: type },
    tags: ["production", "types", `api:${name}`],
  },
  key: "id",
  api: {
    allow_unfiltered: true,
    methods: ["GET", "POST"],
    pagination: { enabled: true, default_limit: 2000, max_limit: 2000, response: "envelope" },
    parameters: [
      { name: "equal", column: "v", operator: "=", type: "string" },
      { name: "some", column: "v", operator: "IN", type: "string_list" },
    ],
    sort: [{ column: "id", direction: "ASC" }],
    sortable_fields: ["v"],
  },
  routewright: { filters: ["v"], cursor: true },
}));

const url = hasClickhouse
  ? await serveManifest(manifestOf(models, { adapter_type: "clickhouse" }), {
      ...{ DATABASE_URL: clickhouseUrl(), RATE_LIMITS: "tier3=1000000" },
    })
  : "";

const SIGNS = { eq: "=", ne: "!=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
const ASKED = [0, 300, 599] as const;

interface Page {
  readonly items: readonly { readonly id: number; readonly v: unknown }[];
  readonly pagination: { readonly next_cursor: string | null };
}

describe.skipIf(!hasClickhouse).each(types)("a filter on $type", ({ name, type }) => {
  const page = async (parameters: Readonly<Record<string, string>>): Promise<Page | string> => {
    const target = `/v1/types/${name}?${new URLSearchParams(parameters).toString()}`;
    const { status, text } = await sendRequest(url, target, { key: KEYS.tier3 });
    return status === 200 ? (JSON.parse(text) as Page) : `${String(status)} ${text}`;
  };
  const ids = async (parameters: Readonly<Record<string, string>>): Promise<readonly number[] | string> => {
    const found = await page(parameters);
    return typeof found === "string" ? found : found.items.map(({ id }) => id);
  };
  const oracle = async (condition: string, order = "id"): Promise<readonly number[]> => {
    const text = await clickhouse(
      `SELECT id FROM ${database}.${name} WHERE ${condition} ORDER BY ${order} FORMAT TSV`,
    );
    return text.split("\n").filter(Boolean).map(Number);
  };
  /** What each of some conditions finds, in one statement. */
  const oracles = async (conditions: readonly string[]): Promise<readonly (readonly number[])[]> => {
    const text = await clickhouse(
      `SELECT id, ${conditions.join(", ")} FROM ${database}.${name} ORDER BY id FORMAT JSONCompactEachRow`,
    );
    const rows = text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as readonly [id: number, ...found: unknown[]]);
    return conditions.map((_, i) => rows.filter((row) => row[i + 1] === 1).map(([id]) => id));
  };
  const value = (id: number): string => `(SELECT v FROM ${database}.${name} WHERE id = ${String(id)})`;
  const sentOf = async (id: number): Promise<string> => {
    const found = await page({ limit: "1", offset: String(id) });
    return typeof found === "string" ? found : String(found.items[0]?.v);
  };

  it("finds by each operator what ClickHouse finds by it", async () => {
    const operators = operatorsOf(clickhouseType(parseType(type).name).value).filter(
      (operator): operator is keyof typeof SIGNS => operator in SIGNS,
    );
    for (const id of ASKED) {
      const text = await sentOf(id);
      const [equal, ...expected] = await oracles(
        ["=", ...operators.map((operator) => SIGNS[operator])].map((sign) => `v ${sign} ${value(id)}`),
      );
      expect([text, await ids({ equal: text })]).toEqual([text, equal]);
      for (const [i, operator] of operators.entries()) {
        const found = await ids({ [`v[${operator}]`]: text });
        expect([operator, text, found]).toEqual([operator, text, expected[i]]);
      }
    }
    const [none, some] = await oracles(["v IS NULL", "v IS NOT NULL"]);
    expect([await ids({ "v[null]": "true" }), await ids({ "v[null]": "false" })]).toEqual([none, some]);
  });

  it("finds by a list what ClickHouse finds by it", async () => {
    const texts = await Promise.all(ASKED.map(sentOf));
    const expected = await oracle(ASKED.map((id) => `v = ${value(id)}`).join(" OR "));
    for (const field of ["some", "v[in]"]) expect(await ids({ [field]: texts.join(",") })).toEqual(expected);
  });

  it.each(["ASC", "DESC"])("its sort is that of ClickHouse, page by page: %s", async (direction) => {
    const walked: number[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const parameters = { sort_by: "v", sort_direction: direction, limit: "250" };
      const found: Page | string = await page({ ...parameters, ...(cursor !== "" && { cursor }) });
      if (typeof found === "string") throw new Error(found);
      walked.push(...found.items.map(({ id }) => id));
      cursor = found.pagination.next_cursor;
    }
    const nulls = direction === "ASC" ? "LAST" : "FIRST";
    expect(walked).toEqual(await oracle("1", `v ${direction} NULLS ${nulls}, id`));
  });

  it.skipIf(type.startsWith("Time64"))("is served by the primary key", async () => {
    const warehouse = await openWarehouse(clickhouseUrl());
    atEnd(() => warehouse.close());
    for (const [operator, kind] of [
      ["=", "string"],
      ["IN", "string_list"],
    ] as const) {
      const filter = { name: "p", column: "v", operator, type: kind } as FilterParameter;
      expect([operator, await warehouse.usesIndex([database, name], filter)]).toEqual([operator, true]);
    }
  });
});
