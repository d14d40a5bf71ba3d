import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isNondeterministic, upstreamNodesOf } from "../../generator/catalogue/lineage.js";
import type { GraphNode } from "../../generator/manifest/graph.js";
import { catalogueOfText } from "./catalogues.js";

/** A node by its materialisation, then what it reads; `seed`, `snapshot` and `source` say their kind as well. */
type Nodes = Readonly<Record<string, string>>;

const KINDS: readonly string[] = ["seed", "snapshot", "source"];
const TAGS = ["production", "bridges", "api:volume"];

/** What `volume`, the one published model, is built from; parents that are not among the nodes are in no manifest. */
function upstreamNodes(nodes: Nodes, more: Readonly<Record<string, object>> = {}, adapter = "clickhouse") {
  const idOf = (name: string): string => {
    const [kind = ""] = (nodes[name] ?? "").split(" ");
    return `${KINDS.includes(kind) ? kind : "model"}.shop.${name}`;
  };
  const all = Object.entries(nodes).map(([name, text]) => {
    const [materialized = "", ...parents] = text.split(" ");
    const node = {
      resource_type: KINDS.includes(materialized) ? materialized : "model",
      name,
      schema: "dbt",
      tags: name === "volume" ? TAGS : [],
      depends_on: { nodes: parents.map(idOf) },
      config: { materialized },
      compiled_code: "select 1",
      ...more[name],
    };
    return [idOf(name), node] as const;
  });
  const isSource = ([, { resource_type: kind }]: (typeof all)[number]): boolean => kind === "source";
  const manifest = {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: adapter,
    },
    nodes: Object.fromEntries(all.filter((one) => !isSource(one))),
    sources: Object.fromEntries(all.filter(isSource)),
  };
  const [entry] = catalogueOfText(JSON.stringify(manifest)).entries;
  if (entry === undefined) throw new Error("volume is not published");
  return entry.upstreamNodes;
}

const VOLUME = "model.shop.volume";

describe("an endpoint is built from", () => {
  it.each<[string, Nodes, readonly string[]]>([
    ["a table alone, whatever is under it", { volume: "table facts", facts: "view raw", raw: "source" }, []],
    ["an incremental model alone", { volume: "incremental raw", raw: "source" }, []],
    ["a table of ClickHouse's that is spread over shards", { volume: "distributed_table gone" }, []],
    ["an incremental one", { volume: "distributed_incremental gone" }, []],
    [
      "a view and the table that it reads",
      { volume: "view facts", facts: "table gone" },
      ["model.shop.facts"],
    ],
    [
      "a view and the incremental model that it reads",
      { volume: "view f", f: "incremental" },
      ["model.shop.f"],
    ],
    ["a view and the seed that it reads", { volume: "view names", names: "seed" }, ["seed.shop.names"]],
    [
      "a view and the snapshot that it reads",
      { volume: "view past", past: "snapshot" },
      ["snapshot.shop.past"],
    ],
    [
      "a chain of views, each of which may be built anew by itself, and the table at its end",
      { volume: "view a", a: "view b", b: "view c", c: "table d", d: "view raw", raw: "source" },
      ["model.shop.a", "model.shop.b", "model.shop.c"],
    ],
    [
      "a view and, through an ephemeral model, which dbt never builds, what that reads",
      { volume: "view a", a: "ephemeral b facts", b: "ephemeral names", names: "seed", facts: "table" },
      ["model.shop.facts", "seed.shop.names"],
    ],
    [
      "all sides of a diamond, each once",
      { volume: "view a b", a: "view c", b: "view c", c: "view facts", facts: "table" },
      ["model.shop.a", "model.shop.b", "model.shop.c", "model.shop.facts"],
    ],
    [
      "a table and what stands beside it",
      { volume: "view facts names", facts: "table names", names: "seed" },
      ["model.shop.facts", "seed.shop.names"],
    ],
  ])("%s", (_, nodes, others) => {
    expect(upstreamNodes(nodes)).toEqual([...others, VOLUME].sort());
  });

  it("a view that does not say what it is", () => {
    const nodes = { volume: "view facts", facts: "table" };
    expect(upstreamNodes(nodes, { volume: { config: {} } })).toEqual(["model.shop.facts", VOLUME]);
  });

  it("a materialized view of PostgreSQL alone: dbt refreshes it, and nothing else does", () => {
    const nodes = { volume: "materialized_view raw", raw: "source" };
    expect(upstreamNodes(nodes, {}, "postgres")).toEqual([VOLUME]);
    expect(
      upstreamNodes({ volume: "view a", a: "materialized_view raw", raw: "source" }, {}, "postgres"),
    ).toEqual(["model.shop.a", VOLUME]);
    expect(upstreamNodes(nodes, {}, "snowflake")).toBeNull();
  });

  it("a table in Python", () => {
    const python = { language: "python", compiled_code: "def model(dbt, session): return now()" };
    expect(upstreamNodes({ volume: "view facts", facts: "table" }, { facts: python })).toHaveLength(2);
  });
});

