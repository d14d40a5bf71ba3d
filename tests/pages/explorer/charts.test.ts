import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { labelsOf, shortNumber } from "../../../runtime/pages/explorer/values.js";
import { atEnd } from "../../support/at-end.js";
import { ownSchema, query } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { contrast, nearest, themes } from "./colours.js";
import { saidPoints } from "./drawn-chart.js";
import { expectAccessible, visit } from "./page.js";

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
  many: `SELECT date '2026-01-01' + d AS date, 'c' || c AS label, 1000 - c * 50 AS n FROM generate_series(0, 19) d, generate_series(1, 12) c`,
  units: `SELECT date '2026-01-01' + d AS date, u AS unit, d * 3.5 AS value FROM generate_series(0, 19) d, unnest(ARRAY['native', 'usd']) u`,
  paged: `SELECT date '2024-01-01' + d AS day, d % 7 AS n FROM generate_series(0, 399) d`,
  longer: `SELECT date '2024-01-01' + d AS day, d % 7 AS n FROM generate_series(0, 399) d`,
  bridges: `SELECT date '2026-01-01' + g / 4 AS day, 'b' || g % 4 AS bridge, (g % 4 + 1) * (g % 191) AS volume_usd FROM generate_series(0, 1909) g`,
  large: `SELECT date '2026-01-01' + g / 30 AS day, 'b' || g % 3 AS bridge, g % 10 AS volume_usd FROM generate_series(0, 20999) g`,
  hours: `SELECT timestamptz '2024-01-01Z' + g * interval '1 hour' AS day, g % 7 AS n FROM generate_series(0, 20999) g`,
  totalled: `SELECT date '2026-01-01' + g / 100 AS day, (ARRAY['All', 'card', 'swap', 'vault'])[g % 4 + 1] AS label,
    g % 11 AS amount, CASE WHEN g % 3 = 0 THEN NULL ELSE g % 50 END AS price FROM generate_series(0, 23999) g`,
  clients: `SELECT date '2026-01-01' AS day, 'client ' || g AS client, (g * 7919) % 100003 AS amount FROM generate_series(1, 21000) g`,
  visits: `SELECT date '2026-01-01' + g % 9 AS day, 'c' || g % 3 AS country, g % 40 AS visitor FROM generate_series(0, 399) g`,
  secret: `SELECT 42 AS value`,
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
  many: { date: "date", label: "text", n: "int" },
  units: { date: "date", unit: "text", value: NUMBER },
  paged: { day: "date", n: "int" },
  longer: { day: "date", n: "int" },
  bridges: { day: "date", bridge: "text", volume_usd: "int" },
  large: { day: "date", bridge: "text", volume_usd: "int" },
  hours: { day: "timestamptz", n: "int" },
  totalled: { day: "date", label: "text", amount: "int", price: "int" },
  clients: { day: "date", client: "text", amount: "int" },
  visits: { day: "date", country: "text", visitor: "int" },
  secret: { value: "int" },
};
const PAGES: Partial<Record<Table, number>> = {
  ...{ paged: 500, longer: 300, bridges: 500, large: 1000, hours: 7000, totalled: 1000, clients: 7000 },
};
const apiOf = (name: Table) =>
  name in PAGES && {
    api: {
      allow_unfiltered: true,
      pagination: { enabled: true, default_limit: 50, max_limit: PAGES[name] },
      sort: [{ column: "day", direction: "ASC" }],
    },
  };
const url = await serveManifest(
  manifestOf(
    names.map((name) => ({
      name,
      schema,
      tags: ["production", "shapes", `api:${name}`, ...(name === "secret" ? ["tier2"] : [])],
      columns: COLUMNS[name],
      ...apiOf(name),
      ...(name === "visits" && {
        routewright: {
          aggregate: {
            group_by: ["day", "country"],
            measures: { visitors: { agg: "count_distinct", column: "visitor" } },
          },
        },
      }),
    })),
  ),
);

