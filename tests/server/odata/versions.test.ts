/** Versions of a model below `/odata`: the latest one at both of its paths, and one that has ended. */
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.orders AS SELECT 2::bigint AS n");
const LATEST = "/v1/shop/orders";
const [OF_LATEST, OF_FIRST, OF_SECOND] = ["shop__orders", "shop__orders_x0040_1", "shop__orders_x0040_2"];

/** Version 1 has ended, 2 is the latest. */
const MANIFEST = manifestOf([]) as { nodes: Record<string, unknown> };
for (const version of [1, 2])
  MANIFEST.nodes[`model.test.orders.v${String(version)}`] = {
    ...{ resource_type: "model", name: "orders", alias: "orders", schema, version, latest_version: 2 },
    tags: ["production", "shop", "api:orders"],
    columns: { n: { name: "n", data_type: "bigint" } },
    deprecation_date: version === 1 ? "2026-01-31" : null,
    config: { meta: { api: { allow_unfiltered: true }, routewright: { gone_after: "30d" } } },
  };
const LIMITED = "sk_live_latest";
const { url } = await startManifest(MANIFEST, {
  METRICS_PUBLIC: "true",
  API_KEYS: JSON.stringify({
    [KEYS.tier1]: "tier1",
    [LIMITED]: { tier: "tier1", allowed: [LATEST] },
  }),
});
const ask = (path: string, key?: string) =>
  sendRequest(url, `/odata${path}`, key === undefined ? {} : { key });

/** The sets of the service document. */
async function setsFor(key?: string): Promise<readonly string[]> {
  const { value } = JSON.parse((await ask("", key)).text) as { value: readonly { name: string }[] };
  return value.map(({ name }) => name).sort();
}

describe("the latest version", () => {
  it("has a set at its stable path, too", async () => {
    for (const name of [OF_LATEST, OF_SECOND]) {
      const { status, text } = await ask(`/${name}()`);
      expect([status, (JSON.parse(text) as { value: unknown }).value], name).toEqual([200, [{ n: 2 }]]);
      expect((JSON.parse(text) as Record<string, string>)["@odata.context"]).toMatch(
        new RegExp(`Rows\\.${name}\\)$`),
      );
    }
    expect((await ask("/shop__orders_x0040_3()")).status).toBe(404);
  });

  it("is in the documents by both names, as far as the key opens them", async () => {
    const all = [OF_LATEST, OF_FIRST, OF_SECOND];
    expect(await setsFor()).toEqual(all);
    expect(await setsFor(KEYS.tier1)).toEqual(all);
    expect(await setsFor(LIMITED)).toEqual([OF_LATEST]);
    expect((await ask(`/${OF_SECOND}()`, LIMITED)).status).toBe(403);
    const { text } = await ask("/$metadata");
    for (const name of all)
      expect(text.match(new RegExp(`FunctionImport Name="${name}"`, "g"))).toHaveLength(1);
  });

  it("counts as one endpoint, whatever set is asked", async () => {
    const before = await countOf();
    await ask(`/${OF_SECOND}()`);
    await ask(`/${OF_LATEST}()`);
    expect((await countOf()) - before).toBe(2);
  });
});

/** Requests of the endpoint that were answered. */
async function countOf(): Promise<number> {
  const { text } = await sendRequest(url, "/metrics");
  const lines = text
    .split("\n")
    .filter((line) => line.includes(`route="${LATEST}"`) && line.includes("_total{"));
  const counted = lines.filter((line) => /requests_total\{.*status="2/.test(line));
  expect(counted.length, lines.join("\n")).toBeGreaterThan(0);
  return counted.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

describe("a version that has ended", () => {
  it("answers 410 with the link of its successor and its dates, in a batch too", async () => {
    const { status, text, headers } = await ask(`/${OF_FIRST}()`);
    expect([status, (JSON.parse(text) as { error: unknown }).error]).toEqual([
      410,
      { code: "gone", message: `This endpoint answered until 2026-03-02T00:00:00Z. Use ${LATEST}.` },
    ]);
    const notice = {
      link: `<${LATEST}>; rel="successor-version"`,
      sunset: "Sat, 31 Jan 2026 00:00:00 GMT",
      deprecation: `@${String(Date.parse("2026-01-31") / 1000)}`,
    };
    expect(headers).toMatchObject(notice);
    const batch = await fetch(`${url}/odata/$batch`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ requests: [{ id: "1", method: "GET", url: `${OF_FIRST}()` }] }),
    });
    const { responses } = (await batch.json()) as { responses: readonly object[] };
    expect(responses).toMatchObject([{ status: 410, headers: notice }]);
  });
});
