/** What the base marks as private is private in the head, wherever the mark was and whatever uses it: marks × uses. */
import { describe, expect, it } from "vitest";
import { catalogueOfText } from "../catalogue/catalogues.js";
import { CALENDAR, catalogueFrom, changesBetween } from "./catalogues.js";
import { compareCatalogues } from "../../generator/diff/compare-catalogues.js";
import { catalogueText, readCatalogue } from "../../generator/catalogue/catalogue-file.js";
import { lineageText, readLineage } from "../../generator/catalogue/lineage-file.js";
import type { Catalogue } from "../../generator/catalogue/catalogue.js";
import type { Raw } from "./feature-model.js";

const column = (name: string, data_type = "text", more: object = {}): Raw => ({ name, data_type, ...more });
const tags = (resource: string, tier = "tier1"): string[] => ["production", tier, "shop", `api:${resource}`];

/** People, whose `salary` is marked; `staged` reads it, and `pay` is served. */
function project(): Raw {
  const model = (name: string, more: object): Raw => ({
    resource_type: "model",
    name,
    alias: name,
    schema: "analytics",
    original_file_path: `models/${name}.sql`,
    tags: [],
    columns: {},
    config: { materialized: "table", meta: {} },
    ...more,
  });
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: "postgres",
    },
    sources: {
      "source.shop.raw.people": {
        resource_type: "source",
        name: "people",
        schema: "raw",
        identifier: "people",
        original_file_path: "models/raw.yml",
        tags: [],
        columns: { salary: column("salary", "integer") },
        config: {},
      },
    },
    nodes: {
      "seed.shop.grades": model("grades", {
        resource_type: "seed",
        columns: { salary: column("salary", "integer") },
      }),
      "snapshot.shop.history": model("history", {
        resource_type: "snapshot",
        columns: { salary: column("salary", "integer") },
      }),
      "model.shop.staged": model("staged", {
        columns: { salary: column("salary", "integer") },
        depends_on: { nodes: ["source.shop.raw.people", "seed.shop.grades", "snapshot.shop.history"] },
      }),
      "model.shop.pay": model("pay", {
        tags: tags("pay"),
        depends_on: { nodes: ["model.shop.staged"] },
        columns: {
          team: column("team"),
          salary: column("salary", "integer"),
          paid_on: column("paid_on", "date"),
        },
        config: {
          materialized: "table",
          meta: {
            api: {
              allow_unfiltered: true,
              parameters: [{ name: "team", column: "team", operator: "=", type: "string" }],
            },
            routewright: { aggregate: { measures: { rows: { agg: "count" } }, group_by: ["team"] } },
          },
        },
      }),
    },
    semantic_models: {
      "semantic_model.shop.pays": {
        name: "pays",
        depends_on: { nodes: ["model.shop.pay"] },
        node_relation: { alias: "pay", schema_name: "analytics" },
        defaults: { agg_time_dimension: "paid_on" },
        entities: [
          { name: "pay", type: "primary", expr: "id" },
          { name: "person", type: "foreign", expr: "salary" },
        ],
        dimensions: [
          { name: "team", type: "categorical" },
          { name: "wage", type: "categorical", expr: "salary" },
          { name: "paid_on", type: "time", type_params: { time_granularity: "day" } },
        ],
        measures: [
          { name: "total", agg: "sum", expr: "bonus" },
          { name: "top", agg: "max", expr: "salary" },
          { name: "pays", agg: "count", expr: "id" },
        ],
      },
    },
    metrics: {
      ...metric("payments", "pays", {
        tags: tags("payments"),
        meta: { routewright: { group_by: ["pay__team"] } },
      }),
      ...metric("bonus", "total", { tags: [] }),
    },
  };
}

function metric(name: string, measure: string, config: object): Raw {
  return {
    [`metric.shop.${name}`]: {
      name,
      label: name,
      type: "simple",
      type_params: { measure: { name: measure } },
      config,
    },
  };
}

const columnOf = (id: string, mark: object) => (manifest: Raw) =>
  Object.assign((manifest.nodes[id] ?? manifest.sources[id]).columns.salary, mark);
const nodeOf = (id: string, mark: object) => (manifest: Raw) =>
  Object.assign(manifest.nodes[id] ?? manifest.sources[id], mark);
const semantic = (kind: string, name: string, mark: object) => (manifest: Raw) =>
  Object.assign(
    manifest.semantic_models["semantic_model.shop.pays"][kind].find((each: Raw) => each.name === name),
    mark,
  );
const pii = { meta: { pii: true } };

