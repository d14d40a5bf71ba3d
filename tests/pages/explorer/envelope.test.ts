import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { expectAccessible, output, visit } from "./page.js";

const schema =
  await ownSchema(`CREATE TABLE @.orders AS SELECT i AS id, (ARRAY['north', 'south'])[i % 2 + 1] AS region,
      9007199254740993 + i AS amount FROM generate_series(1, 50) AS i;
      CREATE TABLE @.events AS SELECT i AS id FROM generate_series(1, 102) AS i`);
const pagination = { enabled: true, default_limit: 5, max_limit: 20, response: "envelope" };
const url = await serveManifest(
  manifestOf([
    ...["orders", "returns", "claims"].map((name) => ({
      name,
      schema,
      columns: { id: "int", region: "text", amount: "bigint" },
      api: {
        methods: ["GET", "POST"],
        allow_unfiltered: true,
        pagination,
        sort: [{ column: "id", direction: "ASC" }],
      },
      ...(name === "claims" && { alias: "orders", key: "id" }),
      routewright: { filters: ["region", "amount"], fields: true, cursor: name === "claims" },
    })),
    {
      name: "events",
      schema,
      columns: { id: "int" },
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 1, max_limit: 1 },
        sort: [{ column: "id", direction: "ASC" }],
      },
    },
  ]),
  { RATE_LIMITS: "10000" },
);
const ORDERS = "/explore?endpoint=/v1/shop/orders";

