import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";

const schema = await ownSchema(`
  CREATE TABLE @.sales AS
  SELECT i AS id, 'shop, "' || i || '"' AS shop, i * 1.5 AS amount, date '2026-01-01' + i AS day
  FROM generate_series(1, 900) i;
  CREATE VIEW @.more AS SELECT i AS id, 'shop' AS shop, i * 1.5 AS amount FROM generate_series(1, 20000) i;
  CREATE VIEW @.single AS SELECT CASE i % 3 WHEN 0 THEN repeat('x', 300) WHEN 1 THEN '' END AS label FROM generate_series(1, 30000) i;
  CREATE VIEW @.numbers AS SELECT CASE i % 2 WHEN 0 THEN i END AS id FROM generate_series(1, 30000) i;
  CREATE VIEW @.totals AS SELECT shop, sum(amount) AS total FROM @.sales GROUP BY shop`);
const columns = { id: "integer", shop: "text", amount: "numeric", day: "date" };
const published = (resource: string) => ({ schema, tags: ["production", "shop", `api:${resource}`] });
const url = await serveManifest(
  manifestOf([
    ...["sales", "more"].map((name) => ({ ...published(name), name, columns })),
    { ...published("single"), name: "single", columns: { label: "text" } },
    { ...published("numbers"), name: "numbers", columns: { id: "integer" } },
    ...["38,2", "38,0", "5,2"].map((digits) => ({
      ...published(`totals.${digits.replace(",", ".")}`),
      name: `totals_${digits}`,
      alias: "totals",
      columns: { shop: "text", total: `numeric(${digits})` },
    })),
  ]),
);

const hasPython = needs("python3");

const run = promisify(execFile);

/** Runs a Python program; null where it lacks what `needed` loads. */
async function python(needed: string, program: string): Promise<string | null> {
  const running = run(programPath("python3"), ["-c", `${needed}\n${program}`]);
  const printed = await running.catch((error: unknown) => error as Error);
  if (!(printed instanceof Error)) return printed.stdout.trim();
  const missing = /^(?:ModuleNotFound|Import)Error: .*$/m.exec(printed.message)?.[0];
  if (missing === undefined || process.env["CI"] === "true") throw printed;
  console.warn(`SKIPPED: Python has not what \`${needed}\` loads: ${missing}.`);
  return null;
}

/** Rows, the sum of the ids and the first text, as each library prints them. */
const EXPECTED = '900 405450 shop, "1"';

describe.skipIf(!hasPython)("a library that has only the address", () => {
  it.each([
    [
      "pandas",
      "import pandas as pd",
      `t = pd.read_csv("${url}/v1/shop/sales.csv").sort_values("id")
print(len(t), t["id"].sum(), t["shop"].iloc[0])`,
    ],
    [
      "polars",
      "import polars as pl",
      `t = pl.read_csv("${url}/v1/shop/sales.csv").sort("id")
print(t.height, t["id"].sum(), t["shop"][0])`,
    ],
    [
      "polars, as NDJSON",
      "import polars as pl",
      `t = pl.read_ndjson("${url}/v1/shop/sales.ndjson").sort("id")
print(t.height, t["id"].sum(), t["shop"][0])`,
    ],
    [
      "duckdb",
      // Its own way would download the extension while the test runs.
      "import duckdb, duckdb_extensions; duckdb_extensions.import_extension('httpfs')",
      `print(*duckdb.sql("select count(*), sum(id), min_by(shop, id) from read_csv('${url}/v1/shop/sales.csv')").fetchone())`,
    ],
    [
      "polars, as Parquet",
      "import polars as pl",
      `t = pl.read_parquet("${url}/v1/shop/sales.parquet").sort("id")
print(t.height, t["id"].sum(), t["shop"][0])`,
    ],
    [
      "pandas, as Arrow",
      "import pandas as pd, pyarrow",
      `t = pd.read_feather("${url}/v1/shop/sales.arrow").sort_values("id")
print(len(t), t["id"].sum(), t["shop"].iloc[0])`,
    ],
  ])("reads the rows: %s", async (_, needed, program) => {
    const printed = await python(needed, program);
    if (printed !== null) expect(printed).toBe(EXPECTED);
  });

  it.each(["single", "numbers"])("keeps the rows without a value of one column: %s", async (name) => {
    const program = `import io, csv, urllib.request
body = urllib.request.urlopen("${url}/v1/shop/${name}.csv").read()
print(len(pd.read_csv(io.BytesIO(body))), len(list(csv.reader(io.StringIO(body.decode(), newline="")))) - 1, pa.read_csv(io.BytesIO(body)).num_rows)`;
    const printed = await python("import pandas as pd, pyarrow.csv as pa", program);
    if (printed !== null) expect(printed).toBe("30000 30000 30000");
  });

  it("adds up a sum() whose digits the model declares", async () => {
    const needed = "import duckdb, duckdb_extensions; duckdb_extensions.import_extension('httpfs')";
    const file = `${url}/v1/shop/totals.38.2.parquet`;
    const program = `print(*duckdb.sql("select count(*), sum(total) from read_parquet('${file}')").fetchone())`;
    const printed = await python(needed, program);
    if (printed !== null) expect(printed).toBe("900 608175.00");
  });

  it.each(["38.0", "5.2"])("gets no file whose values do not fit the declared digits: %s", async (digits) => {
    const response = await fetch(`${url}/v1/shop/totals.${digits}.parquet`);
    expect([response.status, await response.json()]).toEqual([
      500,
      {
        detail:
          "A value of 'total' has more digits than its documented type. Ask for another format than Parquet or Arrow.",
      },
    ]);
    expect((await fetch(`${url}/v1/shop/totals.${digits}`)).status).toBe(200);
  });

  it.each([
    ["polars", "import polars as pl", "read_csv", "csv"],
    ["polars", "import polars as pl", "read_ndjson", "ndjson"],
    ["polars", "import polars as pl", "read_parquet", "parquet"],
    ["polars", "import polars as pl", "read_ipc", "arrow"],
    ["polars", "import polars as pl", "read_ipc_stream", "arrows"],
    ["pandas", "import pandas as pl", "read_csv", "csv"],
    ["pandas", "import pandas as pl, pyarrow", "read_parquet", "parquet"],
  ])("reads more than 1,000 rows: %s, %s, %s", async (_, needed, read, suffix) => {
    const program = `t = pl.${read}("${url}/v1/shop/more.${suffix}")
print(len(t), t["id"].sum())`;
    const printed = await python(needed, program);
    if (printed !== null) expect(printed).toBe("20000 200010000");
  });
});
