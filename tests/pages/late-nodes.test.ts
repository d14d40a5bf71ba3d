import { expect, it, vi } from "vitest";
import { atEnd } from "../support/at-end.js";
import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, startManifest } from "../support/service.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT 1 AS id");
const source = "source.test.raw.sales";
const manifest = {
  ...(manifestOf([
    {
      ...{ name: "sales", schema, columns: { id: "int" }, materialized: "table", parents: [source] },
      routewright: { fresh_within: "26h" },
    },
  ]) as object),
  sources: {
    [source]: {
      ...{ resource_type: "source", unique_id: source, name: "sales", schema, identifier: "sales" },
      freshness: { error_after: { count: 1, period: "minute" } },
    },
  },
};

it("the catalogue names a source that time alone has made late", async () => {
  const { url, recordBuilds } = await startManifest(manifest);
  const loadedAt = Date.now() - 30_000;
  recordBuilds(
    [{ node: "model.test.sales", completedAt: loadedAt }],
    [],
    [{ node: source, checkedAt: Date.now(), loadedAt, warnAfter: null, errorAfter: 60 }],
  );
  const lateNodes = async () => {
    const response = await fetch(`${url}/v1/system/catalogue`, { headers: { "x-api-key": KEYS.tier3 } });
    const { endpoints } = (await response.json()) as {
      endpoints: readonly { freshness?: { late_nodes?: readonly string[] } }[];
    };
    return endpoints.map(({ freshness }) => freshness?.late_nodes);
  };
  expect(await lateNodes()).toEqual([undefined]);
  vi.useFakeTimers({ toFake: ["Date"], now: loadedAt + 61_000 });
  atEnd(() => void vi.useRealTimers());
  await expect.poll(lateNodes).toEqual([[source]]);
});