describe("it is not known what an endpoint is built from", () => {
  it.each<[string, Nodes]>([
    ["where a view reads a source", { volume: "view raw", raw: "source" }],
    ["where it does so beside a table", { volume: "view facts raw", facts: "table", raw: "source" }],
    ["where a view further down does", { volume: "view a", a: "view b", b: "view raw", raw: "source" }],
    ["where an ephemeral model does", { volume: "view a", a: "ephemeral raw", raw: "source" }],
    ["where a view names nothing that it reads", { volume: "view" }],
    ["where a parent is missing", { volume: "view gone" }],
    ["where one is missing further down", { volume: "view a facts", a: "view gone", facts: "table" }],
    ["of a materialized view", { volume: "materialized_view facts", facts: "table" }],
    ["of a view on one", { volume: "view a", a: "materialized_view facts", facts: "table" }],
    ["of a dynamic table", { volume: "dynamic_table facts", facts: "table" }],
    ["of a dictionary", { volume: "view a", a: "dictionary facts", facts: "table" }],
    ["of a materialisation that nobody knows", { volume: "view a", a: "insert_by_moon", facts: "table" }],
    [
      "of views that go round in a circle with nothing known",
      { volume: "view a", a: "view b gone", b: "view a" },
    ],
  ])("%s", (_, nodes) => {
    expect(upstreamNodes(nodes)).toBeNull();
  });

  it.each<[string, boolean]>([
    ["select * from facts {{ recent() }}", false],
    ["{{ config(materialized='view') }} select * from {{ ref('facts') }}", true],
    ["select {% for n in range(2) %} {{ n }}, {% endfor %} 1 from {{ source('s', 'facts') }}", true],
    ["{% set since = var('since') %} select * from facts where day > {{ since }}", false],
    ["select * from facts where day > {{ env_var('SINCE') }}", false],
    ["select * from {{ ref('facts') }} where day > current_date", false],
  ])(
    "where the manifest has no compiled code and %s may hide a filter by the clock: %s",
    (raw_code, isKnown) => {
      const nodes = { volume: "view a", a: "view facts", facts: "table" };
      const parsed = { compiled_code: null, raw_code };
      const expected = isKnown ? upstreamNodes(nodes) : null;
      expect(upstreamNodes(nodes)).toHaveLength(3);
      expect(upstreamNodes(nodes, { volume: parsed })).toEqual(expected);
      expect(upstreamNodes(nodes, { a: parsed })).toEqual(expected);
      expect(upstreamNodes(nodes, { facts: parsed })).toHaveLength(3);
    },
  );

  it("where a parent is turned off", () => {
    const off = { config: { materialized: "table", enabled: false } };
    expect(upstreamNodes({ volume: "view facts", facts: "table" }, { facts: off })).toBeNull();
  });

  it("where a parent is none of what holds rows", () => {
    const nodes = { volume: "view total", total: "table" };
    expect(upstreamNodes(nodes, { total: { resource_type: "analysis" } })).toBeNull();
  });

  it.each(["compiled_code", "raw_code", "compiled_sql", "raw_sql"])(
    "where a view asks the clock in its %s, or one under it",
    (key) => {
      const nodes = { volume: "view a", a: "view facts", facts: "table" };
      const asking = { compiled_code: undefined, [key]: "select * from facts where day > current_date - 7" };
      expect(upstreamNodes(nodes, { volume: asking })).toBeNull();
      expect(upstreamNodes(nodes, { a: asking })).toBeNull();
      expect(upstreamNodes(nodes, { facts: asking })).toHaveLength(3);
    },
  );
});