describe.skipIf(!needs("chromium"))("a chart", () => {
  const browser = suiteBrowser();

  const open = (query: string, more: Parameters<typeof visit>[3] = {}) =>
    visit(browser.context, url, `/explore?view=chart&endpoint=/v1/shapes/${query}`, more);
  const chart = (page: Page, name: RegExp) => page.getByRole("img", { name });

  it.each([
    ["series", /^line chart of value by date, split by label: 400 points/, "Rows of label All are left out"],
    ["series&series=-", /^line chart of sum of value by date: 400 points/, "Rows of label All are left out"],
    ["interleaved&series=label", /^line chart of share_pct by at, split by label: 300 points/, ""],
    ["ranges", /^bar chart of value by window: 3 points from 1D to 30D/, "Rows of window All are left out"],
    ["levels", /^line chart of sum of value_usd by date, split by token: 30 points/, "their sum is drawn"],
    // The largest of a category, and the sum of the others.
    ["wallets", /^bar chart of balance by wallet_address: 31 points/, "“other” is the sum of 10 values"],
    ["wei", /^line chart of value by date: 60 points/, ""],
    ["quantiles", /^line chart of q05, q50, q95 by date: 90 points/, ""],
    ["quantiles&y=q50", /^line chart of q50 by date: 90 points/, ""],
    // Of the column that the endpoint is named for, although another stands first.
    ["volume", /^line chart of volume_usd by date: 60 points/, ""],
    ["cohorts", /^bar chart of retained by cohort_age: 21 points from 0 to 20/, ""],
    // Events at any time are put together by periods.
    ["transfers", /^line chart of sum of amount by day of at: 28 points/, ""],
    [
      "many",
      /^line chart of n by date, split by label: 20 points/,
      "“other” is the sum of 4 values of label",
    ],
    // All rows, not one page of 50.
    ["paged", /^line chart of n by day: 400 points from 2024-01-01/, ""],
    [
      "paged&p.limit=7",
      /^line chart of n by day: 7 points/,
      "Only the first 7 rows are drawn; there are more.",
    ],
    ["longer", /^line chart of n by day: 400 points/, ""],
    // Sums are of all rows, also where there are more than a browser reads.
    [
      "large&x=day&series=-",
      /^line chart of sum of volume_usd by day: 700 points/,
      "Several rows share a point: their sum is drawn.",
    ],
    [
      "hours",
      /^line chart of n by day: 20,000 points/,
      "Only the first 20,000 rows are drawn; there are more.",
    ],
    [
      "clients&x=client",
      /^bar chart of amount by client: 30 points/,
      "Only the 30 largest of more are drawn.",
    ],
  ] as const)("of %s shows what the rows say", async (address, name, note) => {
    const { page, problems } = await open(address);
    await chart(page, name).waitFor();
    const notes = async () => (await page.locator(".answer .plot text.note").allTextContents()).join(" ");
    await expect.poll(notes).toContain(note);
    if (note === "") expect(await notes()).not.toMatch(/left out|drawn|other/);
    expect(problems).toEqual([]);
    await page.close();
  });

  it.each([
    [
      "bridges&x=bridge",
      "SELECT bridge || ' volume_usd ' || sum(volume_usd) AS said FROM @.bridges GROUP BY bridge ORDER BY sum(volume_usd) DESC",
    ],
    [
      "large&x=bridge",
      "SELECT bridge || ' volume_usd ' || sum(volume_usd) AS said FROM @.large GROUP BY bridge ORDER BY sum(volume_usd) DESC, bridge",
    ],
    [
      "large&x=day&series=-",
      "SELECT day || ' volume_usd ' || sum(volume_usd) AS said FROM @.large GROUP BY day ORDER BY day",
    ],
    // Totals are left out, which are among the rows, and nulls are no values.
    [
      "totalled&x=label&y=amount",
      "SELECT label || ' amount ' || sum(amount) AS said FROM @.totalled WHERE label <> 'All' GROUP BY label ORDER BY sum(amount) DESC",
    ],
    [
      "totalled&x=day&y=price&series=-",
      "SELECT day || ' price ' || round(avg(price), 2)::float8 AS said FROM @.totalled WHERE label <> 'All' GROUP BY day ORDER BY day",
    ],
    [
      "clients&x=client",
      "SELECT client || ' amount ' || amount AS said FROM @.clients ORDER BY amount DESC LIMIT 30",
    ],
    // Different visitors of two days are not added up: the endpoint counts them for the countries.
    [
      "visits&x=country&p.group_by=day,country&p.measures=visitors&series=-",
      "SELECT country || ' visitors ' || count(DISTINCT visitor) AS said FROM @.visits GROUP BY country ORDER BY count(DISTINCT visitor) DESC, country",
    ],
  ])("of %s says what SQL says of all rows", async (address, sql) => {
    const { page, problems } = await open(address);
    await page.locator(".plot").waitFor();
    const expected = await query(sql.replaceAll("@", `"${schema}"`));
    const said = async () => (await saidPoints(page)).map((text) => text.replaceAll(/[$,]/g, ""));
    await expect.poll(said).toEqual(expected.map((row) => String(row["said"])));
    expect(problems).toEqual([]);
    await page.close();
  });

  it("of a part says so where it is saved and embedded", async () => {
    const { page } = await open("hours");
    await chart(page, /20,000 points/).waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save SVG" }).click();
    const part = "Only the first 20,000 rows are drawn; there are more.";
    expect(readFileSync(await (await download).path(), "utf8")).toContain(part);
    await page.goto(`${url}/explore/embed?endpoint=/v1/shapes/hours`);
    const notes = async () => (await page.locator("text.note").allTextContents()).join(" ");
    await expect.poll(notes).toContain(part);
    await page.close();
  });

  it("of one row is its number, with what it changed by", async () => {
    const { page, problems } = await open("one");
    await chart(page, /^value 42, changed by \+1\.5%$/).waitFor();
    await expect
      .poll(() => page.locator(".plot svg text").allTextContents())
      .toEqual(["value", "42", "▲ 1.5%"]);
    await expectAccessible(page);
    expect(problems).toEqual([]);
  });

  it("says the values of a point to the pointer and to the keyboard", async () => {
    const { page, problems } = await open("volume&y=*");
    const slider = page.getByRole("slider", { name: "Values of a point" });
    const value = () => slider.getAttribute("aria-valuetext");
    // The latest, until a point is chosen.
    await expect.poll(() => value()).toBe("2026-03-01, inflow_usd $118, volume_usd $177");
    await slider.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => value()).toBe("2026-01-02, inflow_usd $2, volume_usd $3");
    await expect
      .poll(() => page.locator(".readout").innerText())
      .toMatch(/2026-01-02\s+inflow_usd \$2\s+volume_usd \$3/);
    const box = await slider.boundingBox();
    if (box === null) throw new Error("The chart is not shown.");
    await page.mouse.move(box.x + box.width - 2, box.y + 50);
    await expect.poll(() => value()).toMatch(/^2026-03-01/);
    await page.locator(".controls select").nth(1).selectOption("inflow_usd");
    await chart(page, /^line chart of inflow_usd by date: 60 points/).waitFor();
    await expect.poll(() => new URL(page.url()).search).toContain("view=chart&y=inflow_usd");
    expect(problems).toEqual([]);
  });

  it("draws one value of a column whose values must not be added up, and another when asked", async () => {
    const { page } = await open("units");
    await chart(page, /^line chart of value by date, only unit usd: 20 points/).waitFor();
    await page.getByRole("combobox", { name: "Only unit" }).selectOption("native");
    await chart(page, /only unit native: 20 points/).waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("only")).toBe("native");
  });

  it("is saved as SVG and as PNG", async () => {
    const { page, problems } = await open("levels", { colorScheme: "dark" });
    const saved = async (name: string): Promise<Buffer> => {
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name }).click();
      expect((await download).suggestedFilename()).toBe(
        `shapes-levels-chart.${name.slice(-3).toLowerCase()}`,
      );
      return readFileSync(await (await download).path());
    };
    const svg = (await saved("Save SVG")).toString();
    for (const part of ["/v1/shapes/levels", "eure", "usdc", "#171e28", new URL(url).host])
      expect(svg).toContain(part);
    // It is a picture of its own: a browser draws it, in many colours.
    const png = await saved("Save PNG");
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1984, expect.any(Number)]);
    const { page: alone } = await visit(browser.context, url, "/health");
    await alone.setContent(svg);
    await expect.poll(() => alone.locator("svg svg path").count()).toBe(2);
    expect(problems).toEqual([]);
  });

  it("stands in a page of another origin, without a key, and there alone", async () => {
    const { page } = await open("series&only=");
    await page.getByRole("button", { name: "Embed this chart" }).click();
    const frame = await page.getByRole("region", { name: "Embedded chart" }).innerText();
    expect(frame).toContain(`<iframe src="${url}/explore/embed?endpoint=%2Fv1%2Fshapes%2Fseries"`);
    expect(frame).toContain('title="Series" width="100%"');
    const other = createServer((request, response) => {
      const path = request.url === "/explore" ? "/explore" : "/docs";
      const src = request.url === "/" ? frame : `<iframe src="${url}${path}"></iframe>`;
      response.setHeader("Content-Type", "text/html").end(`<!doctype html><title>t</title>${src}`);
    });
    await once(other.listen(0, "127.0.0.1"), "listening");
    atEnd(() => void other.close());
    const at = `http://localhost:${String((other.address() as AddressInfo).port)}`;
    const host = await browser.context.newPage();
    const sent: string[] = [];
    host.on("request", (request) => sent.push(...Object.keys(request.headers())));
    await host.goto(at);
    await host
      .frameLocator("iframe")
      .getByRole("img", { name: /^line chart of value by date, split by label/ })
      .waitFor();
    expect(sent).not.toContain("x-api-key");
    // No other document may be framed.
    for (const path of ["/explore", "/docs"]) {
      const refused = host.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
      await host.goto(at + path);
      await refused;
    }
    await host.close();
  });

  it("alone has no accessibility violation, and says what is not public", async () => {
    const { page, problems } = await visit(
      browser.context,
      url,
      "/explore/embed?endpoint=/v1/shapes/levels",
      {
        colorScheme: "dark",
        width: 390,
        key: KEYS.tier3,
      },
    );
    await chart(page, /^line chart/).waitFor();
    await expectAccessible(page);
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(problems).toEqual([]);
    await page.goto(`${url}/explore/embed?endpoint=/v1/shapes/secret`);
    await page.getByText("There is no public endpoint /v1/shapes/secret.").waitFor();
  });

  it("has colours that differ, also to the colour-blind, and from the ground by 3 to 1", () => {
    for (const [ground, colours] of themes()) {
      for (const colour of colours) expect(contrast(colour, ground)).toBeGreaterThan(3);
      expect(nearest(colours)).toBeGreaterThan(0.09);
    }
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

it.each([
  [5_793_503.44, "5.8M"],
  [175_400_000_000_000, "175.4T"],
  [175_400_000_000_000_000, "1.8E17"],
  [-3e20, "-3E20"],
  [0, "0"],
])("a figure of %d reads %s: beyond trillions there is no common unit", (value, text) => {
  expect(shortNumber(value, { maximumFractionDigits: 1 })).toBe(text);
});
