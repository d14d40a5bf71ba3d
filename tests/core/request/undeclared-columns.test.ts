/** A column that only a catalog lists filters, sorts and isolates, and is not served. */
import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../../generator/catalogue/build.js";
import { parseCatalog, withWarehouseColumns } from "../../../generator/manifest/catalog.js";
import { parseManifest } from "../../../generator/manifest/manifest.js";
import { updateFolder } from "../../../generator/output/folder.js";
import { render } from "../../../generator/render/render.js";
import { byEngine, ownTables } from "../../support/engines.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf, type TestModel } from "../../support/manifest.js";
import { ownFolder, startFolder } from "../../support/service.js";

const schema = await ownTables({
  postgres: `CREATE TABLE @.orders AS SELECT * FROM (VALUES
    (1::bigint, 'a', 'acme', 3::bigint, 's'), (2, 'b', 'globex', 2, 's'), (3, 'c', 'acme', 1, 's'))
    AS t (id, label, org_id, rank, secret)`,
  clickhouse: [
    "CREATE TABLE @.orders (id Int64, label String, org_id String, rank Int64, secret String) ORDER BY id",
    "INSERT INTO @.orders VALUES (1,'a','acme',3,'s'),(2,'b','globex',2,'s'),(3,'c','acme',1,'s')",
  ],
});
const [INTEGER, TEXT] = byEngine({ postgres: ["bigint", "text"], clickhouse: ["Int64", "String"] });
const TYPES = { id: INTEGER, label: TEXT, org_id: TEXT, rank: INTEGER, secret: TEXT };

const API = {
  methods: ["GET"],
  allow_unfiltered: true,
  parameters: [{ name: "label", column: "label", operator: "=", type: "string" }],
  sort: [{ column: "rank", direction: "ASC" }],
};
const model = (name: string, columns: Record<string, null>, routewright: object): TestModel => ({
  name,
  schema,
  alias: "orders",
  columns,
  api: API,
  routewright,
});
const DECLARED = { id: null, label: null };
const MODELS = [
  model("declared", DECLARED, { rows: { column: "org_id", equals: "org" }, filters: ["rank"] }),
  model("undeclared", {}, {}),
  model("asked", DECLARED, { undeclared: "serve" }),
];

function catalogue() {
  const columns = Object.fromEntries(
    Object.entries(TYPES).map(([name, type], index) => [
      name,
      { name, type, index, comment: `The ${name}.` },
    ]),
  );
  const nodes = Object.fromEntries(MODELS.map(({ name }) => [`model.test.${name}`, { columns }]));
  const metadata = { dbt_schema_version: "https://schemas.getdbt.com/dbt/catalog/v1.json" };
  const reading = parseManifest(JSON.stringify(manifestOf(MODELS)), "manifest.json");
  const found = parseCatalog(JSON.stringify({ metadata, nodes }), "catalog.json");
  if (!reading.ok || !found.ok) throw new Error("not read");
  return catalogueOf(withWarehouseColumns(reading.value, found.value));
}

const folder = ownFolder();
updateFolder(render(catalogue()), { out: folder });
const key = (org: string) => ({ tier: "tier3", user: org, org });
const { url } = await startFolder(folder, {
  API_KEYS: JSON.stringify({ sk_live_acme: key("acme"), sk_live_globex: key("globex") }),
});
const rowsOf = async (path: string, caller: string): Promise<unknown> => {
  const { text } = await sendRequest(url, `/v1/shop/${path}`, { key: `sk_live_${caller}` });
  return JSON.parse(text) as unknown;
};

describe("a column that only a catalog lists", () => {
  it("isolates, sorts and filters, and is in no row", async () => {
    expect(await rowsOf("declared", "acme")).toEqual([
      { id: 3, label: "c" },
      { id: 1, label: "a" },
    ]);
    expect(await rowsOf("declared?rank[gt]=1", "acme")).toEqual([{ id: 1, label: "a" }]);
    expect(await rowsOf("declared", "globex")).toEqual([{ id: 2, label: "b" }]);
  });

  it("is served by a model that declares none, and by one that asks for it", async () => {
    const row = { id: 3, label: "c", org_id: "acme", rank: 1, secret: "s" };
    expect(await rowsOf("undeclared?label=c", "globex")).toEqual([row]);
    expect(await rowsOf("asked?label=c", "globex")).toEqual([row]);
  });

  it("gives its type and comment to the column that is declared", () => {
    const { entries } = catalogue();
    const columnsOf = (name: string) => entries.find(({ model }) => model === name)?.columns;
    expect(columnsOf("declared")).toMatchObject([
      { name: "id", type: expect.stringMatching(INTEGER) as string, description: "The id." },
      { name: "label", description: "The label." },
    ]);
    expect(columnsOf("declared")).toHaveLength(2);
    expect(columnsOf("asked")).toHaveLength(5);
  });

  it("is not the key of a cursor, which would show it", () => {
    const cursor = { ...model("declared", DECLARED, { cursor: true }), key: "rank" };
    const api = { ...API, pagination: { enabled: true, default_limit: 1, max_limit: 2 } };
    const reading = parseManifest(
      JSON.stringify(manifestOf([{ ...cursor, api, key: "id" }])),
      "manifest.json",
    );
    if (!reading.ok) throw new Error(reading.problems.join(" "));
    const rank = {
      name: "rank",
      type: INTEGER,
      notNull: null,
      acceptedValues: null,
      guarantees: {},
      isPrivate: false,
      routewright: {},
      description: "",
    };
    const { skipped } = catalogueOf(
      withWarehouseColumns(reading.value, new Map([["model.test.declared", [rank]]])),
    );
    expect(skipped[0]?.problems[0]?.message).toContain('does not declare the column "rank"');
  });
});
