import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verify, type VerifyOptions } from "../../generator/commands/verify.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { manifestOf as testManifest, type TestModel } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

const folder = ownFolder();
const schema = await ownSchema(`
  CREATE TABLE @.sales (
    id integer NOT NULL PRIMARY KEY, shop text, code text, note text, day date, total bigint, at timestamp
  );
  INSERT INTO @.sales SELECT i, 'shop ' || i, 'c' || i, 'note', date '2026-01-01' + i % 365, i, now() FROM generate_series(1, 5000) i;
  CREATE INDEX ON @.sales (shop);
  CREATE INDEX ON @.sales (lower(code));
  CREATE TABLE @.small (id integer, shop text);
  CREATE VIEW @.view_of_sales AS SELECT id, shop, day FROM @.sales;
  CREATE TABLE @.visits (id integer, tenant text, shop text, code text, active boolean);
  INSERT INTO @.visits SELECT i, 't' || i % 3, nullif('shop ' || i, 'shop 9'), 'c' || i, i % 2 = 0 FROM generate_series(1, 5000) i;
  CREATE INDEX ON @.visits (tenant, shop);
  CREATE INDEX ON @.visits (code) WHERE active;
  CREATE VIEW @.one_tenant AS SELECT id, shop, code FROM @.visits WHERE tenant = 't1';
  CREATE VIEW @.active AS SELECT id, shop, code FROM @.visits WHERE active;
  CREATE MATERIALIZED VIEW @.empty AS SELECT id, shop FROM @.visits WITH NO DATA;
  CREATE MATERIALIZED VIEW @.filled AS SELECT id, shop FROM @.visits;
  ANALYZE @.visits;
  ANALYZE @.sales; ANALYZE @.small;
`);

interface VerifiedModel extends Pick<TestModel, "name" | "key"> {
  readonly columns: Readonly<Record<string, string | null>>;
  readonly parameters?: readonly object[];
  /** Columns that callers filter by with operators. */
  readonly filters?: readonly string[];
  /** Whether they combine them in the parameter `filter`. */
  readonly filter?: true;
  /** Columns with a not_null constraint. */
  readonly notNull?: readonly string[];
}

const equal = (name: string, more: object = {}) => ({
  name,
  column: name,
  operator: "=",
  type: "string",
  ...more,
});

/** A manifest file of these models, each a table with an enforced contract. */
function manifestOf(...models: readonly VerifiedModel[]): string {
  const pagination = { enabled: true, default_limit: 10, max_limit: 10 };
  const manifest = testManifest(
    models.map(({ parameters = [], filters = [], filter, key, ...model }) => ({
      ...model,
      schema,
      tags: ["production", "tier1", "shop", `api:${model.name}`],
      materialized: "table",
      api: { allow_unfiltered: true, parameters, ...(key && { pagination }) },
      routewright: { filters, ...(filter && { filter }), ...(key && { cursor: true }) },
      ...(key && { key }),
    })),
    { adapter_type: "postgres" },
  ) as { nodes: Record<string, { config: object; columns: Record<string, object> }> };
  for (const { name, notNull = [] } of models) {
    const { config, columns } = manifest.nodes[`model.test.${name}`]!;
    Object.assign(config, { contract: { enforced: true } });
    for (const column of notNull) Object.assign(columns[column]!, { constraints: [{ type: "not_null" }] });
  }
  const file = join(folder, `${models.map(({ name }) => name).join("-")}-${String(Math.random())}.json`);
  writeFileSync(file, JSON.stringify(manifest));
  return file;
}

async function run(revision: string, url: string | null = databaseUrl, more: Partial<VerifyOptions> = {}) {
  const {
    exit,
    output = "",
    errors,
  } = await verify({
    revision,
    databaseUrl: url,
    format: "json",
    generated: "generated",
    cwd: folder,
    defaultTier: "tier0",
    failOn: "warning",
    ...more,
  });
  return {
    exit,
    errors,
    differences:
      output === ""
        ? []
        : (JSON.parse(output).differences as { check: string; message: string; hint: string }[]),
  };
}

/** `<check>: <message>` of every difference. */
async function found(...models: readonly VerifiedModel[]): Promise<readonly string[]> {
  const { differences } = await run(manifestOf(...models));
  return differences.map(({ check, message }) => `${check}: ${message.replaceAll(`${schema}.`, "")}`);
}

