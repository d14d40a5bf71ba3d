import fc from "fast-check";
import { manifestText } from "../catalogue/catalogues.js";
import { HOSTILE, hostileText } from "./words.js";

const TYPES = [
  "text",
  "numeric(20,0)",
  "timestamptz",
  "text[]",
  "jsonb",
  "double precision",
  "UInt64",
  "Nullable(Float64)",
  "Map(String, UInt64)",
  "Tuple(a String, `b c` Array(UInt8))",
  "Enum8('a' = 1, 'b''c' = 2)",
  "DateTime64(0, 'UTC')",
  "no such type (((",
  null,
];

const columnName = fc
  .oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom("date", "token", "value", "2024", "1", "__proto__", "constructor"),
    },
    { weight: 1, arbitrary: hostileText },
  )
  .filter((name) => name !== "");
const word = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom("Volume.", "") },
  { weight: 1, arbitrary: hostileText },
);
const segment = fc.constantFrom("volume", "Netflow", "a.b", "last_7d", "__proto__");

const columns = fc.uniqueArray(
  fc.record({
    name: columnName,
    data_type: fc.oneof(fc.constantFrom(...TYPES), hostileText),
    description: word,
  }),
  { maxLength: 6, selector: ({ name }) => name },
);

const PAIRS = [
  { operator: "=", type: "string", case: "lower" },
  { operator: "ILIKE", type: "string" },
  { operator: ">=", type: "date" },
  { operator: "<=", type: "date" },
  { operator: "IN", type: "string_list", max_items: 3, case: "upper" },
];

/** A `meta.api` as the rules want it, for a model of these columns. */
function apiOf(names: readonly string[]): fc.Arbitrary<object> {
  if (names.length === 0) return fc.constant({ allow_unfiltered: true });
  const column = fc.constantFrom(...names);
  const parameter = fc
    .tuple(columnName, column, fc.constantFrom(...PAIRS), word)
    .map(([name, on, pair, description]) => ({ name: `p${name}`, column: on, ...pair, description }));
  return fc
    .record({
      methods: fc.constantFrom(["GET"], ["GET", "POST"], ["POST"]),
      parameters: fc.uniqueArray(parameter, { maxLength: 4, selector: ({ name }) => name }),
      pagination: fc.constantFrom(
        { enabled: false },
        { enabled: true, default_limit: 5, max_limit: 50, response: "envelope" },
      ),
      sort: fc.array(fc.record({ column, direction: fc.constantFrom("ASC", "DESC") }), { maxLength: 3 }),
      sortable_fields: fc.uniqueArray(column, { maxLength: 3 }),
    })
    .map((api) => ({
      ...api,
      allow_unfiltered: api.parameters.length === 0,
      require_any_of: api.parameters.slice(0, 1).map(({ name }) => name),
    }));
}

/** A model with a path, which other models may share, and nothing wrong with it. */
export const model: fc.Arbitrary<object> = columns.chain((all) =>
  fc
    .record({
      name: word,
      schema: fc.oneof(fc.constant("analytics"), hostileText),
      description: word,
      tags: fc
        .tuple(segment, segment, segment)
        .map(([category, resource, granularity]) => [
          "production",
          category,
          `api:${resource}`,
          `granularity:${granularity}`,
        ]),
      tier: fc.constantFrom("tier0", "tier1", "tier2", "tier3"),
      api: fc.option(apiOf(all.map(({ name }) => name)), { nil: undefined }),
    })
    .map(({ tier, api, tags, name, ...rest }) => ({
      resource_type: "model",
      alias: `a${name}`,
      name,
      ...rest,
      tags: [...tags, tier],
      columns: Object.fromEntries(all.map((column) => [column.name, column])),
      config: { meta: api === undefined ? {} : { api } },
    })),
);

/** Where a model's rows come from: the places of its parents among all models. */
const lineage = fc.record({
  materialized: fc.constantFrom("table", "view"),
  places: fc.array(fc.nat(7), { maxLength: 2 }),
});

/** Nodes of models that are all right, but for the path of another or a relation that cannot be. */
export const soundNodes: fc.Arbitrary<Record<string, object>> = fc
  .uniqueArray(fc.tuple(fc.oneof(fc.string({ minLength: 1, maxLength: 8 }), hostileText), model, lineage), {
    maxLength: 8,
    selector: ([id]) => id,
  })
  .map((all) => {
    const ids = all.map(([id]) => `model.t.${id}`);
    const nodes = all.map(([, node, { materialized, places }]) => {
      const parents = places.flatMap((place) => ids[place] ?? []);
      const { config } = node as { readonly config: object };
      return { ...node, config: { ...config, materialized }, depends_on: { nodes: parents } };
    });
    return Object.fromEntries(nodes.map((node, i) => [ids[i], node]));
  });

const keys = fc.constantFrom(
  "resource_type", "name", "alias", "schema", "tags", "columns", "config", "meta", "api", "description", "unique_id",
  "parameters", "methods", "pagination", "sort", "sortable_fields", "require_any_of", "allow_unfiltered", "exclude_from_api",
  "operator", "type", "column", "enabled", "default_limit", "max_limit", "constraints", "data_type", "test_metadata",
  "materialized", "depends_on", "nodes", "compiled_code",
); // prettier-ignore

/** Any JSON, of the keys that mean something. */
const junk = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium" },
    fc.constantFrom(
      null,
      true,
      false,
      0,
      1,
      -1,
      1.5,
      1e308,
      "model",
      "production",
      "api:x",
      "GET",
      "string",
      "=",
      ...HOSTILE.slice(0, 20),
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(keys, tie("value"), { maxKeys: 6 }),
  ),
})).value;

/** Models that are nearly right: any part of one may be any JSON. */
export const halfFormedNodes: fc.Arbitrary<unknown> = fc
  .array(
    fc.tuple(model, fc.array(fc.tuple(keys, junk), { maxLength: 3 }), junk).map(([node, changes, api]) => ({
      ...node,
      ...Object.fromEntries(changes.filter(([key]) => key !== "resource_type")),
      meta: { api },
    })),
    { maxLength: 4 },
  )
  .map((all) => Object.fromEntries(all.map((node, i) => [`model.t.${String(i)}`, node])));

/** Any JSON at all, as a whole manifest, as its nodes, or as a node. */
export const anyManifest: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  fc.json(),
  fc.jsonValue().map((nodes) => manifestText(nodes)),
  junk.map((nodes) => manifestText(nodes)),
  fc.array(junk).map((all) => manifestText(Object.fromEntries(all.map((node, i) => [String(i), node])))),
);
