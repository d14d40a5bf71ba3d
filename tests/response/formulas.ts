import { byEngine, ownTables } from "../support/engines.js";
import { manifestOf } from "../support/manifest.js";
import { serveManifest } from "../support/service.js";
import { sendRequest } from "../support/http-client.js";

/** The CSV of cells that look like formulas. */
export async function serveFormulas(variables: Readonly<Record<string, string>>): Promise<string> {
  const cells = "(-1, '=1+1'), (-2, 'a=b'), (-3, '-x')";
  const schema = await ownTables({
    postgres: `CREATE TABLE @.cells AS SELECT * FROM (VALUES ${cells}) AS v (n, v)`,
    clickhouse: [
      "CREATE TABLE @.cells (n Int32, v String) ENGINE = Memory",
      `INSERT INTO @.cells VALUES ${cells}`,
    ],
  });
  const tags = ["production", "shop", "api:cells"];
  const model = {
    name: "cells",
    schema,
    tags,
    columns: byEngine<Record<string, string>>({
      postgres: { n: "integer", v: "text" },
      clickhouse: { n: "Int32", v: "String" },
    }),
  };
  const url = await serveManifest(manifestOf([model]), variables);
  return (await sendRequest(url, "/v1/shop/cells.csv")).text;
}