it("a catalogue that the database agrees with has no difference, and exits 0", async () => {
  const columns = { id: "integer", shop: "text", total: "bigint", at: "timestamp without time zone" };
  const { exit, differences } = await run(
    manifestOf({ name: "sales", columns, parameters: [equal("id"), equal("shop")] }),
  );
  expect({ exit, differences }).toEqual({ exit: 0, differences: [] });
});

describe("a difference", () => {
  it("is a relation that does not exist", async () => {
    expect(await found({ name: "gone", columns: { id: "integer" } })).toEqual([
      'missing-relation: The relation "gone" does not exist.',
    ]);
  });

  it("is a column that does not exist", async () => {
    expect(await found({ name: "sales", columns: { id: "integer", price: "numeric" } })).toEqual([
      'missing-column: "sales" has no column "price": rows come without it.',
    ]);
  });

  it("is not a column in another letter case, but one of which several differ in letter case only", async () => {
    await query(`CREATE TABLE "${schema}".cased ("ID" integer, "Label" text, "LABEL" text)`);
    const id = { name: "cased", columns: { id: "integer" }, parameters: [equal("id")] };
    expect(await found(id)).toEqual([]);
    expect(await found({ ...id, columns: { id: "bigint", label: "text" } })).toEqual([
      'missing-column: "cased" has several columns that "label" may mean, "Label", "LABEL": requests fail.',
    ]);
  });

  it.each([
    ["shop", "integer", "text"],
    ["total", "integer", "bigint"],
    ["at", "timestamptz", "timestamp without time zone"],
    ["day", "timestamp", "date"],
  ])("is the column %s, documented as %s, which is %s", async (column, documented, actual) => {
    const found_ = await found({ name: "sales", columns: { [column]: documented } });
    expect(found_).toEqual([
      `column-type: The column "${column}" is documented as "${documented} null", and "sales" has "${actual}".`,
    ]);
  });

  it.each([
    ["id", "bigint"],
    ["shop", "varchar"],
    ["id", "int4"],
  ])("is not the column %s documented as %s, which holds all its values", async (column, documented) => {
    expect(await found({ name: "sales", columns: { [column]: documented } })).toEqual([]);
  });

  it("is a key with duplicates, which pages by cursor rely on", async () => {
    const columns = { id: "integer", tenant: "text" };
    expect(await found({ name: "visits", columns, key: "tenant" })).toEqual([
      'duplicate-key: Rows of "visits" share a value of "tenant", which tests call unique.',
    ]);
    expect(await found({ name: "visits", columns, key: "id" })).toEqual([]);
  });

  it("is a not_null constraint that the table lacks", async () => {
    const columns = { id: "integer", shop: "text" };
    expect(await found({ name: "sales", columns, notNull: ["id", "shop"] })).toEqual([
      'column-nullable: The column "shop" has a not_null constraint in the project, and "sales" has none.',
    ]);
    expect(await found({ name: "view_of_sales", columns, notNull: ["id", "shop"] })).toEqual([]);
    await query(`CREATE TABLE "${schema}".unproven (id integer NOT NULL, shop text);
      INSERT INTO "${schema}".unproven VALUES (1, NULL);
      ALTER TABLE "${schema}".unproven ADD CONSTRAINT later NOT NULL shop NOT VALID`);
    expect(await found({ name: "unproven", columns, notNull: ["id", "shop"] })).toEqual([
      'column-nullable: The column "shop" has a not_null constraint in the project, and "unproven" has none.',
    ]);
  });

  it.each([
    ["=", equal("note"), 'column "note": each request that filters by "note"'],
    ["= with case that the index has not", equal("shop", { case: "lower" }), 'column "shop"'],
    ["ILIKE on a b-tree", equal("shop", { operator: "ILIKE" }), 'column "shop"'],
    [
      ">=",
      { name: "from", column: "day", operator: ">=", type: "date" },
      'column "day": each request that filters by "from"',
    ],
  ])("is a filter without an index: %s", async (_, parameter, message) => {
    const columns = { shop: "text", note: "text", day: "date" };
    const [difference, ...others] = await found({ name: "sales", columns, parameters: [parameter] });
    expect(others).toEqual([]);
    expect(difference).toContain("unindexed-filter: No index");
    expect(difference).toContain(message);
  });

  it.each([
    ["the second column of an index", "visits", "shop"],
    ["a partial index that covers other rows", "visits", "code"],
    ["an index of the view's own condition", "one_tenant", "code"],
  ])("is a filter by %s", async (_, name, column) => {
    const model = { name, columns: { [column]: "text" }, parameters: [equal(column)] };
    expect(await found(model)).toEqual([
      `unindexed-filter: No index of "${name}" serves the column "${column}": each request that filters by "${column}" reads the whole relation.`,
    ]);
  });

  it("is a column filter without an index, and not one with it", async () => {
    const columns = { id: "integer", note: "text" };
    expect(await found({ name: "sales", columns, filters: ["id", "note"] })).toEqual([
      'unindexed-filter: No index of "sales" serves the column "note": each request that filters by "note[…]" reads the whole relation.',
    ]);
  });

  it("is an expression that no index serves, of a column whose values one finds", async () => {
    await query(`CREATE TABLE "${schema}".told (code text, named text, day date, note text);
      INSERT INTO "${schema}".told SELECT 'c' || i, 'name ' || i, date '2026-01-01' + i % 365, 'x' FROM generate_series(1, 5000) i;
      CREATE INDEX ON "${schema}".told (code); CREATE INDEX ON "${schema}".told (day);
      CREATE EXTENSION IF NOT EXISTS pg_trgm;
      CREATE INDEX ON "${schema}".told (named); CREATE INDEX ON "${schema}".told USING gin (named gin_trgm_ops);
      ANALYZE "${schema}".told`);
    const columns = { code: "text", named: "text", day: "date" };
    const filters = Object.keys(columns);
    expect(await found({ name: "told", columns, filters, filter: true })).toEqual([
      'unindexed-expression: No index of "told" serves "contains(code, …)", "startswith(code, …)", "endswith(code, …)" in `filter`: a request with nothing else reads the whole relation.',
    ]);
    expect(await found({ name: "told", columns, filters })).toEqual([]);
    const note = { name: "told", columns: { note: "text" }, filters: ["note"], filter: true } as const;
    expect((await found(note)).map((each) => each.split(":")[0])).toEqual(["unindexed-filter"]);
  });

  it("is an expression that the database refuses, without the value of its row", async () => {
    await query(`CREATE TABLE "${schema}".placed (id integer, place point);
      INSERT INTO "${schema}".placed VALUES (1, point(7711, 5)); ANALYZE "${schema}".placed`);
    const columns = { id: "integer", place: "text" };
    const all = await found({ name: "placed", columns, filters: ["id", "place"], filter: true });
    expect(all.map((each) => each.split(":")[0])).toEqual(["column-type", "refused-expression"]);
    expect(all.join()).toMatch(
      /The database refuses "place eq …", "place ne …", .*"endswith\(place, …\)" in `filter`: "Parameter 'filter' cannot be used: values of its column cannot be compared like this\."\./,
    );
    expect(all.join()).not.toContain("7711");
  });

  it("is a filter whose rows are found by the index of the sort, from its start", async () => {
    const columns = { id: "integer", note: "text" };
    expect(await found({ name: "sales", key: "id", columns, filters: ["note"], notNull: ["id"] })).toEqual([
      'unindexed-filter: No index of "sales" serves the column "note": each request that filters by "note[…]" reads the whole relation.',
    ]);
  });

  it("is a materialized view that was never refreshed", async () => {
    const columns = { id: "integer" };
    expect(await found({ name: "empty", columns }, { name: "filled", columns })).toEqual([
      'unpopulated-relation: The materialized view "empty" was created `WITH NO DATA` and never refreshed.',
    ]);
  });

  it("has a severity that the config file changes, and fails by --fail-on", async () => {
    const model = { name: "sales", columns: { note: "text" }, parameters: [equal("note")] };
    const manifest = manifestOf(model);
    const exits = async (more: Partial<VerifyOptions>) => (await run(manifest, databaseUrl, more)).exit;
    expect(await exits({})).toBe(1);
    expect(await exits({ failOn: "error" })).toBe(0);
    expect(await exits({ failOn: "error", severities: { "unindexed-filter": "error" } })).toBe(1);
    expect(await exits({ severities: { "unindexed-filter": "off" } })).toBe(0);
    const wrong = manifestOf({ name: "gone", columns: {} });
    expect((await run(wrong, databaseUrl, { failOn: "error" })).exit).toBe(1);
    expect((await run(wrong, databaseUrl, { failOn: "none" })).exit).toBe(0);
  });

  it.each([
    ["= on the key", "sales", equal("id")],
    ["= with the case of the index", "sales", equal("code", { case: "lower" })],
    ["IN", "sales", equal("shop", { operator: "IN", type: "string_list" })],
    ["= through a view", "view_of_sales", equal("shop")],
    ["a relation of few rows", "small", equal("shop")],
    ["by the second column, where the view fixes the first", "one_tenant", equal("shop")],
    ["by a partial index that the view implies", "active", equal("code")],
  ])("is not a filter that an index serves: %s", async (_, name, parameter) => {
    const columns = { id: "integer", shop: "text", ...(parameter.name === "code" && { code: "text" }) };
    expect(await found({ name, columns, parameters: [parameter] })).toEqual([]);
  });
});

