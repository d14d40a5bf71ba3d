import { describe, expect, it } from "vitest";
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
  const { entries, lineage } = catalogueOfText(JSON.stringify(manifest));
  const [entry] = entries;
  if (entry === undefined) throw new Error("volume is not published");
  return lineage.upstreamNodes.get(entry.path);
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

  it("a materialized view of PostgreSQL alone: dbt refreshes it; elsewhere its rows follow what it reads", () => {
    const nodes = { volume: "materialized_view facts", facts: "table" };
    expect(upstreamNodes(nodes, {}, "postgres")).toEqual([VOLUME]);
    expect(upstreamNodes(nodes)).toEqual(["model.shop.facts", VOLUME]);
    expect(upstreamNodes({ volume: "view a", a: "dynamic_table facts", facts: "table" })).toEqual([
      "model.shop.a",
      "model.shop.facts",
      VOLUME,
    ]);
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
    ["where a parent is missing", { volume: "view gone" }],
    ["where one is missing further down", { volume: "view a facts", a: "view gone", facts: "table" }],
    ["of a materialized view on a source", { volume: "materialized_view raw", raw: "source" }],
    [
      "of views that go round in a circle with nothing known",
      { volume: "view a", a: "view b gone", b: "view a" },
    ],
  ])("%s", (_, nodes) => {
    expect(upstreamNodes(nodes)).toBeUndefined();
  });

  it("where a parent is turned off", () => {
    const off = { config: { materialized: "table", enabled: false } };
    expect(upstreamNodes({ volume: "view facts", facts: "table" }, { facts: off })).toBeUndefined();
  });

  it("where a parent is none of what holds rows", () => {
    const nodes = { volume: "view total", total: "table" };
    expect(upstreamNodes(nodes, { total: { resource_type: "analysis" } })).toBeUndefined();
  });
});

it("a team that promises that rows change only with builds includes what dbt does not build", () => {
  const claim = { config: { materialized: "view", meta: { routewright: { changes: "on_build" } } } };
  const nodes = { volume: "view facts raw gone", facts: "table", raw: "source" };
  expect(upstreamNodes(nodes, { volume: claim })).toEqual(["model.shop.facts", VOLUME]);
});

it("ends where views go round in a circle", () => {
  const nodes = { volume: "view a", a: "view volume facts", facts: "table" };
  expect(upstreamNodes(nodes)).toEqual(["model.shop.a", "model.shop.facts", VOLUME]);
});