/** Marks that make `salary` of the served model private. */
const COLUMN_MARKS: Readonly<Record<string, (manifest: Raw) => unknown>> = {
  "meta of the column": columnOf("model.shop.pay", pii),
  "config.meta of the column": columnOf("model.shop.pay", { config: { meta: { Sensitive: "yes" } } }),
  "a tag of the column": columnOf("model.shop.pay", { tags: ["pii"] }),
  "classifiers of the column": columnOf("model.shop.pay", { classifiers: ["pii"] }),
  "a column of a model above": columnOf("model.shop.staged", pii),
  "a column of a source": columnOf("source.shop.raw.people", pii),
  "a column of a seed": columnOf("seed.shop.grades", pii),
  "a column of a snapshot": columnOf("snapshot.shop.history", pii),
  "a model above": nodeOf("model.shop.staged", { tags: ["pii"] }),
  "a source": nodeOf("source.shop.raw.people", { tags: ["pii"] }),
  "a seed": nodeOf("seed.shop.grades", pii),
  "a snapshot, by the meta of its folder": nodeOf("snapshot.shop.history", { config: pii }),
};
const MODEL_MARKS: typeof COLUMN_MARKS = {
  "the model": (manifest) => (manifest.nodes["model.shop.pay"].config.meta.pii = true),
  "a tag of the model": (manifest) => manifest.nodes["model.shop.pay"].tags.push("pii"),
};
const SEMANTIC_MARKS: typeof COLUMN_MARKS = {
  "a dimension": semantic("dimensions", "wage", pii),
  "an entity": semantic("entities", "person", pii),
  "the semantic model": (manifest) =>
    Object.assign(manifest.semantic_models["semantic_model.shop.pays"], pii),
};

const WHOLE_MARKS = { ...MODEL_MARKS, "the semantic model": true };

const settings = (manifest: Raw): Raw => manifest.nodes["model.shop.pay"].config.meta;
const unserve = ({ nodes }: Raw) => delete nodes["model.shop.pay"].columns.salary;
const serve = ({ nodes }: Raw) => (nodes["model.shop.pay"].columns.salary = column("salary", "integer"));

interface Use {
  readonly given?: (manifest: Raw) => unknown;
  readonly use: (manifest: Raw) => unknown;
  readonly kinds: readonly string[];
}

/** What the head does with `salary` of the model; kinds that are all exposing. */
const USES: Readonly<Record<string, Use>> = {
  nothing: { use: () => 0, kinds: ["private-mark-removed"] },
  measure: {
    use: (m) => (settings(m).routewright.aggregate.measures.top = { agg: "max", column: "salary" }),
    kinds: ["private-mark-removed", "measure-exposed"],
  },
  group: {
    use: (m) => settings(m).routewright.aggregate.group_by.push("salary"),
    kinds: ["private-mark-removed"],
  },
  parameter: {
    use: (m) =>
      settings(m).api.parameters.push({ name: "pay", column: "salary", operator: "=", type: "string" }),
    kinds: ["private-mark-removed", "filter-exposed"],
  },
  filter: {
    use: (m) => (settings(m).routewright.filters = ["salary"]),
    kinds: ["private-mark-removed", "filter-exposed"],
  },
  "fixed rows": {
    given: (m) => (settings(m).routewright.aggregate.rows = false),
    use: (m) => (settings(m).routewright.aggregate.rows = true),
    kinds: ["private-mark-removed", "row-access-added"],
  },
  endpoint: {
    given: (m) => (m.nodes["model.shop.pay"].tags = ["tier1", "shop", "api:pay"]),
    use: (m) => m.nodes["model.shop.pay"].tags.push("production"),
    kinds: ["private-mark-removed"],
  },
  "an endpoint of all": {
    given: (m) => (m.nodes["model.shop.pay"].tags = ["tier0", "shop", "api:pay"]),
    use: (m) => m.nodes["model.shop.pay"].tags.push("production"),
    kinds: ["private-mark-removed", "private-endpoint-added"],
  },
};
/** Of marks above the model, which does not serve the column in the base. */
const USES_OF_UNSERVED: Readonly<Record<string, Use>> = {
  column: { given: unserve, use: serve, kinds: ["column-exposed"] },
  "column and measure": {
    given: unserve,
    use: (m) => {
      serve(m);
      settings(m).routewright.aggregate.measures.top = { agg: "max", column: "salary" };
    },
    kinds: ["column-exposed", "measure-exposed"],
  },
  group: {
    given: (m) => {
      unserve(m);
      settings(m).routewright.aggregate.rows = false;
    },
    use: (m) => {
      serve(m);
      settings(m).routewright.aggregate.group_by.push("salary");
    },
    kinds: ["group-exposed"],
  },
};
/** What metrics do with the semantic model. */
const USES_BY_METRICS: Readonly<Record<string, Use>> = {
  "a group": {
    use: (m) => m.metrics["metric.shop.payments"].config.meta.routewright.group_by.push("pay__wage"),
    kinds: ["group-exposed"],
  },
  "a metric on its path": {
    use: (m) =>
      Object.assign(
        m.metrics,
        metric("highest", "top", {
          tags: tags("payments"),
          meta: { routewright: { group_by: ["pay__team"] } },
        }),
      ),
    kinds: ["measure-exposed"],
  },
  "a metric on a path of its own": {
    use: (m) => Object.assign(m.metrics, metric("highest", "top", { tags: tags("highest") })),
    kinds: ["private-mark-removed"],
  },
};

