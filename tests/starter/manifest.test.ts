import { describe, expect, it } from "vitest";
import { SPECIFIED } from "./specified-endpoints.js";
import { manifestText, nodes, published } from "./starter-manifest.js";

const apis = published.flatMap(({ api }) => api ?? []);
const parameters = apis.flatMap((api) => api.parameters ?? []);

function endpoint(path: string) {
  return published.find(({ urlPath }) => urlPath === path);
}

describe("the starter's manifest", () => {
  it("says nothing about the clock, the machine or the run that made it", () => {
    expect(manifestText).not.toMatch(
      /generated_at|invocation|user_id|root_path|checksum|created_at|build_path/,
    );
    expect(manifestText).not.toMatch(/\/tmp\/|\/home\/|\/work\/|routewright_starter_/);
    expect(manifestText).not.toMatch(/current_date|current_timestamp|now\(\)|random\(\)/i);
  });

  it("names relations without a database, so that they can be built in any", () => {
    expect(manifestText).not.toMatch(/\\"\w+\\"\.\\"analytics\\"\./);
    expect(manifestText).toMatch(/from \\"analytics\\"\./);
  });

  it("is JSON with two spaces and a newline at the end", () => {
    expect(manifestText).toBe(`${JSON.stringify(JSON.parse(manifestText), null, 2)}\n`);
  });

  it("compiles incremental models for an empty database", () => {
    const incremental = nodes.filter(({ config }) => config.materialized === "incremental");
    expect(incremental.map(({ compiled_code: sql }) => sql)).toEqual([
      expect.not.stringContaining("max(date)"),
    ]);
  });

  it("describes every published model and column, with a type", () => {
    const bare = published.flatMap(({ name, description, columns }) => [
      ...(description ? [] : [name]),
      ...Object.values(columns).flatMap((column) =>
        column.description && column.data_type ? [] : [`${name}.${column.name}`],
      ),
    ]);
    expect(bare).toEqual([]);
  });
});

describe("the endpoints of the specification", () => {
  it.each(SPECIFIED)("publishes %s for %s with its fields", (path, tier, fields) => {
    const found = endpoint(path);
    expect(found?.tier).toBe(tier);
    const columns = Object.values(found?.columns ?? {}).map((column) => {
      const isRequired = column.constraints?.some(({ type }) => type === "not_null");
      return [isRequired ? column.name : `${column.name}?`, column.data_type];
    });
    expect(columns).toEqual(Object.entries(fields));
  });

  it.each([
    ["daily", "date"],
    ["weekly", "week"],
  ])("filters and sorts %s card activity by %s", (granularity, column) => {
    expect(endpoint(`/v1/altchain/altchain_card_activity_by_action/${granularity}`)?.api).toMatchObject({
      allow_unfiltered: true,
      parameters: [
        { name: "action", column: "action", operator: "=", type: "string" },
        { name: "start_date", column, operator: ">=", type: "date" },
        { name: "end_date", column, operator: "<=", type: "date" },
      ],
      sort: [{ column, direction: "DESC" }],
    });
  });

  it("leaves those without parameters to the legacy rules", () => {
    const others = SPECIFIED.filter(([path]) => !path.includes("activity_by_action"));
    expect(others.filter(([path]) => endpoint(path)?.api !== undefined)).toEqual([]);
  });
});

describe("the features that the starter shows", () => {
  const shown: Record<string, boolean> = {
    GET: apis.some(({ methods }) => !methods?.includes("POST")),
    POST: apis.some(({ methods }) => methods?.includes("POST")),
    "lower case": parameters.some((parameter) => parameter.case === "lower"),
    "upper case": parameters.some((parameter) => parameter.case === "upper"),
    max_items: parameters.some((parameter) => parameter.max_items !== undefined),
    require_any_of: apis.some((api) => (api.require_any_of ?? []).length > 0),
    "allow_unfiltered true": apis.some((api) => api.allow_unfiltered === true),
    "allow_unfiltered false": apis.some((api) => api.allow_unfiltered === false),
    "a bare list, paginated": apis.some(({ pagination }) => pagination?.response === "list"),
    "an envelope": apis.some(({ pagination }) => pagination?.response === "envelope"),
    sortable_fields: apis.some((api) => (api.sortable_fields ?? []).length > 0),
    "a window": endpoint("/v1/bridges/volume_per_chain/last_7d/7d") !== undefined,
    "a window that is the granularity": endpoint("/v1/cards/top_merchants/last_30d") !== undefined,
    "no granularity": endpoint("/v1/bridges/transactions") !== undefined,
    "no category tag": endpoint("/v1/general/data_freshness/latest") !== undefined,
    "an excluded model": nodes.some(({ config }) => config.meta.api?.exclude_from_api === true),
  };

  it.each(Object.entries(shown))("has %s", (_, isThere) => expect(isThere).toBe(true));

  it("has every operator and every tier", () => {
    expect(new Set(parameters.map(({ operator }) => operator))).toEqual(
      new Set(["=", ">=", "<=", "ILIKE", "IN"]),
    );
    expect(new Set(published.map(({ tier }) => tier))).toEqual(new Set(["tier0", "tier1", "tier2", "tier3"]));
  });

  it("has a wide range of column types", () => {
    const types = new Set(
      published.flatMap(({ columns }) => Object.values(columns).map((column) => column.data_type)),
    );
    const wanted =
      "text[] jsonb boolean smallint integer bigint real date timestamptz numeric(38,18) numeric(20,0)";
    expect(wanted.split(" ").filter((type) => !types.has(type))).toEqual([]);
  });

  it("gives each endpoint a path of its own", () => {
    expect(new Set(published.map(({ urlPath }) => urlPath)).size).toBe(published.length);
  });
});
