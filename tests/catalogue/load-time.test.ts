/** What decides at load time whether, where and to whom a model is served. Each rule fails closed. */
import { describe, expect, it } from "vitest";
import { render } from "../../generator/render/render.js";
import {
  catalogueFrom,
  catalogueOfNode,
  catalogueOfText,
  manifestText,
  onlySkipped,
  pathsOf,
  told,
} from "./catalogues.js";

const TAGS = ["production", "shop", "api:orders"];
const COLUMNS = {
  id: "bigint",
  day: "date",
  at: "timestamp",
  spot: "point",
  doc: "json",
  docs: "jsonb",
  name: "text",
};

function withTags(...tags: readonly string[]) {
  return catalogueFrom([{ name: "orders", tags: [...TAGS, ...tags], columns: { id: "bigint" } }]);
}

describe("a tag that is nearly a tier", () => {
  it.each([
    "Tier1",
    "tier_1",
    "tier 2",
    "TIER-3",
    "tier4",
    "tier12",
    "teir1",
    "tir1",
    "tierr2",
    "tie0",
    "tier",
    "tiers",
  ])("%s is an error: the model is skipped, not served to everybody", (tag) => {
    for (const tags of [[tag], ["tier3", tag]]) {
      const skipped = onlySkipped(withTags(...tags));
      expect(skipped.reason).toBe("invalid");
      expect(told(skipped.problems)).toEqual([`$.tags: The tag "${tag}" is not a tier, but looks like one.`]);
    }
  });

  it.each(["tiered_pricing", "frontier1", "tier_list", "retired", "tiger"])("%s is not one", (tag) => {
    expect(withTags(tag).skipped).toEqual([]);
  });
});

describe("several tier tags", () => {
  it("mean the most restrictive, with a warning: dbt puts a folder's tags before the model's own", () => {
    for (const tags of [
      ["tier0", "tier3"],
      ["tier3", "tier0"],
    ]) {
      const { entries, warnings } = withTags(...tags);
      expect(entries[0]?.tier).toBe("tier3");
      expect(told(warnings)).toEqual([
        "$.tags: The tags name several tiers (tier0, tier3). The most restrictive counts: tier3.",
      ]);
    }
  });

  it("that are the same mean that one", () => {
    expect(withTags("tier2", "tier2")).toMatchObject({
      warnings: [],
      entries: [{ tier: "tier2" }],
    });
  });
});

describe("the category", () => {
  const withMeta = (routewright: unknown) =>
    catalogueOfNode({ tags: TAGS, columns: { id: {} }, config: { meta: { routewright } } });

  it("is what meta.routewright.category says, before any tag", () => {
    expect(pathsOf(withMeta({ category: "sales" }))).toEqual(["/v1/sales/orders"]);
  });

  it.each([["a/b"], [""], [7], [["x"]]])("that is %j is an error", (category) => {
    expect(onlySkipped(withMeta({ category })).reason).toBe("invalid");
  });
});

describe("what has an api: tag and cannot be an endpoint is a problem, never ignored", () => {
  it.each(["seed", "snapshot", "analysis"])("a %s", (kind) => {
    const { skipped } = catalogueOfText(
      manifestText({
        [`${kind}.t.x`]: { resource_type: kind, name: "x", tags: TAGS, original_file_path: "x.sql" },
      }),
    );
    expect(skipped).toMatchObject([{ model: `${kind}.t.x`, file: "x.sql", reason: "invalid" }]);
    expect(told(skipped[0]?.problems ?? [])).toEqual([`$.tags: A ${kind} cannot be an endpoint.`]);
  });

  it("a source, and a disabled model", () => {
    const manifest = JSON.parse(manifestText({})) as object;
    const { skipped } = catalogueOfText(
      JSON.stringify({
        ...manifest,
        sources: { "source.t.raw.x": { resource_type: "source", tags: ["api:x"] } },
        disabled: { "model.t.off": [{ resource_type: "model", config: { tags: TAGS } }] },
      }),
    );
    expect(skipped.map(({ model }) => model)).toEqual(["model.t.off", "source.t.raw.x"]);
    expect(told(skipped.flatMap(({ problems }) => problems))).toEqual([
      "$.config.enabled: The model is disabled.",
      "$.tags: A source cannot be an endpoint.",
    ]);
  });

  it("an ephemeral model, which has no relation", () => {
    const skipped = onlySkipped(
      catalogueFrom([{ name: "x", tags: TAGS, columns: { id: "bigint" }, materialized: "ephemeral" }]),
    );
    expect(told(skipped.problems)).toEqual([
      "$.config.materialized: An ephemeral model has no relation to serve.",
    ]);
  });
});

it("a model without columns is served whole, with a warning", () => {
  const { entries, warnings } = catalogueFrom([{ name: "orders", tags: TAGS }]);
  expect(entries).toHaveLength(1);
  expect(told(warnings)).toEqual([
    "$.columns: The model declares no columns: every column of its relation is served.",
  ]);
});