/** As a generated folder has it. */
function fromFiles(catalogue: Catalogue): Catalogue {
  const reading = readCatalogue(catalogueText(catalogue));
  if (!reading.ok) throw new Error(reading.problems.join());
  return { ...reading.value, lineage: readLineage(lineageText(catalogue.lineage)) };
}

/** Kinds of the exposing changes where the mark goes and something uses what it marked. */
function exposed(mark: (manifest: Raw) => unknown, { given, use }: Use): readonly string[] {
  const [marked, unmarked] = [project(), project()];
  given?.(marked);
  given?.(unmarked);
  use(unmarked);
  // A column that is not served keeps no mark of its own.
  mark(marked);
  const [base, head] = [catalogueFrom(marked), catalogueFrom(unmarked)];
  expect(head.skipped).toEqual([]);
  const changes = compareCatalogues(base, head, CALENDAR);
  expect(compareCatalogues(fromFiles(base), fromFiles(head), CALENDAR)).toEqual(changes);
  return [...new Set(changes.filter(({ severity }) => severity === "exposing").map(({ kind }) => kind))];
}

const isOfColumn = (name: string): boolean => name.includes("the column");

describe.each(Object.entries({ ...COLUMN_MARKS, ...MODEL_MARKS }))("the mark goes of %s", (name, mark) => {
  it.each(Object.entries(USES))("and the head uses it: %s", (_, use) => {
    expect(exposed(mark, use)).toEqual(expect.arrayContaining([...use.kinds]));
  });
  it.skipIf(isOfColumn(name)).each(Object.entries(USES_OF_UNSERVED))("and its column came: %s", (_, use) => {
    expect(exposed(mark, use)).toEqual(expect.arrayContaining([...use.kinds]));
  });
});

describe.each(Object.entries({ ...SEMANTIC_MARKS, ...COLUMN_MARKS, ...MODEL_MARKS }))(
  "the mark goes of %s",
  (name, mark) => {
    it.each(Object.entries(USES_BY_METRICS))("and metrics have %s", (_use, use) => {
      // Over a model that is private as a whole the base has no metrics: their time is private.
      const kinds = Object.hasOwn(WHOLE_MARKS, name) ? ["private-mark-removed"] : [...use.kinds];
      expect(exposed(mark, use)).toEqual(expect.arrayContaining(kinds));
    });
  },
);

describe("the mark goes of a measure or a metric", () => {
  const show = (m: Raw) => (m.metrics["metric.shop.bonus"].config.tags = tags("bonus"));
  it.each(
    Object.entries({
      "a measure": semantic("measures", "total", pii),
      "a metric": (m: Raw) => (m.metrics["metric.shop.bonus"].config.meta = { pii: true }),
      both: (m: Raw) => {
        semantic("measures", "total", pii)(m);
        m.metrics["metric.shop.bonus"].config.meta = { pii: true };
      },
    }),
  )("%s", (name, mark) => {
    expect(exposed(mark, { use: show, kinds: [] })).toContain("private-mark-removed");
    if (name !== "a measure")
      expect(exposed(mark, { given: show, use: () => 0, kinds: [] })).toContain("private-mark-removed");
  });
});

it("a mark that moves, is written otherwise, or is above a hash is no change", () => {
  const with_ = (edit: (manifest: Raw) => unknown): Raw => {
    const manifest = project();
    edit(manifest);
    return manifest;
  };
  const {
    "meta of the column": own,
    "a column of a source": source,
    "the model": model,
  } = {
    ...COLUMN_MARKS,
    ...MODEL_MARKS,
  };
  const kinds = (base: Raw, head: Raw) => changesBetween(base, head).map(({ kind }) => kind);
  expect(kinds(with_(own!), with_(source!))).toEqual([]);
  expect(kinds(with_(own!), with_(columnOf("model.shop.pay", { tags: ["pii"] })))).toEqual([]);
  // The metrics over the model are refused then.
  expect(kinds(with_(own!), with_(model!))).toEqual(["endpoint-removed"]);
  const hash = (manifest: Raw) => {
    source!(manifest);
    manifest.nodes["model.shop.staged"].raw_code = "select md5(salary) as salary from people";
  };
  expect(kinds(with_(hash), with_(hash))).toEqual([]);
  expect(kinds(with_(source!), with_(hash))).toEqual([]);
  // Only what the sources mark is above; nobody serves it.
  expect(
    kinds(
      with_((m) => (source!(m), unserve(m))),
      with_(unserve),
    ),
  ).toEqual([]);
});

it("a catalogue without marks has no key of them", () => {
  expect(catalogueText(catalogueOfText(JSON.stringify(project())))).not.toContain('"marks"');
});
