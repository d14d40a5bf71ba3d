/** With `CATALOGUE=allowed` nothing names a successor to a caller that may not call it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, ownInstallation, startFolder } from "../../support/service.js";

const schema = await ownSchema(
  "CREATE TABLE @.flows AS SELECT 1::bigint AS n; CREATE TABLE @.sales AS SELECT 1::bigint AS n",
);
const SUCCESSOR = "/v1/shop/vip";

/** `ended` and `leaving` are versions whose latest one needs a key. */
const MANIFEST = manifestOf([]) as { nodes: Record<string, unknown> };
const version = (name: string, number: number, tags: readonly string[], sunset: string | null): void => {
  MANIFEST.nodes[`model.test.${name}.v${String(number)}`] = {
    ...{ resource_type: "model", name, alias: name, schema, version: number, latest_version: 2 },
    tags: ["production", "shop", ...tags],
    columns: {
      n: { name: "n", data_type: "bigint" },
      ...(number === 1 && { old: { name: "old", data_type: "text" } }),
    },
    deprecation_date: sunset,
    config: { meta: { api: { allow_unfiltered: true }, routewright: { gone_after: "30d" } } },
  };
};
version("flows", 1, ["api:ended"], "2026-01-31");
version("flows", 2, ["api:vip", "tier1"], null);
version("sales", 1, ["api:leaving"], "2031-06-30");
version("sales", 2, ["api:vip_sales", "tier1"], null);

const folder = join(ownInstallation(MANIFEST), "generated");
const change = {
  ...{ endpoint: "/v1/shop/leaving", tier: "tier0", kind: "successor-changed", title: "Successor changed" },
  ...{ severity: "compatible", subject: null, before: null, after: "/v1/shop/vip_sales" },
};
const changelog = { entries: [{ date: "2026-08-15", changes: [change] }] };
writeFileSync(join(folder, "changelog.json"), JSON.stringify(changelog));
const hidden = (await startFolder(folder, { CATALOGUE: "allowed" })).url;
const shown = (await startFolder(folder)).url;

const get = (base: string, path: string, key?: string) =>
  fetch(base + path, key === undefined ? {} : { headers: { "X-API-Key": key } });

/** Everything that a response says: its headers and its body. */
async function said(base: string, path: string, key?: string): Promise<string> {
  const response = await get(base, path, key);
  return JSON.stringify([...response.headers]) + (await response.text());
}

const ENDED = encodeURIComponent("/v1/shop/ended");

describe("a successor that the caller may not call", () => {
  it.each([
    "/v1/shop/ended",
    "/v1/shop/ended.csv",
    "/v1/shop/leaving",
    "/odata/shop__ended",
    "/odata/shop__leaving()",
    `/v1/system/values?path=${ENDED}&column=n`,
    `/v1/system/chart?path=${ENDED}&x=n&y=n`,
    "/v1/system/catalogue",
    "/v1/system/changelog",
    "/v1/system/changelog.atom",
    "/v1/system/status",
    "/openapi.json",
    "/llms.txt",
    "/v1/system/events.atom",
  ])("is not named by %s", async (path) => {
    expect(await said(hidden, path)).not.toMatch(/vip|Column removed/);
  });

  it.each([
    "/v1/shop/ended",
    "/v1/shop/leaving",
    "/odata/shop__ended",
    "/odata/shop__leaving()",
    `/v1/system/values?path=${ENDED}&column=n`,
    "/v1/system/catalogue",
    "/v1/system/changelog",
    "/openapi.json",
    "/v1/system/events.atom",
  ])("is named by %s to one that may, and to all where all endpoints are shown", async (path) => {
    expect(await said(hidden, path, KEYS.tier1)).toContain("vip");
    expect(await said(shown, path)).toContain("vip");
  });

  it("gets the same refusal as an endpoint without a successor", async () => {
    const response = await get(hidden, "/v1/shop/ended");
    expect([response.status, await response.json()]).toEqual([
      410,
      { detail: "This endpoint answered until 2026-03-02T00:00:00Z. It has no successor that you may call." },
    ]);
    expect(response.headers.get("sunset")).toBe("Sat, 31 Jan 2026 00:00:00 GMT");
    expect((await get(hidden, "/v1/shop/ended", KEYS.tier1)).headers.get("link")).toBe(
      `<${SUCCESSOR}>; rel="successor-version"`,
    );
  });
});