describe("the role of DATABASE_URL", () => {
  const role = `reader_${schema}`;
  const address = new URL(databaseUrl);
  address.username = role;
  address.password = "reader";

  beforeAll(async () => {
    await query(`CREATE ROLE "${role}" LOGIN PASSWORD 'reader'`);
  });
  afterAll(async () => {
    await query(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`);
  });

  it("may not read a relation without a grant, and may with one", async () => {
    const manifest = manifestOf({ name: "sales", columns: { id: "integer" } });
    const before = await run(manifest, address.href);
    expect(before).toMatchObject({
      exit: 1,
      differences: [
        { check: "unreadable-relation", message: `The role "${role}" may not read "${schema}.sales".` },
      ],
    });
    const [, grants = ""] =
      /Its owner runs "(GRANT .*;)"; in dbt/.exec(before.differences.map(({ hint }) => hint).join()) ?? [];
    await query(grants);
    expect(await run(manifest, address.href)).toEqual({ exit: 0, errors: undefined, differences: [] });
    await query(`REVOKE SELECT ON "${schema}".sales FROM "${role}"`);
    await query(`GRANT SELECT (id) ON "${schema}".sales TO "${role}"`);
    const some = manifestOf({ name: "sales", columns: { id: "integer", shop: "text" } });
    const [partly] = (await run(some, address.href)).differences;
    expect(partly?.message).toBe(`The role "${role}" may not read the columns "shop" of "${schema}.sales".`);
    await query(`REVOKE SELECT (id) ON "${schema}".sales FROM "${role}"`);
  });

  it("may not read the tables of a view: that is reported, and the run goes on", async () => {
    await query(`
      CREATE VIEW "${schema}".invoked WITH (security_invoker = true) AS SELECT id, shop FROM "${schema}".sales;
      CREATE VIEW "${schema}".plain AS SELECT id, note FROM "${schema}".sales;
      GRANT USAGE ON SCHEMA "${schema}" TO "${role}";
      GRANT SELECT ON "${schema}".invoked, "${schema}".plain TO "${role}";
    `);
    const manifest = manifestOf(
      { name: "invoked", columns: { id: "integer", shop: "text" }, parameters: [equal("shop")] },
      { name: "plain", columns: { id: "integer", note: "text" }, parameters: [equal("note")] },
    );
    const { exit, differences } = await run(manifest, address.href);
    expect({ exit, checks: differences.map(({ check }) => check) }).toEqual({
      exit: 1,
      checks: ["unreadable-relation", "unindexed-filter"],
    });
  });
});

describe("an error exits 2", () => {
  it("where the database cannot be reached, without showing its password", async () => {
    const { exit, errors = [] } = await run(
      manifestOf({ name: "sales", columns: {} }),
      "postgres://a:secret@127.0.0.1:1/x",
    );
    expect(exit).toBe(2);
    expect(errors.join()).toMatch(
      /^Reading the database failed: connect ECONNREFUSED .*\. Check DATABASE_URL/,
    );
    expect(errors.join()).not.toContain("secret");
  });

  it("where there is nothing to verify", async () => {
    const file = manifestOf();
    const hint = "tag models with production and api:<resource>, then run `routewright generate`.";
    expect(await run(file)).toMatchObject({
      exit: 2,
      errors: [`${file} has no endpoint to verify: ${hint}`],
    });
  });

  it("where there is no catalogue", async () => {
    expect(await run("nowhere")).toMatchObject({
      exit: 2,
      errors: [expect.stringContaining("No file or folder nowhere")],
    });
  });
});