describe("types of columns are checked at load", () => {
  const problemsOf = (api: object) => {
    const { skipped } = catalogueFrom([
      { name: "x", tags: TAGS, columns: COLUMNS, api: { allow_unfiltered: true, ...api } },
    ]);
    return told(skipped.flatMap(({ problems }) => problems));
  };
  const since = (column: string) => ({
    parameters: [{ name: "since", column, operator: ">=", type: "date" }],
  });

  it("a date filter needs a date, a time or a text", () => {
    expect(problemsOf(since("day"))).toEqual([]);
    expect(problemsOf(since("at"))).toEqual([]);
    expect(problemsOf(since("name"))).toEqual([]);
    for (const column of ["id", "spot", "doc"] as const) {
      expect(problemsOf(since(column))).toEqual([
        `$.config.meta.api.parameters[0].type: The column "${column}" is "${COLUMNS[column]}", neither a date nor a time.`,
      ]);
    }
  });

  it.each([
    ["Variant(UInt8, String)", false],
    ["Array(Dynamic)", false],
    ["AggregateFunction(sum, UInt64)", false],
    ["QBit(Float32, 2)", false],
    ["SimpleAggregateFunction(sum, UInt64)", true],
    ["Enum8('Variant' = 1, 'a Dynamic one' = 2)", true],
  ])("sorting by a column of ClickHouse needs an order: %s", (type, isOrdered) => {
    const [entry] = catalogueFrom([
      {
        name: "orders",
        tags: TAGS,
        columns: { v: type },
        api: { allow_unfiltered: true, sortable_fields: ["v"] },
      },
    ]).entries;
    expect(entry !== undefined).toBe(isOrdered);
  });

  it("sorting needs an order: json and point have none, jsonb has one", () => {
    expect(
      problemsOf({ sort: [{ column: "docs", direction: "ASC" }], sortable_fields: ["id", "name"] }),
    ).toEqual([]);
    expect(
      problemsOf({ sort: [{ column: "doc", direction: "ASC" }], sortable_fields: ["id", "spot"] }),
    ).toEqual([
      '$.config.meta.api.sort[0].column: The column "doc" is "json": values of this type have no order.',
      '$.config.meta.api.sortable_fields[1]: The column "spot" is "point": values of this type have no order.',
    ]);
  });
});

describe("limits of values", () => {
  const filters = [
    { name: "name", column: "name", operator: "=", type: "string", max_length: 20 },
    { name: "ids", column: "id", operator: "IN", type: "string_list" },
  ];
  const catalogue = catalogueFrom([
    { name: "x", tags: TAGS, columns: COLUMNS, api: { parameters: filters } },
  ]);

  it("max_length reaches the endpoint and OpenAPI, which documents the defaults too", () => {
    expect(catalogue.entries[0]?.parameters[0]).toMatchObject({ maxLength: 20 });
    const document = JSON.parse(render(catalogue).get("openapi.json") ?? "") as {
      paths: Record<string, { get: { parameters: { schema: object }[] } }>;
    };
    expect(document.paths["/v1/shop/orders"]?.get.parameters.map(({ schema }) => schema)).toEqual([
      { type: "string", maxLength: 20 },
      { type: "array", items: { type: "string", maxLength: 1000 }, maxItems: 1000 },
    ]);
  });

  it("max_length does not apply to a date", () => {
    const date = { name: "day", column: "day", operator: ">=", type: "date", max_length: 3 };
    const skipped = onlySkipped(
      catalogueFrom([{ name: "x", tags: TAGS, columns: COLUMNS, api: { parameters: [date] } }]),
    );
    expect(told(skipped.problems)).toEqual([
      "$.config.meta.api.parameters[0].max_length: `max_length` does not apply to a date.",
    ]);
  });
});

describe("the time zone of a timestamp without zone", () => {
  const columnsOf = (model: unknown, column: unknown, type = "timestamp") => {
    const { entries, skipped } = catalogueOfNode({
      tags: TAGS,
      columns: { at: { name: "at", data_type: type, meta: { routewright: { timezone: column } } } },
      config: { meta: { routewright: { timezone: model } } },
    });
    return entries[0]?.columns[0]?.timezone ?? (skipped.length > 0 ? told(skipped[0]?.problems ?? []) : null);
  };

  it("is the column's, else the model's, else UTC", () => {
    expect(columnsOf(undefined, undefined)).toBeNull();
    expect(columnsOf("Europe/Berlin", undefined)).toBe("Europe/Berlin");
    expect(columnsOf("Europe/Berlin", "America/New_York")).toBe("America/New_York");
    expect(columnsOf("Europe/Berlin", "UTC")).toBeNull();
  });

  it("does not apply to a type with a zone, nor to a date", () => {
    for (const type of ["timestamptz", "timestamp(3) with time zone", "date", "text"])
      expect(columnsOf("Europe/Berlin", undefined, type)).toBeNull();
    expect(columnsOf("Europe/Berlin", undefined, "timestamp(3) without time zone")).toBe("Europe/Berlin");
  });

  it.each([["Berlin"], ["+02:00"], [2], [{}]])("that is %j is an error", (timezone) => {
    expect(columnsOf(undefined, timezone)).toEqual([
      expect.stringContaining("$.columns.at.meta.routewright.timezone:") as string,
    ]);
  });

  it("is in the generated module, where it is not UTC", () => {
    const catalogue = catalogueOfNode({
      tags: TAGS,
      columns: { at: { name: "at", data_type: "timestamp" } },
      config: { meta: { routewright: { timezone: "Europe/Berlin" } } },
    });
    expect(render(catalogue).get("routes/shop/orders.ts")).toContain(
      'columns: { at: { type: "timestamp null", timezone: "Europe/Berlin" } },',
    );
  });
});

it("two versions of a model on one path say that each needs a tag of its own", () => {
  const version = { resource_type: "model", name: "x", schema: "s", tags: TAGS, columns: { id: {} } };
  const { skipped } = catalogueOfText(manifestText({ "model.t.x.v1": version, "model.t.x.v2": version }));
  expect(skipped).toMatchObject([
    {
      model: "model.t.x.v2",
      reason: "path-taken",
      problems: [
        {
          message: "The path /v1/shop/orders belongs to model.t.x.v1, another version of this model.",
          hint: "Give each version its own resource: set `config.tags` under the version, such as api:name_v2.",
        },
      ],
    },
  ]);
});
