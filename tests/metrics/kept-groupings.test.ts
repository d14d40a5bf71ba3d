import { describe, expect, it } from "vitest";
import { CLICKHOUSE_AGGREGATES } from "../../runtime/clickhouse/aggregates.js";
import { finished } from "../../runtime/clickhouse/parameters.js";
import type { RollUp } from "../../runtime/core/model/aggregate/aggregate.js";
import type { Leaf } from "../../runtime/core/model/aggregate/metric.js";
import { type Condition, OWN_ROWS, type Selection, withDigest } from "../../runtime/core/model/query.js";
import { conditionForm, queryKey } from "../../runtime/core/model/query-key.js";
import { SchemaCache } from "../../runtime/core/warehouse/schema-cache.js";
import { resolved, type Sql } from "../../runtime/core/warehouse/sql.js";
import type { ResultColumns } from "../../runtime/core/warehouse/warehouse.js";
import { AggregateEngine } from "../../runtime/metrics/aggregate-engine.js";

const TYPES = { region: "String", day: "Date", amount: "Decimal(18, 2)", org: "String" };
const columns: ResultColumns = Object.entries(TYPES).map(([name, type]) => ({ name, type, isStored: true }));
const aggregate = withDigest({
  of: "measures",
  relations: [
    {
      name: "payments",
      relation: ["shop", "payments"],
      values: Object.keys(TYPES).map((name) => ({ name, column: name })),
      rows: { column: "org", equals: "org" },
    },
  ],
  facts: [{ relation: "payments", joins: [] }],
  dimensions: ["region", "day"].map((name) => ({
    name,
    places: [{ fact: "payments", value: name }],
    ...(name === "day" && { grain: "day" as const }),
  })),
  spines: [],
  columns: [],
  filters: [],
  measures: [],
});
const metric: Leaf = { kind: "leaf", fact: "payments", value: "amount", aggregation: "sum", filters: [] };
const results: ResultColumns = [{ name: "volume", type: "Decimal(38, 2)" }];

const selectionOf = (...conditions: readonly Condition[]): Selection => ({
  grouping: {
    aggregate,
    groups: [{ key: "region", name: "region" }],
    measures: [{ name: "volume", groups: [], metric }],
  },
  conditions,
  sort: [],
  page: null,
});
const since = (value: string): Condition => ({
  name: "start",
  column: "day",
  operator: ">=",
  type: "date",
  value,
});
const among = (...value: readonly string[]): Condition => ({
  name: "region",
  column: "region",
  operator: "IN",
  type: "string_list",
  value,
});
const own = (value: string): Condition => ({
  name: OWN_ROWS,
  column: "",
  operator: "=",
  type: "string",
  value,
});

/** Asks for statements in versions of the rows, and counts how many were made. */
function keeper() {
  let now = columns;
  const describe = () => Promise.resolve({ id: "1", columns: now });
  const relations = new SchemaCache({ describe, changeIn: () => "none", onColumns: () => undefined });
  const dialect = CLICKHOUSE_AGGREGATES;
  const engine = new AggregateEngine({ dialect, relations, describe, rollUpVersion: () => null });
  const made = new Set<Sql<Selection>>();
  const ask = async (selection: Selection, version = "first build", own = columns) => {
    now = own;
    const prepared = await engine.prepare(selection, version, false);
    const { select: statement } = prepared.select(results);
    made.add(statement);
    return finished(resolved(statement, selection) as Sql);
  };
  return { ask, made };
}

const BY_DAY = "payments_by_day";
const rollUp: RollUp = {
  of: "payments",
  node: "model.shop.payments_by_day",
  relation: ["shop", BY_DAY],
  groups: ["region", "day", "org"].map((value) => ({
    value,
    column: value,
    ...(value === "day" && { grain: "day" as const }),
  })),
  totals: [{ aggregation: "sum", value: "amount", column: "volume_sum" }],
};

/** Asks for statements in builds of a roll-up, whose totals have a type of their own in each. */
function rollUpKeeper(declared = rollUp) {
  const looked: string[] = [];
  let [total, build] = ["Decimal(38, 2)", "first build"];
  const typed = (names: readonly string[]): ResultColumns =>
    names.map((name) => ({
      name,
      type: { ...TYPES, volume: "Nullable(Decimal(38, 2))" }[name] ?? total,
      isStored: true,
    }));
  const ofRollUp = ["region", "day", "org", "volume_sum"];
  const relations = new SchemaCache({
    describe: ([, name]) => {
      looked.push(name);
      return Promise.resolve({ id: name, columns: name === BY_DAY ? typed(ofRollUp) : columns });
    },
    changeIn: () => "none",
    onColumns: () => undefined,
  });
  const engine = new AggregateEngine({
    dialect: CLICKHOUSE_AGGREGATES,
    relations,
    describe: ({ names }) => Promise.resolve({ id: "1", columns: typed(names) }),
    rollUpVersion: () => build,
  });
  const rolledUp = withDigest({ ...aggregate, rollUps: [declared] }, "rolled up");
  const made = new Set<Sql<Selection>>();
  const ask = async ({ grouping, ...selection }: Selection, [ownBuild, ownTotal] = [build, total]) => {
    [build, total] = [ownBuild, ownTotal];
    const asked = { ...selection, ...(grouping && { grouping: { ...grouping, aggregate: rolledUp } }) };
    const prepared = await engine.prepare(asked, "first build", true);
    const { select: statement } = prepared.select(results);
    made.add(statement);
    return finished(resolved(statement, asked) as Sql);
  };
  return { ask, made, looked };
}

