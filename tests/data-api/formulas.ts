import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { serveManifest } from "../support/service.js";
import { sendRequest } from "./http-client.js";

/** The CSV of cells that look like formulas. */
export async function serveFormulas(variables: Readonly<Record<string, string>>): Promise<string> {
  const schema = await ownSchema(
    "CREATE TABLE @.cells AS SELECT * FROM (VALUES (-1, '=1+1'), (-2, 'a=b'), (-3, '-x')) AS v (n, v)",
  );
  const tags = ["production", "shop", "api:cells"];
  const model = { name: "cells", schema, tags, columns: { n: "integer", v: "text" } };
  const url = await serveManifest(manifestOf([model]), variables);
  return (await sendRequest(url, "/v1/shop/cells.csv")).text;
}
