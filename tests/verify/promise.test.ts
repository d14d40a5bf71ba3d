import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { catalogueText } from "../../generator/catalogue/catalogue-file.js";
import { lineageText } from "../../generator/catalogue/lineage-file.js";
import { verify } from "../../generator/commands/verify.js";
import { readModels } from "../../generator/manifest/catalog.js";
import { atEnd } from "../support/at-end.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

const folder = ownFolder();
const wrapper = `wrapper_${randomBytes(6).toString("hex")}`;
await query(
  `CREATE FOREIGN DATA WRAPPER ${wrapper}; CREATE SERVER ${wrapper} FOREIGN DATA WRAPPER ${wrapper}`,
);
atEnd(async () => {
  await query(`DROP FOREIGN DATA WRAPPER ${wrapper} CASCADE`);
});
const schema = await ownSchema(`
  CREATE TABLE @.sales (id integer, at timestamptz, day date, shop text, amount numeric);
  CREATE TABLE @.fx_rates (id integer, rate numeric);
  CREATE MATERIALIZED VIEW @.outside AS SELECT id FROM @.sales;
  CREATE TABLE @.parted (id integer) PARTITION BY RANGE (id);
  CREATE TABLE @.part_1 PARTITION OF @.parted FOR VALUES FROM (0) TO (10);
  CREATE TABLE @.heir () INHERITS (@.fx_rates);
  CREATE TABLE @.guarded (id integer, at timestamptz);
  ALTER TABLE @.guarded ENABLE ROW LEVEL SECURITY;
  CREATE POLICY recent ON @.guarded FOR SELECT USING (at < clock_timestamp());
  CREATE FOREIGN TABLE @.elsewhere (id integer) SERVER ${wrapper};
  CREATE SEQUENCE @.counter;
  CREATE FUNCTION @.rate() RETURNS numeric STABLE LANGUAGE sql AS 'SELECT max(rate) FROM @.fx_rates';
  CREATE FUNCTION @.plus(integer, integer) RETURNS integer STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 + $2; END';
  CREATE FUNCTION @.double(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1';
  CREATE OPERATOR @.#+# (LEFTARG = integer, RIGHTARG = integer, FUNCTION = @.plus);
  CREATE AGGREGATE @.total (integer) (SFUNC = @.plus, STYPE = integer);
`);

/** A view of an endpoint, `sales` the only node that it reads in dbt. */
async function review(
  models: readonly TestModel[],
  claim: boolean,
  location?: (file: string) => Promise<string>,
) {
  const file = join(folder, `${String(Math.random())}.json`);
  const known: TestModel = { name: "sales", tags: [], schema, materialized: "table" };
  const served = models.map((model): TestModel => ({
    materialized: "view",
    parents: ["model.test.sales"],
    schema,
    tags: ["production", "shop", `api:${model.name}`],
    api: { allow_unfiltered: true },
    columns: { id: "integer" },
    routewright: claim ? { changes: "on_build" } : {},
    ...model,
  }));
  writeFileSync(file, JSON.stringify(manifestOf([known, ...served], { adapter_type: "postgres" })));
  const { exit, output = "" } = await verify({
    revision: (await location?.(file)) ?? file,
    databaseUrl,
    format: "json",
    generated: "generated",
    cwd: folder,
    defaultTier: "tier0",
    failOn: "warning",
    // The foreign server does not answer.
    severities: { "unreadable-relation": "off" },
  });
  const { differences, couldPromise } = JSON.parse(output) as {
    differences: readonly { check: string; message: string }[];
    couldPromise: readonly string[];
  };
  const texts = differences.map(({ check, message }) => `${check}: ${message.replaceAll(`${schema}.`, "")}`);
  return { exit, differences: texts, couldPromise };
}

async function withView<Value>(select: string, work: (name: string) => Promise<Value>): Promise<Value> {
  const name = `view_${Math.random().toString(36).slice(2)}`;
  await query(`CREATE VIEW @.${name} AS ${select}`.replaceAll("@", `"${schema}"`));
  return work(name);
}

const reads = (name: string) => `reads "${name}", no node above the model in dbt.`;
const calls = (name: string) => `calls "${name}": the result changes between builds.`;