describe("a kept statement over a roll-up", () => {
  it("has the values of each request", async () => {
    const { ask, made } = rollUpKeeper();
    const first = await ask(selectionOf(since("2026-01-01"), own("one")));
    const second = await ask(selectionOf(since("2026-02-01"), own("other")));
    expect(made.size).toBe(1);
    expect(first.text).toContain(BY_DAY);
    expect(first.values).toEqual(["one", "2026-01-01"]);
    expect(second.values).toEqual(["other", "2026-02-01"]);
  });

  it("is another one for each form and each build, and none where a build has totals of other digits", async () => {
    const { ask, made } = rollUpKeeper();
    await ask(selectionOf(since("2026-01-01")));
    await ask(selectionOf());
    expect(made.size).toBe(2);
    const second = await ask(selectionOf(), ["second build", "Decimal(76, 2)"]);
    expect(second.text).toContain("Decimal(76, 2)");
    const rounded = await ask(selectionOf(), ["third build", "Float64"]);
    expect(rounded.text).not.toContain(BY_DAY);
    const corrected = await ask(selectionOf(), ["fourth build", "Decimal(38, 2)"]);
    expect(corrected.text).toContain(BY_DAY);
  });

  it("looks for none that lacks what is asked", async () => {
    const lacking = rollUpKeeper({
      ...rollUp,
      groups: rollUp.groups.filter(({ value }) => value !== "region"),
    });
    for (let i = 0; i < 2; i++) expect((await lacking.ask(selectionOf())).text).not.toContain(BY_DAY);
    expect(lacking.looked).toEqual(["payments"]);
    const { ask, looked } = rollUpKeeper();
    await ask(selectionOf());
    expect(looked).toContain(BY_DAY);
  });
});

describe("a kept statement of groups", () => {
  it("has the values of each request", async () => {
    const { ask, made } = keeper();
    const first = await ask(selectionOf(since("2026-01-01"), among("a")));
    const second = await ask(selectionOf(since("2026-02-01"), among("b", "c")));
    expect(made.size).toBe(1);
    expect(first.values).toEqual(["2026-01-01", "a"]);
    expect(second.values).toEqual(["2026-02-01", "['b','c']"]);
    expect(second.text).not.toBe(first.text);
  });

  it("is another one for each form of the conditions", async () => {
    const { ask, made } = keeper();
    await ask(selectionOf());
    await ask(selectionOf(since("2026-01-01")));
    await ask(selectionOf({ ...since("2026-01-01"), on: "period" } as Condition));
    await ask(selectionOf({ ...since("2026-01-01"), operator: "<=" } as Condition));
    await ask(selectionOf({ name: "filter", operator: "or", of: [among("a"), among("b")] }));
    await ask(selectionOf({ name: "filter", operator: "or", of: [among("a")] }, among("b")));
    expect(made.size).toBe(6);
  });

  it("shows each caller only the rows of its own organization, in any order of requests", async () => {
    const { ask } = keeper();
    const all = await ask(selectionOf(since("2026-01-01")));
    const ofOne = await ask(selectionOf(since("2026-01-01"), own("one")));
    const ofOther = await ask(selectionOf(since("2026-01-01"), own("other")));
    expect(all.values).toEqual(["2026-01-01"]);
    expect(ofOne.values).toContain("one");
    expect(ofOther.values).toContain("other");
    expect(ofOther.values).not.toContain("one");
    expect(ofOther.text).toBe(ofOne.text);
  });

  it("is made again once a build has changed a column, and not by a build alone", async () => {
    const { ask, made } = keeper();
    await ask(selectionOf(since("2026-01-01")));
    await ask(selectionOf(since("2026-01-01")), "second build");
    expect(made.size).toBe(1);
    const changed = columns.map((column) =>
      column.name === "day" ? { ...column, type: "DateTime" } : column,
    );
    const { text } = await ask(selectionOf(since("2026-01-01")), "third build", changed);
    expect(made.size).toBe(2);
    expect(text).toContain("DateTime");
  });
});

it("conditions that differ in what they are on have keys of their own, with their values and without", () => {
  const condition = { name: "filter", column: "amount", operator: "gt", type: "value", value: "5" } as const;
  const all: readonly Condition[] = [
    condition,
    { ...condition, on: "period" },
    { ...condition, on: "earlier period" },
    { ...condition, measure: "volume" },
    { operator: "and", name: "filter", of: [condition] },
  ];
  expect(new Set(all.map((each) => conditionForm(each, () => ""))).size).toBe(all.length);
  const query = { relation: ["shop", "payments"] as const, format: "json", timeoutMs: 0 } as const;
  const keys = all.map((each) => queryKey({ ...query, selection: selectionOf(each) }));
  expect(new Set(keys).size).toBe(all.length);
});
