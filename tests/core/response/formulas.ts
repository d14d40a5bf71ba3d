import { byEngine, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";

/** Texts, and whether a spreadsheet takes them for a formula, some after it has removed a blank. */
export const CELLS: readonly (readonly [text: string, isFormula: boolean])[] = [
  ...["=1+1", "+1", "-x", "@a", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\u200b=1"].map(
    (text) => [text, true] as const,
  ),
  ...["＝1+1", "＋1", "－1", "＠a"].map((text) => [text, true] as const),
  ...["a=b", "", "é", "？1", "\u3000", "\u200a", "1\n=1", "😀"].map((text) => [text, false] as const),
];

/** The CSV of cells that look like formulas. */
export async function serveFormulas(variables: Readonly<Record<string, string>>): Promise<string> {
  // `ownTables` puts the schema's name in the place of each @.
  const cells = (quote: string): string =>
    CELLS.map(([text], i) => `(${String(-1 - i)}, ${quote}${text.replace("@", String.raw`\x40`)}')`).join(
      ", ",
    );
  const schema = await ownTables({
    postgres: `CREATE TABLE @.cells AS SELECT * FROM (VALUES ${cells("E'")}) AS v ("=n", v)`,
    clickhouse: [
      "CREATE TABLE @.cells (`=n` Int32, v String) ENGINE = Memory",
      `INSERT INTO @.cells VALUES ${cells("'")}`,
    ],
  });
  const tags = ["production", "shop", "api:cells"];
  const model = {
    name: "cells",
    schema,
    tags,
    columns: byEngine<Record<string, string>>({
      postgres: { "=n": "integer", v: "text" },
      clickhouse: { "=n": "Int32", v: "String" },
    }),
  };
  const url = await serveManifest(manifestOf([model]), variables);
  return (await sendRequest(url, "/v1/shop/cells.csv")).text;
}
