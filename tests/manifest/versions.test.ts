import { describe, expect, it } from "vitest";
import { type Manifest, parseManifest } from "../../generator/manifest/manifest.js";

const TAGS = ["production", "bridges", "api:volume"];
const API = { allow_unfiltered: true };

/** What dbt wrote from 1.0 on (v4): the SQL under `raw_sql`, the project's own root beside each path. */
const MODEL_V4 = {
  raw_sql: "select * from {{ ref('days') }}",
  compiled_sql: "select * from dbt.days",
  compiled: true,
  resource_type: "model",
  depends_on: { macros: ["macro.dbt.ref"], nodes: ["model.shop.days", "model.shop.days", "model.shop.ages"] },
  config: { enabled: true, alias: null, schema: null, tags: TAGS, meta: { api: API }, materialized: "table" },
  database: "warehouse",
  schema: "dbt",
  fqn: ["shop", "api_volume"],
  unique_id: "model.shop.api_volume",
  package_name: "shop",
  root_path: "/usr/app",
  path: "api_volume.sql",
  original_file_path: "models/api_volume.sql",
  name: "api_volume",
  alias: "volume_v1",
  tags: TAGS,
  refs: [],
  description: "Volume.",
  columns: {
    day: { name: "day", description: "Day.", meta: {}, data_type: "date", quote: null, tags: [] },
    value: { name: "value", description: "", meta: {}, data_type: null, quote: null, tags: [] },
  },
  meta: { api: API },
  docs: { show: true },
  relation_name: '"warehouse"."dbt"."volume_v1"',
};

/** 1.3 (v7) renamed the SQL for models that are none, 1.4 (v8) dropped the root. */
const { raw_sql, compiled_sql, ...MODEL_WITHOUT_SQL } = MODEL_V4;
const MODEL_V7 = { ...MODEL_WITHOUT_SQL, raw_code: raw_sql, compiled_code: compiled_sql, language: "sql" };
const MODEL_V8 = { ...MODEL_V7, root_path: undefined };
/** 1.5 (v9) brought contracts and constraints, 1.6 and later access and versions. */
const MODEL_V9 = {
  ...MODEL_V8,
  columns: {
    day: { ...MODEL_V4.columns.day, constraints: [{ type: "not_null", name: null, expression: null }] },
    value: { ...MODEL_V4.columns.value, constraints: [] },
  },
  constraints: [],
  contract: { enforced: true, alias_types: true, checksum: "0" },
  access: "protected",
  version: null,
  latest_version: null,
};

/** A `not_null` test as v4 has it, and with the model named, as later versions do. */
const TEST_V4 = {
  resource_type: "test",
  unique_id: "test.shop.not_null_api_volume_day.1",
  test_metadata: { name: "not_null", kwargs: { column_name: "day" }, namespace: null },
  column_name: "day",
  depends_on: { macros: ["macro.dbt.test_not_null"], nodes: ["model.shop.api_volume"] },
  config: { severity: "ERROR", where: null, enabled: true },
};
const TEST_V8 = { ...TEST_V4, attached_node: "model.shop.api_volume", file_key_name: "models.api_volume" };

/** What all of them say of the origin of rows. */
const MADE = {
  materialized: "table",
  parents: ["model.shop.ages", "model.shop.days"],
  code: [MODEL_V4.raw_sql],
  relation: expect.any(Array) as readonly [string, string],
  isBuilt: true,
  json: expect.any(Object) as object,
};

const VERSIONS: readonly (readonly [version: number, model: object, test: object])[] = [
  [4, MODEL_V4, TEST_V4],
  [5, MODEL_V4, TEST_V4],
  [6, MODEL_V4, TEST_V4],
  [7, MODEL_V7, TEST_V4],
  [8, MODEL_V8, TEST_V8],
  [9, MODEL_V9, TEST_V8],
  [10, MODEL_V9, TEST_V8],
  [11, MODEL_V9, TEST_V8],
  [12, MODEL_V9, TEST_V8],
];

function manifestText(schema: unknown, nodes: object, metadata: object = {}): string {
  return JSON.stringify({
    metadata: { dbt_schema_version: schema, adapter_type: "postgres", ...metadata },
    nodes,
  });
}

