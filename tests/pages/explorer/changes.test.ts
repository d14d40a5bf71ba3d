import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { suiteBrowser } from "../browser.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { generateInto, KEYS, ownFolder, startFolder } from "../../support/service.js";
import { expectAccessible, visit } from "./page.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT 1 AS id");
const model = (name: string, more: object = {}) => ({
  name,
  schema,
  alias: "sales",
  tags: ["production", "shop", `api:${name}`],
  columns: { id: "integer" },
  ...more,
});
const folder = ownFolder();
generateInto(
  folder,
  manifestOf([
    model("sales", { routewright: { stability: "preview" }, description: "Sales of the shop." }),
    model("plain"),
    model("wages", { tags: ["production", "shop", "api:wages", "tier2"] }),
  ]),
);
const change = (endpoint: string, tier: string, title: string, severity: string, subject: string | null) => ({
  endpoint,
  tier,
  kind: "column-removed",
  title,
  severity,
  subject,
  before: null,
  after: null,
});
const many = Array.from({ length: 60 }, (_, i) =>
  change("/v1/shop/plain", "tier0", "Column added", "compatible", `c${String(i)}`),
);
writeFileSync(
  join(folder, "changelog.json"),
  JSON.stringify({
    entries: [
      {
        date: "2026-02-03",
        changes: [
          change("/v1/shop/sales", "tier0", "Column removed", "breaking", "<b>amount</b>"),
          change("/v1/shop/wages", "tier2", "Column removed", "breaking", "salary"),
          change("/v1/shop/gone", "tier0", "Endpoint removed", "breaking", null),
          change("/v1/shop/secret", "tier3", "Endpoint removed", "breaking", null),
        ],
      },
      { date: "2026-01-31", changes: many },
    ],
  }),
);
const { url } = await startFolder(folder);

describe.skipIf(!needs("chromium"))("/explore: changes and previews", () => {
  const browser = suiteBrowser();
  const open = (path: string, key?: string) => visit(browser.context, url, path, { key });

  it("lists what changed at the endpoints that the key may call, newest first", async () => {
    const { page, problems } = await open("/explore");
    const changes = page.getByRole("region", { name: "Changes" });
    await changes.waitFor();
    const text = await changes.innerText();
    expect(text).toContain("2026-02-03");
    expect(text).toContain("Column removed: <b>amount</b>");
    expect(text).toContain("/v1/shop/gone");
    expect(text).not.toContain("wages");
    expect(text).not.toContain("secret");
    expect(text).toContain("The latest 50 of 62. All of them: feed.");
    await expectAccessible(page);
    const shots = process.env["SCREENSHOTS"];
    if (shots) await page.screenshot({ path: join(shots, "changes.png"), fullPage: true });
    await changes.getByRole("button", { name: "/v1/shop/sales" }).click();
    await page.getByRole("heading", { name: "Sales", level: 2 }).waitFor();
    expect(problems).toEqual([]);
  });

  it("lists those of a higher tier with a key of it", async () => {
    const { page } = await open("/explore", KEYS.tier2);
    const changes = page.getByRole("region", { name: "Changes" });
    await changes.getByText("Column removed: salary").waitFor();
    expect(await changes.innerText()).not.toContain("secret");
  });

  it("marks a preview, and shows the changes of the endpoint", async () => {
    const { page } = await open("/explore?endpoint=%2Fv1%2Fshop%2Fsales");
    await page.getByText("Preview: it may change without notice.").waitFor();
    await expect.poll(() => page.locator(".badges").innerText()).toContain("preview");
    const changes = page.getByRole("region", { name: "Changes" });
    await expect.poll(() => changes.innerText()).toContain("Column removed: <b>amount</b>");
    expect(await changes.innerText()).not.toContain("/v1/shop/gone");
    await expect.poll(() => page.getByRole("link", { name: "sales" }).innerText()).toContain("preview");
    await expectAccessible(page);
    const shots = process.env["SCREENSHOTS"];
    if (shots) await page.screenshot({ path: join(shots, "preview.png"), fullPage: true });
    const { page: plain } = await open("/explore?endpoint=%2Fv1%2Fshop%2Fwages", KEYS.tier2);
    await plain.getByRole("heading", { name: "Wages", level: 2 }).waitFor();
    await expect.poll(() => plain.getByText("preview").count()).toBe(1);
  });
});
