import { compareCatalogues } from "../../generator/diff/compare-catalogues.js";
import { withUsage } from "../../generator/diff/usage.js";
import { CALENDAR, catalogueFrom } from "./catalogues.js";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recordedDay } from "../../runtime/server/operations/usage-row.js";
import { UsageTable } from "../../runtime/server/operations/usage-table.js";
import { routewright } from "../commands/run.js";
import { ownDatabase } from "../support/database.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

import { DAYS, diffByUsage, hits, orders, recordedIn, ROUTE, withoutSymbol } from "./recorded-usage.js";

describe("diff --usage", () => {
  it("names keys, organizations, requests and parameters of a breaking change", async () => {
    const url = await recordedIn([
      { route: ROUTE, key: "aaaa", org: "Acme", requests: 70, parameters: { symbol: 40, day: 5 } },
      { route: ROUTE, key: "aaaa", org: "Acme", requests: 30, daysAgo: 30, parameters: { symbol: 2 } },
      { route: ROUTE, key: "bbbb", org: "Bits", requests: 100, parameters: { day: 100 } },
      { route: ROUTE, key: "cccc", org: "Core", requests: 9, daysAgo: 31, parameters: { symbol: 9 } },
      { route: "/v1/shop/other", key: "dddd", org: "Dots", requests: 9, parameters: { symbol: 9 } },
    ]);
    const { exit, changes, text } = await diffByUsage([withoutSymbol], url);
    expect(exit).toBe(1);
    expect(changes).toMatchObject([
      {
        kind: "parameter-removed",
        severity: "breaking",
        endpoint: ROUTE,
        usage: {
          state: "used",
          keys: ["aaaa"],
          organizations: ["Acme"],
          requests: 42,
          parameters: { day: 105, symbol: 42 },
          recordedDays: 30,
        },
      },
    ]);
    expect(text).toContain(
      'Hits 42 requests in the last 30 days: 1 key ("aaaa") of 1 organization ("Acme"); parameters used at the path: "day (105)", "symbol (42)".',
    );
  });

  it("counts calls at former paths for a change of the endpoint, and alone for the removal of the path", async () => {
    const url = await recordedIn([{ route: "/v1/shop/old", requests: 3, parameters: { symbol: 2 } }]);
    expect(hits(await diffByUsage([withoutSymbol], url))).toEqual(["parameter-removed: used 2"]);
    const head = { ...orders, routewright: { fields: true, filters: ["amount"] } };
    const { changes } = await diffByUsage([head], url, { diff: { unused: "warning" } });
    expect(changes.filter(({ kind }) => kind === "endpoint-removed")).toMatchObject([
      { endpoint: "/v1/shop/old", severity: "breaking", usage: { state: "used", requests: 3 } },
    ]);
  });

  it.each([
    [
      "a column, calls that do not choose others",
      { ...orders, columns: { day: "date", symbol: "text" }, routewright: { fields: true } },
      "column-removed: used 60",
    ],
    [
      "a filter, calls with one of its operators",
      { ...orders, routewright: { fields: true } },
      "filter-removed: used 9",
    ],
    [
      "the choice of columns, calls that choose",
      { ...orders, routewright: { filters: ["amount"] } },
      "fields-removed: used 50",
    ],
    [
      "a lower max_limit, calls with limit",
      {
        ...orders,
        api: { ...(orders.api as object), pagination: { enabled: true, default_limit: 10, max_limit: 50 } },
      },
      "max-limit-lowered: used 20",
    ],
    [
      "a raised tier, all calls",
      { ...orders, tags: ["production", "shop", "api:orders", "tier2"] },
      "tier-raised: used 100",
    ],
  ])("counts for %s", async (_, head: TestModel, expected) => {
    const parameters = {
      fields: 50,
      "fields=amount": 10,
      "fields=day": 50,
      "amount[gte]": 4,
      "amount[lt]": 3,
      "filter=amount": 2,
      limit: 20,
    };
    const url = await recordedIn([{ route: ROUTE, requests: 100, parameters }]);
    const { former_paths: formerPaths } = orders.routewright as { former_paths: unknown };
    const settings = { ...(head.routewright as object), former_paths: formerPaths };
    const result = await diffByUsage([{ ...head, routewright: settings }], url);
    expect(hits({ changes: result.changes.filter(({ endpoint }) => endpoint === ROUTE) })).toContain(
      expected,
    );
  });

  it("counts calls with too many names for every name", async () => {
    const url = await recordedIn([{ route: ROUTE, requests: 100, parameters: { "*": 1 } }]);
    const { changes } = await diffByUsage([withoutSymbol], url);
    expect(hits({ changes: changes.filter(({ endpoint }) => endpoint === ROUTE) })).toEqual([
      "parameter-removed: used 1",
    ]);
  });
});

