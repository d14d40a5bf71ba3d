import { describe, expect, it } from "vitest";
import type { Aggregation, Leaf } from "../../runtime/core/model/aggregate/metric.js";
import {
  type Condition,
  type ResolvedQuery,
  type RowFormat,
  type Selection,
  withDigest,
} from "../../runtime/core/model/query.js";
import { openClickhouse } from "../../runtime/clickhouse/engine.js";
import { clickhouse, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { queryContext } from "../support/query-context.js";
import { roleOf } from "./role.js";

/** A table of every kind of type, and a view. */
const everyType = await ownDatabase([
  `CREATE TABLE @.every (id UInt32, big UInt64, amount Nullable(Decimal(18, 4)), ratio Nullable(Float64), flag Nullable(Bool),
     label LowCardinality(Nullable(String)), text String, mark FixedString(4), day Nullable(Date), at DateTime, exact Nullable(DateTime64(6)),
     code UUID, mood Enum8('a' = 1, 'b' = 2), list Array(Nullable(UInt64)), map Map(String, Decimal(9, 2)),
     pair Tuple(a Nullable(UInt8), b String), both Tuple(UInt8, Bool), ip IPv4, doc JSON)
   ORDER BY id PARTITION BY id % 3 SETTINGS index_granularity = 8`,
  ...[0, 1].map(
    (part) => `INSERT INTO @.every SELECT number * 2 + ${String(part)} AS id, 18446744073709551615 - id,
     if(id % 7 = 0, NULL, toDecimal64(id, 4) / 8), multiIf(id % 5 = 0, nan, id % 5 = 1, NULL, id % 11 = 0, -inf, id / 3),
     if(id % 4 = 0, NULL, id % 3 = 0), if(id % 6 = 0, NULL, toString(id % 10)), concat('t/"', toString(id), '\\xff'), toString(id),
     if(id % 9 = 0, NULL, toDate('2024-01-01') + id), toDateTime('2024-01-01 00:00:00', 'UTC') + id * 3600,
     if(id % 8 = 0, NULL, toDateTime64('2024-01-01 00:00:00', 6, 'UTC') + toIntervalMicrosecond(id * 500000)), toUUID('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'),
     if(id % 2 = 0, 'a', 'b'), [id, NULL], map('k', id / 4), (if(id % 2 = 0, NULL, id % 200), 'x'), (1, id % 2 = 0), toIPv4('127.0.0.1'),
     '{"a": 1.5, "b": [1, null], "c": true}' FROM numbers(50)`,
  ),
  "CREATE VIEW @.seen AS SELECT id % 3 AS part, count() AS n, sum(amount) AS total, max(at) AS last, groupArray(flag) AS flags, any(toString(ratio)) AS some FROM (SELECT * FROM @.every ORDER BY id) GROUP BY part ORDER BY part",
]);

const CONDITIONS: readonly Condition[] = [
  { name: "id", column: "id", operator: "IN", value: ["1", "2", "3", "5", "8", "13", "21", "34", "55"] },
  { name: "l", column: "label", operator: "IN", value: ["1", "2", "3", "5", "8"] },
  { name: "t", column: "text", operator: "ILIKE", value: "%T/%" },
  { name: "r", column: "ratio", operator: "null", value: "false" },
  { name: "a", column: "amount", operator: "gte", value: "0.3" },
  { name: "d", column: "day", operator: ">=", value: "2024-01-02" },
  { name: "e", column: "exact", operator: "<=", value: "2024-12-31" },
  { name: "f", column: "flag", operator: "ne", value: "true" },
  { name: "m", column: "mood", operator: "=", value: "b" },
  { name: "k", column: "mark", operator: "ne", value: "77" },
] as unknown as readonly Condition[];

const valueIn = (name: string) => [{ fact: "every", value: name }];
const leafOf = (value: string, aggregation: Aggregation): Leaf => ({
  ...{ kind: "leaf", fact: "every", filters: [] },
  ...{ value, aggregation },
});
/** Sums and averages by group of stored columns, which one `SELECT` less makes. */
const GROUPED: Selection = {
  conditions: CONDITIONS.slice(5, 6),
  sort: [
    ["day__month", "ASC"],
    ["label", "ASC"],
  ],
  page: null,
  grouping: {
    aggregate: withDigest({
      of: "measures",
      relations: [
        {
          name: "every",
          relation: [everyType, "every"],
          values: ["day", "label", "amount", "big"].map((name) => ({ name, column: name })),
        },
      ],
      facts: [{ relation: "every", joins: [] }],
      dimensions: [
        { name: "day", grain: "day", places: valueIn("day") },
        { name: "label", places: valueIn("label") },
      ],
      ...{ spines: [], columns: [], filters: [], measures: [] },
    }),
    groups: [
      { key: "day__month", name: "day", grain: "month" },
      { key: "label", name: "label" },
    ],
    measures: [
      { name: "total", groups: [], metric: leafOf("amount", "sum") },
      { name: "mean", groups: [], metric: leafOf("big", "average") },
    ],
  },
};

const page = { limit: 7, offset: 3, lookAhead: true };
const none: Selection = { conditions: [], sort: [["id", "ASC"]], page: null };
const QUERIES: readonly (readonly [relation: string, format: RowFormat, selection: Selection])[] = [
  ...(["json", "json-strings", "csv", "arrow"] as const).map((format) => ["every", format, none] as const),
  ["seen", "json", { ...none, sort: [["part", "ASC"]] }],
  ...[CONDITIONS.slice(0, 3), CONDITIONS.slice(3)].map(
    (conditions) => ["every", "ndjson", { ...none, conditions }] as const,
  ),
  ...(["ratio", "label"] as const).map(
    (column) =>
      [
        "every",
        "ndjson",
        {
          conditions: [],
          sort: [
            [column, "DESC"],
            ["id", "ASC"],
          ],
          page,
          keyset: { scope: "", after: null },
        },
      ] as const,
  ),
];

const BOUNDED = ["amount", "day", "label"].map((name) => ({ name, type: "String" }));

/** What a role gets: the rows of each query, or that it failed. */
async function answersOf(address: string, queries = QUERIES): Promise<readonly string[]> {
  const warehouse = openClickhouse({
    url: address,
    statementTimeoutMs: 20_000,
    databasePoolSize: 4,
    warn: () => undefined,
  });
  const query = ([name, format, selection]: (typeof QUERIES)[number]): ResolvedQuery => ({
    relation: [everyType, name],
    selection,
    format,
    timeoutMs: 0,
  });
  const textOf = async (asked: (typeof QUERIES)[number]): Promise<string> => {
    const rows = await warehouse.rows(query(asked), queryContext());
    if (rows.kind === "stream") throw new Error("too large");
    return `${Buffer.concat(rows.parts).toString("latin1")} ${JSON.stringify(rows.next)} ${String(rows.hasMore)}`;
  };
  try {
    return await Promise.all([
      ...queries.map((asked) => textOf(asked).catch(failed)),
      warehouse
        .aggregate(query(["every", "json", none]), queryContext(), BOUNDED)
        .then((result) => JSON.stringify(result), failed),
    ]);
  } finally {
    await warehouse.close();
  }
}

const FAILED = "failed";
const failed = (): string => FAILED;

type Setting = readonly [name: string, value: string];

/** Settings with which the role's own client fails or gets other rows too, and those of the server's own tests. */
const REFUSED =
  /^(allow_ddl|force_.*|implicit_transaction|input_format_tsv_enum_as_number|inject_random_order_for_select_without_order_by|make_distributed_plan)$/;

/** The settings of this server that a condition selects, each with another value. */
async function settingsWhere(condition: string): Promise<readonly Setting[]> {
  const text = await clickhouse(
    `SELECT name, multiIf(type = 'OverflowModeGroupBy', 'any', type LIKE 'OverflowMode%', 'break', type = 'Bool', toString(value = '0'), '1')
     FROM system.settings WHERE (${condition}) AND tier != 'Obsolete' AND alias_for = '' ORDER BY name FORMAT TSV`,
  );
  const rows = text
    .trim()
    .split("\n")
    .map((line) => line.split("\t") as [string, string]);
  return rows.filter(([name]) => !REFUSED.test(name));
}

/** The settings by which an answer differs; each group of them is halved until it is found. */
async function findDifferent(
  groups: readonly (readonly Setting[])[],
  isEqual: (settings: readonly Setting[]) => Promise<boolean>,
): Promise<readonly string[]> {
  const found: string[] = [];
  const search = async (settings: readonly Setting[]): Promise<void> => {
    if (await isEqual(settings)) return;
    if (settings.length === 1) return void found.push(...settings.map(([name]) => name));
    const half = settings.length >> 1;
    await search(settings.slice(0, half));
    await search(settings.slice(half));
  };
  for (const group of groups) await search(group);
  return found;
}

describe.skipIf(!hasClickhouse)("a setting of a profile", () => {
  let profile: Readonly<Record<string, string>> = {};
  const answersUnder = async (
    address: string,
    settings: readonly Setting[],
    queries = QUERIES,
  ): Promise<readonly string[]> => {
    profile = Object.fromEntries(settings);
    return answersOf(address, queries);
  };

  it("changes no answer: each boolean in its other value, each overflow mode", async () => {
    const address = await roleOf(() => profile);
    const settings = await settingsWhere("type = 'Bool' OR type LIKE 'OverflowMode%'");
    const queries = [...QUERIES, ["every", "json", GROUPED] as const];
    const baseline = await answersUnder(address, [], queries);
    expect(baseline).not.toContain(FAILED);
    const groups = Array.from({ length: Math.ceil(settings.length / GROUP) }, (_, i) =>
      settings.slice(i * GROUP, (i + 1) * GROUP),
    );
    const isEqual = async (some: readonly Setting[]): Promise<boolean> =>
      (await answersUnder(address, some, queries)).join("\0") === baseline.join("\0");
    expect(await findDifferent(groups, isEqual)).toEqual([]);
  });

  it("ends no query early: each limit at 1 fails it where every overflow mode is to break", async () => {
    const address = await roleOf(() => profile);
    const modes = await settingsWhere("type LIKE 'OverflowMode%'");
    const limits = await settingsWhere(
      "type LIKE '%Int64%' AND match(name, 'max_(rows|bytes)|limit|_rows_|_bytes_to_') AND name NOT LIKE '%format%'",
    );
    const baseline = await answersUnder(address, []);
    const isWhole = async (some: readonly Setting[]): Promise<boolean> => {
      const answers = await answersUnder(address, [...modes, ...some]);
      return answers.every((answer, i) => answer === FAILED || answer === baseline[i]);
    };
    expect(limits.map(([name]) => name)).toContain("max_rows_to_read_leaf");
    expect(
      await findDifferent(
        limits.map((limit) => [limit]),
        isWhole,
      ),
    ).toEqual([]);
  });
});

/** Settings that are tried together. */
const GROUP = 32;
