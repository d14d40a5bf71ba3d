import { describe, expect, it } from "vitest";
import { labelsOf } from "../../../runtime/pages/explorer/values.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { visit } from "./page.js";

/** Tables in the shapes of public analytics catalogues: long series, totals beside parts, windows, ids, addresses. */
const TABLES = {
  series: `SELECT date '2024-01-01' + g / 5 AS date, (ARRAY['All', 'bridge', 'card', 'swap', 'vault'])[g % 5 + 1] AS label,
    (CASE g % 5 WHEN 0 THEN 100 ELSE g % 5 * 10 END) * g AS value FROM generate_series(0, 1999) g`,
  interleaved: `SELECT timestamptz '2026-01-01Z' + g * interval '37 minutes' AS at, (ARRAY['north', 'south', 'west'])[g % 3 + 1] AS label,
    sin(g / 9.0) * 0.0004 + g % 3 * 0.001 AS share_pct FROM generate_series(0, 299) g`,
  ranges: `SELECT * FROM (VALUES ('1D', 5), ('7D', 31), ('30D', 120), ('All', 900)) AS t("window", value)`,
  levels: `SELECT date '2026-01-01' + d AS date, t AS token, c AS class, CASE WHEN t = 'All' AND c = 'All' THEN 60 ELSE 30 END AS value_usd
    FROM generate_series(0, 29) d, unnest(ARRAY['All', 'eure', 'usdc']) t, unnest(ARRAY['All', 'native', 'stable']) c`,
  wallets: `SELECT '0x' || md5(g::text) || '00000000' AS wallet_address, 1000.5 / g AS balance, g AS rank FROM generate_series(1, 40) g`,
  wei: `SELECT date '2026-01-01' + g AS date, (1e19 + g * 1e18)::numeric AS value FROM generate_series(0, 59) g`,
  quantiles: `SELECT date '2026-01-01' + g AS date, g + 1 AS q05, g + 5 AS q50, g + 20 AS q95 FROM generate_series(0, 89) g`,
  cohorts: `SELECT g AS cohort_age, 100 - g * 3 AS retained FROM generate_series(0, 20) g`,
  transfers: `SELECT timestamptz '2026-01-01Z' + g * g * interval '1 minute' AS at, md5(g::text) AS transaction_hash, g AS id,
    (g * 7919) % 1000 / 10.0 AS amount FROM generate_series(1, 200) g`,
  volume: `SELECT date '2026-01-01' + g AS date, g * 2 AS inflow_usd, g * 3 AS volume_usd FROM generate_series(0, 59) g`,
  one: `SELECT 42 AS value, 1.5 AS change_pct`,
} as const;
type Table = keyof typeof TABLES;

const names = Object.keys(TABLES) as Table[];
const tables = names.map((name) => `CREATE TABLE @.${name} AS ${TABLES[name]};`);
const schema = await ownSchema(tables.join("\n"));
const NUMBER = "numeric";
const COLUMNS: Readonly<Record<Table, Readonly<Record<string, string>>>> = {
  series: { date: "date", label: "text", value: "bigint" },
  interleaved: { at: "timestamptz", label: "text", share_pct: NUMBER },
  ranges: { window: "text", value: "bigint" },
  levels: { date: "date", token: "text", class: "text", value_usd: NUMBER },
  wallets: { wallet_address: "text", balance: NUMBER, rank: "int" },
  wei: { date: "date", value: NUMBER },
  quantiles: { date: "date", q05: "int", q50: "int", q95: "int" },
  cohorts: { cohort_age: "int", retained: "int" },
  transfers: { at: "timestamptz", transaction_hash: "text", id: "bigint", amount: NUMBER },
  volume: { date: "date", inflow_usd: "int", volume_usd: "int" },
  one: { value: "int", change_pct: NUMBER },
};
const url = await serveManifest(
  manifestOf(
    names.map((name) => ({
      name,
      schema,
      tags: ["production", "shapes", `api:${name}`],
      columns: COLUMNS[name],
    })),
  ),
);

describe.skipIf(!needs("chromium"))("a chart", () => {
  const browser = suiteBrowser();

  it.each([
    ["series", /^line chart of value by date, split by label: 400 points/, "Rows of All are left out"],
    ["series&series=-", /^line chart of sum of value by date: 400 points/, "Rows of All are left out"],
    ["interleaved&series=label", /^line chart of share_pct by at, split by label: 300 points/, ""],
    ["ranges", /^bar chart of value by window: 3 points from 1D to 30D/, "Rows of All are left out"],
    ["levels", /^line chart of sum of value_usd by date, split by token: 30 points/, "their sum is drawn"],
    ["wallets", /^bar chart of balance by wallet_address: 40 points/, ""],
    ["wei", /^line chart of value by date: 60 points/, ""],
    ["quantiles&y=q50", /^line chart of q50 by date: 90 points/, ""],
    // Of the column that the endpoint is named for, although another stands first.
    ["volume", /^line chart of volume_usd by date: 60 points/, ""],
    ["cohorts", /^bar chart of retained by cohort_age: 21 points from 0 to 20/, ""],
    ["transfers", /^line chart of amount by at: 200 points/, ""],
  ] as const)("of %s shows what the rows say", async (query, name, note) => {
    const { page, problems } = await visit(
      browser.context,
      url,
      `/explore?view=chart&endpoint=/v1/shapes/${query}`,
    );
    await page.getByRole("img", { name }).waitFor();
    const notes = (await page.locator(".answer .note").allInnerTexts()).join(" ");
    expect(notes).toContain(note);
    if (note === "") expect(notes).not.toMatch(/left out|drawn/);
    expect(problems).toEqual([]);
    await page.close();
  });

  it("is not drawn of a single row of numbers", async () => {
    const { page } = await visit(browser.context, url, "/explore?view=chart&endpoint=/v1/shapes/one");
    await page.getByText("A chart needs rows with a number").waitFor();
  });
});

it.each([
  ["0 250000 500000", "0 250K 500K"],
  ["100000 100001 100002", "100K 100.001K 100.002K"],
  ["0 0.0002 0.0004", "0 0.0002 0.0004"],
  ["0 4e19 8e19", "0 4E19 8E19"],
  ["-5e12 0 5e12", "-5T 0 5T"],
  ["7 7", "7 7"],
])("the labels of the y axis of %s differ and are short: %s", (splits, labels) => {
  expect(labelsOf(splits.split(" ").map(Number))).toEqual(labels.split(" "));
});