it("ends where views go round in a circle", () => {
  const nodes = { volume: "view a", a: "view volume facts", facts: "table" };
  expect(upstreamNodes(nodes)).toEqual(["model.shop.a", "model.shop.facts", VOLUME]);
});

it.each([
  "where t > now() - interval '1 day'",
  "SELECT today()",
  "CURRENT_TIMESTAMP",
  "current_timestamp::date",
  "where t > LocalTimestamp",
  "clock_timestamp ( )",
  "age(created)",
  "where id = generateUUIDv4()",
  "gen_random_uuid()",
  "order by random()",
  "dictGetOrNull('d', 'x', id)",
  "from t tablesample system (1)",
  "{{ dbt.current_timestamp() }}",
  "getdate()",
  "SYSDATE()",
  "UTC_TIMESTAMP()",
])("a view varies by itself with %s", (sql) => {
  expect(isNondeterministic(sql)).toBe(true);
});

it.each([
  "select today, now, random, brand(1), knowledge(2) from t",
  "age(a, b)",
  "stage(x)",
  "current_dates",
  "updated_now",
  "date_trunc('day', t)",
  "{{ run_started_at }}",
])("a view does not vary by itself with %s", (sql) => {
  expect(isNondeterministic(sql)).toBe(false);
});

describe("of any graph", () => {
  const SIZE = 12;
  const node = fc.record({
    materialized: fc.constantFrom("view", "view", "ephemeral", "table", "seed", "moon"),
    parents: fc.array(fc.nat(SIZE), { maxLength: 3 }),
  });

  /** The definition once more, by walking down from one model: the slow way. */
  function slowly(id: number, nodes: readonly Drawn[], seen = new Set<number>()): ReadonlySet<number> | null {
    const found = nodes[id];
    if (found === undefined || found.materialized === "moon") return null;
    if (found.materialized === "table" || found.materialized === "seed") return new Set([id]);
    if (found.parents.length === 0) return null;
    const all = new Set(found.materialized === "ephemeral" ? [] : [id]);
    for (const parent of found.parents) {
      if (seen.has(parent)) continue;
      seen.add(parent);
      const below = slowly(parent, nodes, seen);
      if (below === null) return null;
      for (const one of below) all.add(one);
    }
    return all;
  }

  function drawn(materialized: string, parents: readonly string[]): GraphNode {
    const kind = materialized === "seed" ? "seed" : "model";
    const isBuilt = kind === "seed" || materialized === "table" || materialized === "incremental";
    return { kind, materialized, parents, code: [], isComplete: true, isBuilt, json: {} };
  }

  interface Drawn {
    readonly materialized: string;
    readonly parents: readonly number[];
  }

  it("finds what walking down from each model finds", () => {
    let known = 0;
    const check = (nodes: readonly Drawn[]): void => {
      const graph = new Map(
        nodes.map(({ materialized, parents }, i) => {
          return [String(i), drawn(materialized, parents.map(String))] as const;
        }),
      );
      const found = upstreamNodesOf([...graph.keys()], graph);
      known += found.size;
      for (const [i, { materialized }] of nodes.entries()) {
        const expected = materialized === "ephemeral" ? null : slowly(i, nodes, new Set([i]));
        const list = expected === null ? undefined : [...expected].map(String).sort();
        expect(found.get(String(i))).toEqual(list);
      }
    };
    fc.assert(fc.property(fc.array(node, { minLength: 1, maxLength: SIZE }), check), { numRuns: 1000 });
    expect(known).toBeGreaterThan(1000);
  });

  it("takes no square of the time: ten thousand models in one chain of views, on a source", () => {
    const graph = new Map(
      Array.from({ length: 10_000 }, (_, i) => {
        return [String(i), drawn("view", [String(i + 1)])] as const;
      }),
    );
    expect(upstreamNodesOf([...graph.keys()], graph).size).toBe(0);
  });
});