describe("a breaking change that hits nobody", () => {
  const warning = { diff: { unused: "warning" } };

  it("is a warning with `diff.unused: warning`, and breaking without", async () => {
    const url = await recordedIn([{ route: ROUTE, requests: 100, parameters: { day: 1 } }]);
    expect(await diffByUsage([withoutSymbol], url)).toMatchObject({ exit: 1 });
    const { exit, changes, text } = await diffByUsage([withoutSymbol], url, warning);
    expect(exit).toBe(0);
    expect(changes.map(({ severity }) => severity)).toEqual(["warning"]);
    expect(text).toContain("Hits nobody: no such request in the last 30 days.");
  });

  it.each([
    ["a day without a record", DAYS.toSpliced(17, 1)],
    ["no record of the 30th day", DAYS.slice(0, 30)],
    ["no record at all", []],
  ])("stays breaking after %s", async (_, days) => {
    const url = await recordedIn([], days);
    const { exit, changes, text } = await diffByUsage([withoutSymbol], url, warning);
    expect(exit).toBe(1);
    expect(hits({ changes })).toEqual(["parameter-removed: unknown 0"]);
    expect(text).toContain(
      `usage was recorded on ${String(Math.max(0, days.length - 1))} of the last 30 days`,
    );
  });

  it("stays breaking where counts of a day were lost", async () => {
    const url = await ownDatabase();
    const table = await UsageTable.open(url);
    await table.add(DAYS.map((each, i) => recordedDay(each, i === 4 ? 1 : 0)));
    await table.close();
    expect(await diffByUsage([withoutSymbol], url, warning)).toMatchObject({ exit: 1 });
  });

  it("is no warning where it opens data", async () => {
    const url = await recordedIn([]);
    const tiered = { ...orders, tags: ["production", "shop", "api:orders", "tier2"] };
    const folder = ownFolder();
    writeFileSync(join(folder, "base.json"), JSON.stringify(manifestOf([tiered])));
    writeFileSync(join(folder, "head.json"), JSON.stringify(manifestOf([orders])));
    writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(warning));
    const { exit } = await routewright(folder, ["diff", "base.json", "head.json", "--usage"], {
      DATABASE_URL: url,
    });
    expect(exit).toBe(1);
  });
});

describe("a usage file", () => {
  const SHAPES = new Map([
    ["GET json tier0 symbol", 40],
    ["GET json tier0 limit", 25],
  ]);

  it("says the same as the database", async () => {
    const url = await recordedIn([
      { route: ROUTE, key: "aaaa", org: "Acme", requests: 70, parameters: { symbol: 40 }, shapes: SHAPES },
      { route: ROUTE, requests: 8, daysAgo: 4, shapes: new Map([["GET json tier0 symbol", 8]]) },
      { route: "/v1/shop/other", requests: 3, shapes: SHAPES },
    ]);
    const folder = ownFolder();
    const lines = await routewright(folder, ["usage", "--by", "all", "--json"], { DATABASE_URL: url });
    writeFileSync(join(folder, "usage.json"), lines.out);
    writeFileSync(join(folder, "base.json"), JSON.stringify(manifestOf([orders])));
    writeFileSync(join(folder, "head.json"), JSON.stringify(manifestOf([withoutSymbol])));
    const args = ["diff", "base.json", "head.json", "--format", "json", "--usage"];
    const byFile = await routewright(folder, [...args, "usage.json"]);
    expect(byFile).toEqual(await routewright(folder, args, { DATABASE_URL: url }));
    expect(JSON.parse(byFile.out)).toMatchObject({
      changes: [{ usage: { state: "used", requests: 48, rest: 5 } }],
      usage: { rest: 5, shapes: [{ requests: 48, keys: ["aaaa", "none"] }, { requests: 25 }] },
    });
  });

  it.each([
    ["is missing", null, "there is no such file"],
    [
      "is another report",
      [{ route: "/v1/a", keys: 1, requests: 2 }],
      "is not a file of `routewright usage --by all --json`",
    ],
  ])("that %s is refused", async (_, json, message) => {
    const folder = ownFolder();
    writeFileSync(join(folder, "base.json"), JSON.stringify(manifestOf([orders])));
    writeFileSync(join(folder, "head.json"), JSON.stringify(manifestOf([withoutSymbol])));
    if (json !== null) writeFileSync(join(folder, "usage.json"), JSON.stringify(json));
    const { exit, err } = await routewright(folder, [
      "diff",
      "base.json",
      "head.json",
      "--usage",
      "usage.json",
    ]);
    expect(exit).toBe(2);
    expect(err).toContain(message);
  });

  it("or a database is named where there is none", async () => {
    const folder = ownFolder();
    writeFileSync(join(folder, "base.json"), JSON.stringify(manifestOf([orders])));
    writeFileSync(join(folder, "head.json"), JSON.stringify(manifestOf([withoutSymbol])));
    const { exit, err } = await routewright(folder, ["diff", "base.json", "head.json", "--usage"]);
    expect(exit).toBe(2);
    expect(err).toContain("There is no database to read usage from");
  });
});

it("a measure and a group that go hit the calls that ask for them", () => {
  const summed = (measures: object, group_by: readonly string[]) => ({
    ...orders,
    routewright: { aggregate: { measures, group_by } },
  });
  const both = { total: { agg: "sum", column: "amount" }, orders: { agg: "count" } };
  const [base, head] = [summed(both, ["day", "symbol"]), summed({ orders: { agg: "count" } }, ["day"])].map(
    (model) => catalogueFrom(manifestOf([model])),
  );
  const line = (parameter: string | null, requests: number) => ({
    key: "aaaa",
    org: "",
    route: ROUTE,
    parameter,
    requests,
  });
  const lines = [
    line(null, 100),
    line("measures=total", 30),
    line("measures=orders", 60),
    line("group_by=symbol", 7),
    line("group_by=day", 50),
    line("symbol", 3),
  ];
  const { changes } = withUsage(
    compareCatalogues(base!, head!, CALENDAR),
    base!,
    { lines, recordedDays: [] },
    { today: "2030-01-31", days: 30 },
  );
  expect(
    changes
      .filter(({ kind }) => ["measure-removed", "group-removed"].includes(kind))
      .map(({ kind, subject, usage }) => [kind, subject, usage?.requests]),
  ).toEqual([
    ["measure-removed", "total", 30],
    ["group-removed", "symbol", 10],
  ]);
});
