import { expect, it } from "vitest";
import { byEngine, engineUrl, ownTables } from "../support/engines.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

const LARGEST = "9223372036854775807";
const DIGITS = "9".repeat(38);

/** Ten rows, each with the largest number of its columns' types. */
const schema = await ownTables({
  postgres: `CREATE TABLE @.sales AS SELECT ${LARGEST}::bigint AS units, ${DIGITS}::numeric(38,0) AS amount FROM generate_series(1, 10)`,
  clickhouse: [
    `CREATE TABLE @.sales ENGINE = MergeTree ORDER BY tuple() AS SELECT toInt64('${LARGEST}') AS units, toDecimal128('${DIGITS}', 0) AS amount, toInt128('${DIGITS}') AS wide FROM numbers(10)`,
  ],
});
const columns = byEngine<Record<string, string>>({
  postgres: { units: "bigint", amount: "numeric(38,0)" },
  clickhouse: { units: "Int64", amount: "Decimal(38, 0)", wide: "Int128" },
});
const measures = Object.fromEntries(
  Object.keys(columns).flatMap((column) =>
    ["sum", "average", "max"].map((agg) => [`${column}_${agg}`, { agg, column }]),
  ),
);
const url = await serveManifest(
  manifestOf([
    {
      name: "sales",
      schema,
      tags: ["production", "shop", "api:sales", "tier1"],
      columns,
      routewright: { aggregate: { group_by: [], measures } },
    },
  ]),
  { DATABASE_URL: engineUrl() },
);

it("sums and averages of the largest numbers do not wrap", async () => {
  const { text } = await sendRequest(url, `/v1/shop/sales?measures=${Object.keys(measures).join(",")}`, {
    key: KEYS.tier1,
  });
  for (const [column, one] of Object.entries({ units: LARGEST, amount: DIGITS, wide: DIGITS })) {
    if (!(column in columns)) continue;
    expect(text).toContain(`"${column}_sum":${String(BigInt(one) * 10n)}`);
    expect(text).toContain(`"${column}_max":${one}`);
    const average = Number(new RegExp(`"${column}_average":([^,}]*)`).exec(text)?.[1]);
    expect(Math.abs(average / Number(one) - 1)).toBeLessThan(1e-9);
  }
});