it.each([
  [
    "a table that dbt does not know",
    "SELECT s.id FROM @.sales s JOIN @.fx_rates USING (id)",
    reads("fx_rates"),
  ],
  [
    "such a table in a subquery",
    "SELECT id FROM @.sales WHERE id IN (SELECT id FROM @.fx_rates)",
    reads("fx_rates"),
  ],
  ["a materialized view that dbt does not build", "SELECT id FROM @.outside", reads("outside")],
  ["a foreign table", "SELECT id FROM @.elsewhere", reads("elsewhere")],
  ["a sequence", "SELECT last_value::int AS id FROM @.counter", reads("counter")],
  ["a table of the system", "SELECT count(*)::int AS id FROM pg_class", reads("pg_catalog.pg_class")],
  ["a volatile function", "SELECT id, clock_timestamp() AS at FROM @.sales", calls("clock_timestamp")],
  ["random()", "SELECT id FROM @.sales ORDER BY random()", calls("random")],
  ["a sample", "SELECT id FROM @.sales TABLESAMPLE bernoulli (50)", calls("bernoulli")],
  ["now()", "SELECT id FROM @.sales WHERE at < now()", calls("now")],
  ["CURRENT_DATE", "SELECT id FROM @.sales WHERE day = current_date", calls("CURRENT_TIMESTAMP")],
  ["LOCALTIMESTAMP", "SELECT id FROM @.sales WHERE day < localtimestamp(0)", calls("CURRENT_TIMESTAMP")],
  ["the age until now", "SELECT id, age(at) AS a FROM @.sales", calls("age")],
  [
    "a setting",
    "SELECT id FROM @.sales WHERE shop = current_setting('app.shop', true)",
    calls("current_setting"),
  ],
  ["a size", "SELECT pg_relation_size('@.sales')::int AS id", calls("pg_relation_size")],
  ["a function that may read tables", "SELECT id, @.rate() FROM @.sales", calls("rate")],
  ["an operator of such a function", "SELECT id OPERATOR(@.#+#) 1 AS id FROM @.sales", calls("plus")],
  ["an aggregate of such a function", "SELECT @.total(id) AS id FROM @.sales", calls("plus")],
  ["a window of such an aggregate", "SELECT @.total(id) OVER () AS id FROM @.sales", calls("plus")],
])("names %s, which breaks the promise", async (_, select, message) => {
  await withView(select, async (name) => {
    const { exit, differences, couldPromise } = await review([{ name }], true);
    expect({ exit, differences, couldPromise }).toEqual({
      exit: 1,
      differences: [`broken-promise: "${name}" ${message}`],
      couldPromise: [],
    });
    expect(await review([{ name }], false)).toEqual({ exit: 0, differences: [], couldPromise: [] });
  });
});

it.each([
  [
    "casts and arithmetic",
    "SELECT id, at::text, at + interval '1 day' AS a, to_char(at, 'YYYY') AS b FROM @.sales",
  ],
  ["an immutable function", "SELECT @.double(id) AS id, json_agg(shop) AS shops FROM @.sales GROUP BY id"],
  ["the role", "SELECT id FROM @.sales WHERE shop = current_user"],
  [
    "names and texts as of the tree",
    `SELECT id AS id, 1 AS ":funcid 1299", ' :relid 1259 {SQLVALUEFUNCTION :op 0 ' AS t FROM @.sales`,
  ],
])("keeps the promise with %s, and says without it that it could be made", async (_, select) => {
  await withView(select, async (name) => {
    expect(await review([{ name }], true)).toEqual({ exit: 0, differences: [], couldPromise: [] });
    const could = { exit: 0, differences: [], couldPromise: [`/v1/shop/${name}`] };
    expect(await review([{ name }], false)).toEqual(could);
  });
});

it.each([
  ["partitions that something else than dbt attaches", "parted", `"parted" ${reads("part_1")}`],
  ["tables that inherit", "fx_rates", `"fx_rates" ${reads("heir")}`],
  ["row policies that read the clock", "guarded", `"guarded" ${calls("clock_timestamp")}`],
  ["foreign tables", "elsewhere", `"elsewhere" is a foreign table, which another server writes.`],
])("names %s of a table that dbt builds", async (_, name, message) => {
  const table = { name, materialized: "table", parents: [] };
  expect((await review([table], true)).differences).toEqual([`broken-promise: ${message}`]);
});

it("follows the views between the endpoint and the tables, and names the one that breaks the promise", async () => {
  await withView("SELECT id, now() AS at FROM @.sales", (inner) =>
    withView(`SELECT id FROM @.${inner}`, async (name) => {
      const parents = [`model.test.${inner}`];
      const between: TestModel = { name: inner, tags: [] };
      const { differences } = await review([between, { name, parents }], true);
      expect(differences).toEqual([`broken-promise: "${inner}" ${calls("now")}`]);
    }),
  );
});

it("reads the nodes of a generated folder in its lineage.json", async () => {
  await withView("SELECT s.id FROM @.sales s JOIN @.fx_rates USING (id)", async (name) => {
    const generated = async (file: string): Promise<string> => {
      const reading = await readModels({ manifest: file });
      if (!reading.ok) throw new Error(reading.problems.join(" "));
      const catalogue = catalogueOf(reading.value);
      const out = join(folder, `generated-${name}`);
      mkdirSync(out);
      writeFileSync(join(out, "catalogue.json"), catalogueText(catalogue));
      writeFileSync(join(out, "lineage.json"), lineageText(catalogue.lineage));
      return out;
    };
    const { differences } = await review([{ name }], true, generated);
    expect(differences).toEqual([`broken-promise: "${name}" ${reads("fx_rates")}`]);
  });
});