function read(text: string): Manifest {
  const reading = parseManifest(text, "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return reading.value;
}

const address = (version: number | string): string =>
  `https://schemas.getdbt.com/dbt/manifest/${version}.json`;

const OTHER = {
  file: "models/api_volume.sql",
  tags: expect.arrayContaining([...TAGS]) as string[],
  isPrivate: false,
  relation: ["dbt", "volume_v1"],
};

describe("a manifest of schema", () => {
  it.each(VERSIONS)("v%i is read as dbt wrote it", (version, model, test) => {
    const nodes = {
      "model.shop.api_volume": model,
      "test.shop.not_null_api_volume_day.1": test,
      "seed.shop.colours": { ...model, resource_type: "seed", unique_id: "seed.shop.colours" },
      "snapshot.shop.past": { ...model, resource_type: "snapshot", unique_id: "snapshot.shop.past" },
    };
    expect(read(manifestText(address(`v${String(version)}`), nodes))).toEqual({
      models: [
        {
          uniqueId: "model.shop.api_volume",
          name: "api_volume",
          file: "models/api_volume.sql",
          description: "Volume.",
          tags: TAGS,
          configTags: TAGS,
          malformedTags: [],
          schema: "dbt",
          alias: "volume_v1",
          columns: [
            {
              name: "day",
              type: "date",
              notNull: version >= 9 ? "constraint" : "test",
              acceptedValues: null,
              guarantees: {},
              isPrivate: false,
              routewright: {},
              description: "Day.",
            },
            {
              name: "value",
              type: null,
              notNull: null,
              acceptedValues: null,
              guarantees: {},
              isPrivate: false,
              routewright: {},
              description: "",
            },
          ],
          undeclared: [],
          absent: [],
          owner: null,
          isPrivate: false,
          materialized: expect.any(String) as string,
          hasContract: version >= 9,
          constraints:
            version >= 9 ? [{ type: "not_null", columns: ["day"], expression: "", references: null }] : [],
          provenKeys: [],
          routewright: {},
          deprecationDate: null,
          loadBounds: null,
          lastLoad: null,
          version: null,
          successor: null,
          api: { value: API, path: "$.config.meta.api" },
        },
      ],
      others: [
        { uniqueId: "seed.shop.colours", kind: "seed", ...OTHER, privateColumns: [] },
        { uniqueId: "snapshot.shop.past", kind: "snapshot", ...OTHER, privateColumns: [] },
      ],
      warehouseColumns: new Map(),
      graph: new Map([
        ["model.shop.api_volume", { kind: "model", ...MADE }],
        ["seed.shop.colours", { kind: "seed", ...MADE }],
        ["snapshot.shop.past", { kind: "snapshot", ...MADE }],
      ]),
      tests: new Map([["model.shop.api_volume", ["test.shop.not_null_api_volume_day.1"]]]),
      testedColumns: new Map([["test.shop.not_null_api_volume_day.1", "day"]]),
      adapter: "postgres",
      project: expect.toSatisfy((name: unknown) => name === null || typeof name === "string") as string,
      categories: new Map(),
      semantics: { models: [], metrics: [], queries: [], spines: [] },
      exposures: new Map(),
      publishing: { rules: new Map(), refused: new Map(), left: new Map() },
      warnings: [],
    });
  });

  it.each(["v3", "v13", "v20", "vNext", "v1000000"])(
    "%s is unknown: it is read, with a warning",
    (version) => {
      const { models, warnings } = read(
        manifestText(address(version), { "model.shop.api_volume": MODEL_V9 }),
      );
      expect(models).toHaveLength(1);
      expect(warnings).toEqual([
        `The manifest's schema is "${address(version)}"; v4 to v12 are supported. It is read as the newest of these.`,
      ]);
    },
  );

  it("that is no version at all is shown in a warning without its line breaks", () => {
    const { warnings } = read(manifestText("evil\n::error::\u001b[31m/dbt/manifest/v99.json", {}));
    expect(warnings[0]).toContain(String.raw`"evil\n::error::\u001b[31m/dbt/manifest/v99.json"`);
  });

  it("is read where the ending .json is missing", () => {
    expect(read(manifestText("https://schemas.getdbt.com/dbt/manifest/v12", {})).warnings).toEqual([]);
  });
});

it("names files with `/`, where dbt wrote them on Windows too", () => {
  const windows = { ...MODEL_V9, original_file_path: "models\\api\\volume.sql" };
  expect(read(manifestText(address("v12"), { "model.shop.x": windows })).models[0]?.file).toBe(
    "models/api/volume.sql",
  );
});

it.each([
  [["model.shop.days", "model.shop.api_volume"], "{{ get_where_subquery(ref('api_volume')) }}"],
  [["model.shop.api_volume", "model.shop.days"], "{{ get_where_subquery(ref('shop', 'api_volume')) }}"],
])(
  "a relationships test without `attached_node` is of the model that it names, not of the one that it refers to: %j",
  (nodes, model) => {
    const kwargs = { model, column_name: "day", to: "ref('days')", field: "day" };
    const manifest = read(
      manifestText(address("v8"), {
        "model.shop.api_volume": MODEL_V8,
        "test.shop.r": {
          ...TEST_V4,
          test_metadata: { name: "relationships", kwargs },
          depends_on: { nodes },
        },
      }),
    );
    expect([...manifest.tests]).toEqual([["model.shop.api_volume", ["test.shop.r"]]]);
  },
);

describe("a model", () => {
  const modelOf = (node: object) =>
    read(manifestText(address("v12"), { "model.shop.x": { resource_type: "model", ...node } })).models[0];

  it("without an alias, or with an empty one, has its name as relation", () => {
    expect(modelOf({ name: "orders" })?.alias).toBe("orders");
    expect(modelOf({ name: "orders", alias: "" })?.alias).toBe("orders");
    expect(modelOf({ name: "orders", alias: null })?.alias).toBe("orders");
  });

  it("is known by the key that the manifest keeps it under, which is there only once", () => {
    expect(modelOf({ unique_id: "model.other.y" })?.uniqueId).toBe("model.shop.x");
  });

  it.each([
    ["2031-06-30", "2031-06-30T00:00:00Z"],
    ["2031-06-30T00:00:00+02:00", "2031-06-29T22:00:00Z"],
    ["2031-06-30T12:30:15.5Z", "2031-06-30T12:30:15Z"],
    ["soon", null],
    [20310630, null],
    [null, null],
  ])("with the deprecation date %j may be gone from %j on", (deprecation_date, expected) => {
    expect(modelOf({ deprecation_date })?.deprecationDate).toBe(expected);
  });

  it.each([
    [1, 2, "model.shop.x.v1", "model.shop.x.v2"],
    ["beta", 3, "model.shop.x.vbeta", "model.shop.x.v3"],
    [2, 2, "model.shop.x.v2", null],
    [null, null, "model.shop.x", null],
    [1, 2, "model.shop.x", null],
  ])(
    "of version %j, where %j is the latest, is followed by the latest: %s → %s",
    (version, latest_version, id, successor) => {
      const text = manifestText(address("v12"), {
        [id]: { resource_type: "model", name: "x", version, latest_version },
      });
      expect(read(text).models[0]?.successor).toBe(successor);
    },
  );

  it("keeps only values of the right type", () => {
    const odd = { name: 1, tags: "t", schema: null, columns: [1], meta: [], config: "c", description: {} };
    expect(modelOf(odd)).toEqual({
      uniqueId: "model.shop.x",
      name: "",
      file: "",
      description: "",
      tags: [],
      configTags: [],
      malformedTags: [{ path: "$.tags", value: "t" }],
      schema: "",
      alias: "",
      columns: [],
      undeclared: [],
      absent: [],
      owner: null,
      hasContract: false,
      constraints: [],
      isPrivate: false,
      materialized: "view",
      provenKeys: [],
      routewright: {},
      deprecationDate: null,
      loadBounds: null,
      lastLoad: null,
      version: null,
      successor: null,
      api: null,
    });
  });

  it("has its columns in the order of schema.yml, of two with the same name the first", () => {
    const columns = {
      b: { name: "b", data_type: " text " },
      a: { data_type: "date" },
      B: { name: "b", data_type: "int" },
      ["__proto__"]: { name: "__proto__" },
    };
    const text = JSON.stringify({ columns }).replace('"B"', '"__proto__":{"name":"__proto__"},"B"');
    expect(modelOf(JSON.parse(text) as object)?.columns.map(({ name, type }) => [name, type])).toEqual([
      ["b", "text"],
      ["a", "date"],
      ["__proto__", null],
    ]);
  });
});
