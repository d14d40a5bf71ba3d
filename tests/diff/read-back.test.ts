import fc from "fast-check";
import { expect, it } from "vitest";
import { compareSnapshots } from "../../generator/diff/compare-snapshots.js";
import type { Snapshot } from "../../generator/diff/snapshot.js";
import { filesOf, readBack, snapshotFrom, TODAY } from "./sides.js";

/** Text that means something to a comment, a string, JSON, Markdown or the reader itself. */
const HOSTILE = [
  "*/ process.exit(1) /*",
  '"; export const x = 1; //',
  "export const { spec, get } = defineEndpoint<Query, Row>()({",
  "\nexport const { spec, get } = defineEndpoint<Query, Row>()({ model: 1 });\n",
  "\n\nAccess: tier0 (Public).",
  "\n\nFilter: `a = value`.",
  "__proto__",
  "constructor",
  "2024",
  "a-b",
  '["__proto__"]: null',
  "});",
  "`${x}`",
  "\u2028\u2029\u202e\u0000\ud800",
  "\\u0022",
  "  ",
];

const text = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: "binary", maxLength: 12 }));
const name = text.filter((value) => value.trim() !== "" && value !== "limit" && value !== "offset");
const type = fc.oneof(
  fc.constantFrom(
    "UInt64",
    "Nullable(String)",
    "Array(Tuple(a UInt8, b String))",
    "Enum8('a' = 1, '\n' = 2)",
    null,
  ),
  text,
);

const filter = fc.oneof(
  fc.record({ operator: fc.constantFrom("=", "ILIKE"), type: fc.constant("string") }),
  fc.record({
    operator: fc.constant("="),
    type: fc.constant("string"),
    case: fc.constantFrom("lower", "upper"),
  }),
  fc.record({ operator: fc.constantFrom(">=", "<="), type: fc.constant("date") }),
  fc.record({
    operator: fc.constant("IN"),
    type: fc.constant("string_list"),
    max_items: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record({ operator: fc.constant("IN"), type: fc.constant("string_list") }),
);

/** A `meta.api` that the columns allow. */
function apiOf(columns: readonly string[]) {
  const column = fc.constantFrom(...columns);
  const parameters = fc.uniqueArray(fc.tuple(name, column, filter, text), {
    maxLength: 4,
    selector: ([key]) => key,
  });
  const sort = fc.array(fc.record({ column, direction: fc.constantFrom("ASC", "DESC") }), { maxLength: 3 });
  return fc
    .record({
      parameters,
      sort,
      allow_unfiltered: fc.boolean(),
      methods: fc.constantFrom(["GET"], ["GET", "POST"], ["POST"]),
      pagination: fc.constantFrom(
        undefined,
        { enabled: true, default_limit: 10, max_limit: 100 },
        { enabled: true, default_limit: 1, max_limit: 1, response: "envelope" },
      ),
      sortable_fields: fc.uniqueArray(column, { maxLength: 3 }),
    })
    .chain(({ parameters, ...api }) => {
      const names = parameters.map(([key]) => key);
      return fc.subarray(names).map((require_any_of) => ({
        ...api,
        require_any_of,
        allow_unfiltered: api.allow_unfiltered || names.length === 0,
        parameters: parameters.map(([key, column, rest, description]) => ({
          name: key,
          column,
          ...rest,
          description,
        })),
      }));
    });
}

const model = fc
  .record({
    columns: fc.uniqueArray(fc.tuple(name, type, text), {
      minLength: 1,
      maxLength: 5,
      selector: ([key]) => key,
    }),
    segments: fc.array(fc.constantFrom("a", "B", "c.d", "e-f", "last_7d", "g_h"), {
      minLength: 2,
      maxLength: 4,
    }),
    tier: fc.constantFrom("tier0", "tier1", "tier2", "tier3"),
    words: fc.record({ name, description: text, schema: name, alias: name }),
    materialized: fc.constantFrom("table", "view"),
  })
  .chain((parts) => {
    const api = apiOf(parts.columns.map(([key]) => key));
    return fc.option(api).map((declared) => nodeOf({ ...parts, api: declared }));
  });

interface Parts {
  readonly columns: readonly (readonly [string, string | null, string])[];
  readonly segments: readonly string[];
  readonly tier: string;
  readonly words: Readonly<Record<"name" | "description" | "schema" | "alias", string>>;
  readonly materialized: string;
  readonly api: unknown;
}

function nodeOf({ columns, segments, tier, words, materialized, api }: Parts) {
  const [category, resource, grain, window] = segments;
  const place = [
    `api:${resource ?? ""}`,
    ...(grain ? [`granularity:${grain}`] : []),
    ...(window ? [`window:${window}`] : []),
  ];
  return {
    resource_type: "model",
    ...words,
    tags: ["production", tier, category, ...place],
    columns: Object.fromEntries(
      columns.map(([key, data_type, description]) => [key, { name: key, data_type, description }]),
    ),
    config: { materialized, meta: api === null ? {} : { api } },
  };
}

const manifest = fc
  .record({
    models: fc.array(model, { maxLength: 4 }),
    adapter_type: fc.constantFrom("clickhouse", "postgres"),
  })
  .map(({ models, adapter_type }) => ({
    metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json", adapter_type },
    nodes: Object.fromEntries(models.map((node, i) => [`model.test.m${String(i)}.${node.name}`, node])),
  }));

/** What a folder can tell. */
function shared({ published }: Snapshot) {
  return published.map(({ endpoint, documentation }) => ({ endpoint, documentation }));
}

it("reads back from the generated files the catalogue that they were rendered from", () => {
  let published = 0;
  fc.assert(
    fc.property(manifest, (json) => {
      const snapshot = snapshotFrom(json);
      const back = readBack(filesOf(json));
      published += snapshot.published.length;
      expect(shared(back)).toEqual(shared(snapshot));
      expect(back.warnings).toEqual([]);
      expect(compareSnapshots(snapshot, back, TODAY)).toEqual([]);
    }),
    { numRuns: 400 },
  );
  // Most of what is drawn must be valid, or the property says little.
  expect(published).toBeGreaterThan(200);
});
