/** The table of the explorer: order, total, filters by click, the menu of a column, downloads. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { expectAccessible, visit } from "./page.js";

const HOSTILE = `<img src=x onerror="alert(1)">`;
const schema = await ownSchema(`
  CREATE TABLE @.sales AS SELECT i AS id, date '2026-01-01' + i / 100 AS day, (ARRAY['north', 'south', 'a,b', '${HOSTILE}'])[1 + i % 4] AS region,
    CASE WHEN i % 10 = 0 THEN NULL ELSE (i * 7919) % 1000 + 0.5 END::numeric(10, 2) AS amount, 9007199254740993 + i AS big
    FROM generate_series(1, 1910) AS i;
  CREATE TABLE @.totals AS SELECT * FROM (VALUES ('a', 1, 9007199254740993::numeric, 'x' || repeat('😀', 30)),
    ('b', 3, 9007199254740992, 'مرحبا 50%'), ('c', 2, -1, '')) AS t(country, rank, total, word);
  CREATE TABLE @.small AS SELECT * FROM (VALUES (10, 'b', 2.5), (9, 'a', NULL), (100, 'c', -1)) AS t(n, label, score)`);

const columns = { id: "int", day: "date", region: "text", amount: "numeric(10,2)", big: "bigint" };
const parameter = (name: string, column: string, operator: string, type: string) => ({
  name,
  column,
  operator,
  type,
});
const url = await serveManifest(
  manifestOf([
    {
      name: "sales",
      schema,
      columns,
      description: "Each sale.",
      api: {
        allow_unfiltered: true,
        parameters: [
          parameter("from", "day", ">=", "date"),
          parameter("to", "day", "<=", "date"),
          parameter("regions", "region", "IN", "string_list"),
        ],
        pagination: { enabled: true, default_limit: 50, max_limit: 1000 },
        sort: [{ column: "id", direction: "ASC" }],
        sortable_fields: ["amount", "id"],
      },
      routewright: { filters: ["region", "amount"] },
    },
    {
      name: "small",
      schema,
      columns: { n: "int", label: "text", score: "numeric" },
      api: { allow_unfiltered: true },
    },
    ...(["number", "string"] as const).map((numbers) => ({
      ...{ name: `totals_as_${numbers}`, schema, alias: "totals" },
      columns: { country: "text", rank: "int", total: "numeric", word: "text" },
      api: { allow_unfiltered: true },
      routewright: { ...(numbers === "string" && { numbers }) },
    })),
  ]),
  { RATE_LIMITS: "100000" },
);
const SALES = "/explore?endpoint=/v1/shop/sales";

describe.skipIf(!needs("chromium"))("the table of the explorer", () => {
  const browser = suiteBrowser();
  const open = (path: string) => visit(browser.context, url, path);
  const rows = (page: Page) => page.locator(".rowsview tbody tr");
  const cells = (page: Page, column: number) =>
    page.locator(`.rowsview tbody tr td:nth-child(${String(column)})`);
  const header = (page: Page, name: string) =>
    page.locator(".rowsview thead").getByRole("button", { name, exact: true });
  const fields = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams);
  const place = (page: Page) => page.locator(".place");

  it("is as wide as the panel, with its header in sight", async () => {
    const { page, problems } = await open(SALES);
    await rows(page).first().waitFor();
    const table = await page.locator(".rowsview").boundingBox();
    const panel = await page.locator(".panel").boundingBox();
    expect((panel?.width ?? 0) - (table?.width ?? 0)).toBeLessThan(80);
    const tops = await page.evaluate<number[]>(`(() => {
      const view = document.querySelector(".rowsview");
      view.scrollTop = 600;
      return [view.getBoundingClientRect().top, view.querySelector("th").getBoundingClientRect().top];
    })()`);
    expect(Math.abs((tops[0] ?? 0) - (tops[1] ?? 99))).toBeLessThan(3);
    expect(problems).toEqual([]);
  });

  it("says where the page stands in the whole result, also under filters and on other pages", async () => {
    const { page, problems } = await open(SALES);
    await expect.poll(() => place(page).innerText()).toBe("1–50 of 1,910");
    await page.getByRole("button", { name: "Next page" }).click();
    await expect.poll(() => place(page).innerText()).toBe("51–100 of 1,910");
    await page.goto(`${url}${SALES}&p.regions=north`);
    await expect.poll(() => place(page).innerText()).toBe("1–50 of 477");
    await page.goto(`${url}/explore?endpoint=/v1/shop/small`);
    await expect.poll(() => place(page).innerText()).toBe("3 rows");
    expect(problems).toEqual([]);
  });

  it("sorts the whole result by the header of a sortable column, both ways and back", async () => {
    const { page, problems } = await open(SALES);
    await rows(page).first().waitFor();
    await expect.poll(() => header(page, "region").count()).toBe(0);
    await header(page, "amount").click();
    // The smallest amount is not on the first page.
    await expect.poll(() => cells(page, 4).first().innerText()).toBe("1.50");
    await expect.poll(() => fields(page)).toMatchObject({ "p.sort_by": "amount", "p.sort_direction": "ASC" });
    await expect.poll(() => page.locator("th[aria-sort=ascending]").innerText()).toBe("amount");
    await header(page, "amount").click();
    await expect.poll(() => cells(page, 4).first().innerText()).toBe("null");
    await expect.poll(() => page.locator("th[aria-sort=descending]").innerText()).toBe("amount");
    await page.getByRole("button", { name: "Remove: sorted by amount, descending" }).waitFor();
    await header(page, "amount").click();
    await expect.poll(() => cells(page, 1).first().innerText()).toBe("1");
    expect(fields(page)).not.toHaveProperty("p.sort_by");
    expect(problems).toEqual([]);
  });

  it("sorts a result that is all there without a request, numbers by value and nulls last", async () => {
    const { page, problems } = await open("/explore?endpoint=/v1/shop/small");
    await rows(page).first().waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await header(page, "n").click();
    await expect.poll(() => cells(page, 1).allInnerTexts()).toEqual(["9", "10", "100"]);
    await header(page, "n").click();
    await expect.poll(() => cells(page, 1).allInnerTexts()).toEqual(["100", "10", "9"]);
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("n");
    for (const expected of [
      ["-1", "2.5", "null"],
      ["2.5", "-1", "null"],
    ]) {
      await header(page, "score").click();
      await expect.poll(() => cells(page, 3).allInnerTexts()).toEqual(expected);
    }
    expect(asked).toEqual([]);
    expect(problems).toEqual([]);
  });

  it.each(["number", "string"])(
    "sorts numbers of many digits by their value, as a %s in JSON",
    async (as) => {
      const { page, problems } = await open(`/explore?endpoint=/v1/shop/totals_as_${as}`);
      await rows(page).first().waitFor();
      await header(page, "total").click();
      expect((await cells(page, 3).allInnerTexts()).map((text) => text.replaceAll(",", ""))).toEqual([
        ...["-1", "9007199254740992", "9007199254740993"],
      ]);
      // No character is cut in two.
      await expect.poll(() => cells(page, 4).last().innerText()).toBe(`x${"😀".repeat(9)}…${"😀".repeat(8)}`);
      // Arabic begins at the right: what it ends with stands at its left.
      const places = await page.evaluate<readonly number[]>(`(() => {
      const text = [...document.querySelectorAll(".rowsview td")].find((each) => each.textContent.endsWith("%"));
      const node = document.createTreeWalker(text, NodeFilter.SHOW_TEXT).nextNode();
      return [0, node.length - 1].map((at) => {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        return range.getBoundingClientRect().left;
      });
    })()`);
      expect(places[1]).toBeLessThan(places[0]!);
      expect(problems).toEqual([]);
    },
  );

  it("filters by a click on a value, and a chip takes the filter back", async () => {
    const { page, problems } = await open(`${SALES}&p.offset=50`);
    const value = (text: string) => rows(page).getByRole("button", { name: text, exact: true }).first();
    await value("north").click();
    await expect.poll(() => place(page).innerText()).toBe("1–50 of 477");
    await expect.poll(async () => new Set(await cells(page, 3).allInnerTexts())).toEqual(new Set(["north"]));
    // The first page of the filtered rows, and the form shows the filter.
    await expect.poll(() => fields(page)).toEqual({ endpoint: "/v1/shop/sales", "p.region[eq]": "north" });
    await expect.poll(() => page.getByLabel("region", { exact: true }).inputValue()).toBe("north");
    await value("2026-01-01").click();
    await expect.poll(() => place(page).innerText()).toBe("24 rows");
    await expect.poll(() => fields(page)).toMatchObject({ "p.from": "2026-01-01", "p.to": "2026-01-01" });
    await value("null").click();
    await expect.poll(() => cells(page, 4).first().innerText()).toBe("null");
    await expect.poll(() => fields(page)).toMatchObject({ "p.amount[null]": "true" });
    const chips = page.getByRole("group", { name: "Active filters" });
    await expect
      .poll(() => chips.getByRole("button").allInnerTexts())
      .toEqual([
        ...["region is north×", "day at least 2026-01-01×", "day at most 2026-01-01×", "amount is null×"].map(
          (text) => text.replace("×", "\n×"),
        ),
        "Remove all",
      ]);
    await chips.getByRole("button", { name: "Remove: region is north" }).click();
    await expect.poll(() => fields(page)).not.toHaveProperty("p.region[eq]");
    await expectAccessible(page);
    await chips.getByRole("button", { name: "Remove all" }).click();
    await expect.poll(() => place(page).innerText()).toBe("1–50 of 1,910");
    expect(problems).toEqual([]);
  });

  it.each(["a,b", HOSTILE])("finds exactly the rows with the value %s", async (text) => {
    const { page, problems } = await open(SALES);
    await rows(page).getByText(text, { exact: true }).first().click();
    await expect.poll(() => place(page).innerText()).toMatch(/^1–50 of 47\d$/);
    await expect.poll(async () => new Set(await cells(page, 3).allInnerTexts())).toEqual(new Set([text]));
    expect(await page.locator("main img").count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it("has a menu for each column: type, order, values with their rows, and those that begin with a text", async () => {
    const { page, problems } = await open(`${SALES}&p.from=2026-01-01&p.to=2026-01-01`);
    await page.getByRole("button", { name: "Column region" }).click();
    const menu = page.getByRole("dialog", { name: "Column region" });
    await menu.getByText("4 values").waitFor();
    await expect.poll(() => menu.innerText()).toContain("text, may be null");
    const values = menu.getByRole("group", { name: "Values of region" }).getByRole("button");
    // Of the rows that the other filters select.
    expect((await values.allInnerTexts()).map((text) => text.replace("\n", " ")).sort()).toEqual(
      ["north 24", "south 25", "a,b 25", `${HOSTILE} 25`].sort(),
    );
    await expectAccessible(page);
    await menu.getByRole("textbox").fill("no");
    await expect.poll(() => values.allInnerTexts()).toEqual(["north\n24"]);
    await page.keyboard.press("Escape");
    await expect.poll(() => menu.count()).toBe(0);
    await expect.poll(() => page.evaluate("document.activeElement.ariaLabel")).toBe("Column region");
    await page.keyboard.press("Enter");
    await values.filter({ hasText: "north" }).click();
    await expect.poll(() => place(page).innerText()).toBe("24 rows");
    await page.getByRole("button", { name: "Column amount" }).click();
    await page.getByRole("button", { name: "Sort descending" }).click();
    await page.locator("th[aria-sort=descending]").waitFor();
    await expect.poll(() => fields(page)).toMatchObject({ "p.region[eq]": "north", "p.sort_by": "amount" });
    expect(problems).toEqual([]);
  });

  it("is read by keyboard: rows down, values across, and a value copied", async () => {
    const { page, problems } = await open("/explore?endpoint=/v1/shop/sales&p.limit=3");
    await browser.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await rows(page).first().locator(".opener").focus();
    for (const key of ["ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("2026-01-01");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Copy big" }).click();
    await page.getByRole("button", { name: "Copy big" }).getByText("Copied").waitFor();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe("9007199254740995");
    expect(problems).toEqual([]);
  });

  const download = async (page: Page, name: string) => {
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download all rows" }).click();
    await page.getByRole("button", { name: `Download ${name}` }).click();
    return file;
  };

  it("downloads the whole result as JSON with every digit, and as Parquet where it is one page", async () => {
    const { page, problems } = await open(`${SALES}&p.region[ne]=north`);
    await expect.poll(() => place(page).innerText()).toBe("1–50 of 1,433");
    const file = await download(page, "JSON");
    expect(file.suggestedFilename()).toBe("shop-sales.json");
    const text = readFileSync(await file.path(), "utf8");
    expect(JSON.parse(text)).toHaveLength(1433);
    expect(text).toContain('"big":9007199254740995');
    await page.getByRole("button", { name: "Download all rows" }).click();
    await page.getByRole("button", { name: "Download Parquet" }).click();
    await page.getByText("A Parquet file has one page, at most 1,000 rows.").waitFor();
    await page.goto(`${url}${SALES}&p.regions=north`);
    await rows(page).first().waitFor();
    const parquet = await download(page, "Parquet");
    expect(parquet.suggestedFilename()).toBe("shop-sales.parquet");
    expect(readFileSync(await parquet.path(), "latin1")).toMatch(/^PAR1[^]*PAR1$/);
    expect(problems).toEqual([]);
  });

  it("shows how far a download is, and ends it on request", async () => {
    const { page, problems } = await open(SALES);
    await expect.poll(() => place(page).innerText()).toBe("1–50 of 1,910");
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    // The second page is kept back.
    await page.route("**/v1/shop/sales.csv*offset=1000*", async (route) => {
      await held;
      await route.continue().catch(() => undefined);
    });
    await page.getByRole("button", { name: "Download all rows" }).click();
    await page.getByRole("button", { name: "Download CSV" }).click();
    await page.getByText("1,000 of 1,910 rows").waitFor();
    const bar = page.getByRole("progressbar", { name: "Download" });
    expect([
      await bar.getAttribute("max"),
      await page.evaluate("document.querySelector('progress').value"),
    ]).toEqual(["1910", 1000]);
    await expectAccessible(page);
    // Another view of the same rows leaves it.
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    await expect.poll(() => bar.getAttribute("max")).toBe("1910");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Download all rows" }).waitFor();
    release();
    await page.unroute("**/v1/shop/sales.csv*offset=1000*");
    const lines = readFileSync(await (await download(page, "CSV")).path(), "utf8").split("\r\n");
    expect(lines).toHaveLength(1912);
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it("keeps the rows where a download or a chart of earlier ones fails later", async () => {
    const { page } = await open(SALES);
    await expect.poll(() => place(page).innerText()).toBe("1–50 of 1,910");
    const fails: (() => void)[] = [];
    await page.route("**/v1/shop/sales.*limit=1000*", async (route) => {
      await new Promise<void>((resolve) => fails.push(resolve));
      await route.abort().catch(() => undefined);
    });
    await page.getByRole("button", { name: "Download all rows" }).click();
    await page.getByRole("button", { name: "Download CSV" }).click();
    await page.getByRole("button", { name: "Chart", exact: true }).click();
    await page.getByText("Loading the chart").waitFor();
    await page.getByRole("button", { name: "Table", exact: true }).click();
    await rows(page).getByRole("button", { name: "north", exact: true }).first().click();
    await expect.poll(() => place(page).innerText()).toBe("1–50 of 477");
    expect(fails).toHaveLength(2);
    for (const fail of fails) fail();
    await page
      .getByRole("alert")
      .getByText("The download has failed. The service does not answer.")
      .waitFor();
    await expect.poll(() => page.getByRole("alert").count()).toBe(1);
    await expect.poll(async () => new Set(await cells(page, 3).allInnerTexts())).toEqual(new Set(["north"]));
  });
});