describe.skipIf(!needs("chromium"))("an endpoint with an envelope and column filters", () => {
  const browser = suiteBrowser();
  const open = (path: string) => visit(browser.context, url, path);

  it("shows in the JSON tab what the API answers", async () => {
    const { page, problems } = await open(`${ORDERS}&view=json&p.limit=3&p.offset=48`);
    const shown = () => page.getByRole("region", { name: "Rows as JSON" }).innerText();
    const answer = await (await fetch(`${url}/v1/shop/orders?limit=3&offset=48`)).text();
    // In lines of their own, with every digit.
    await expect.poll(async () => (await shown()).replace(/\s/g, "")).toBe(answer);
    expect(await shown()).toContain('\n      "amount": 9007199254741042\n');
    expect(JSON.parse(answer)).toMatchObject({ pagination: { offset: 48, returned: 2, has_more: false } });
    expect(problems).toEqual([]);
  });

  it("follows pages by cursor where they have one, and runs from the first page again", async () => {
    const { page, problems } = await open("/explore?endpoint=/v1/shop/claims&p.offset=2&p.region[eq]=north");
    const first = page.locator(".rowsview tbody tr").first();
    await expect.poll(() => first.innerText()).toMatch(/^6\t/);
    await page.getByRole("button", { name: "Next page" }).click();
    await expect.poll(() => first.innerText()).toMatch(/^16\t/);
    const has = (name: string): boolean => new URL(page.url()).searchParams.has(name);
    await expect.poll(() => [has("p.cursor"), has("p.offset")]).toEqual([true, false]);
    await expect.poll(() => page.locator(".answer .facts").innerText()).toMatch(/^8–12 of /);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Previous page" }).click();
    await expect.poll(() => first.innerText()).toMatch(/^6\t/);
    await page.getByRole("button", { name: "Next page" }).click();
    await expect.poll(() => first.innerText()).toMatch(/^16\t/);
    await page.getByLabel("limit", { exact: true }).fill("3");
    await page.getByRole("button", { name: "Run" }).click();
    await expect.poll(() => first.innerText()).toMatch(/^2\t/);
    expect(problems).toEqual([]);
  });

  it.each([
    ["orders", "shop-orders.csv", 50],
    ["claims", "shop-claims.csv", 50],
    // One download has at most 100 pages, and its name says what they hold.
    ["events", "shop-events-first-100-rows.csv", 100],
  ])("downloads all pages of %s as %s", async (name, file, count) => {
    const { page, problems } = await open(`/explore?endpoint=/v1/shop/${name}&p.limit=1`);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download all rows" }).click();
    await page.getByRole("button", { name: "Download CSV" }).click();
    expect((await download).suggestedFilename()).toBe(file);
    const lines = readFileSync(await (await download).path(), "utf8").split("\r\n");
    expect(lines.filter((line) => line.includes("id"))).toHaveLength(1);
    expect(lines.slice(1, -1).map(parseFloat)).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    expect(problems).toEqual([]);
  });

  it("has code that reads its items", async () => {
    const { page } = await open(`${ORDERS}&p.limit=2`);
    const code = page.locator(".samples .code");
    await page.getByRole("button", { name: "JavaScript" }).click();
    await expect.poll(() => code.innerText()).toContain("await fetch(");
    const script = `${await code.innerText()}\nconsole.log(rows.map(({ id }) => id).join());`;
    expect(await output(process.execPath, "--input-type=module", "-e", script)).toBe("1,2\n");
    await page.getByRole("button", { name: "Python" }).click();
    await expect.poll(() => code.innerText()).toMatch(/rows = response\.json\(\)\["items"\]$/);
  });

  it("offers its column filters with their operators", async () => {
    const { page, problems } = await open(ORDERS);
    const rows = page.locator(".rowsview tbody tr");
    await expect.poll(() => rows.count()).toBe(5);
    const operators = page.getByLabel("Operator of amount");
    await expect
      .poll(() => operators.locator("option").allInnerTexts())
      .toEqual([
        ...["is", "is not", "more than", "at least", "less than", "at most", "is one of", "is null"],
      ]);
    await operators.selectOption("gt");
    await page.getByLabel("amount", { exact: true }).fill("9007199254741041");
    // The values that the column has, with their numbers of rows.
    await page.getByLabel("region", { exact: true }).focus();
    await expect
      .poll(() => page.locator("[id='filter-region-eq-values'] option").allTextContents())
      .toEqual(expect.arrayContaining([expect.stringMatching(/^south \(\d+ rows\)$/)]));
    await page.getByLabel("region", { exact: true }).fill("south");
    await page.getByRole("button", { name: "Run" }).click();
    await expect.poll(() => rows.allInnerTexts()).toEqual(["49\tsouth\t9,007,199,254,741,042"]);
    const loop = `cd "$(mktemp -d)"\n${await page.locator(".samples .code").innerText()}\ncat rows.ndjson`;
    expect(await output("sh", "-c", loop)).toContain('{"id":49,"region":"south","amount":9007199254741042}');
    await expectAccessible(page);
    await page.getByLabel("amount", { exact: true }).fill("much");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").getByText("Parameter 'amount[gt]' must be an integer.").waitFor();
    expect(problems.filter((text) => !text.includes("400 (Bad Request)"))).toEqual([]);
  });

  it("is reached by a skip link, and Tab stops once in the list of endpoints", async () => {
    const { page } = await open(ORDERS);
    await page.getByRole("heading", { name: "Orders", level: 2 }).waitFor();
    const focused = (on = page) =>
      on.evaluate<string>(
        `((element) => element.closest(".rows") === null ? element.id || element.className : "list")(document.activeElement)`,
      );
    await page.keyboard.press("Tab");
    await expect.poll(() => focused()).toBe("skip");
    await page.keyboard.press("Enter");
    await expect.poll(() => focused()).toBe("panel");
    const { page: again } = await open(ORDERS);
    await again.locator(".rows a").nth(2).waitFor();
    const stops: string[] = [];
    for (let i = 0; i < 40 && stops.at(-1) !== "endpoint-title"; i++) {
      await again.keyboard.press("Tab");
      stops.push(await focused(again));
      if (await again.evaluate<boolean>(`document.activeElement.closest(".panel") !== null`)) break;
    }
    expect(stops.filter((stop) => stop === "list")).toHaveLength(1);
    expect(stops[0]).toBe("skip");
  });
});
