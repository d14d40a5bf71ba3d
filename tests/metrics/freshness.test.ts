import { describe, expect, it } from "vitest";
import { sendRequest } from "../support/http-client.js";
import { KEYS, startManifest } from "../support/service.js";
import { inPay, payDatabase, payServing } from "./pay-tables.js";

interface Node {
  readonly name: string;
  readonly config: { readonly meta?: object };
}

interface Pay {
  readonly nodes: Readonly<Record<string, Node>>;
}

/** The project, whose teams promise that these models change with builds only; null: all of them. */
function withPromises(names: readonly string[] | null): Pay {
  const pay = payServing(inPay("manifest.json"), ["volume_usd", "volume_all_time"]) as Pay;
  const nodes = Object.entries(pay.nodes).map(([id, node]) => {
    if (names !== null && !names.includes(node.name)) return [id, node] as const;
    const meta = { ...node.config.meta, routewright: { changes: "on_build" } };
    return [id, { ...node, meta, config: { ...node.config, meta, materialized: "table" } }] as const;
  });
  return { ...pay, nodes: Object.fromEntries(nodes) };
}

const DATABASE_URL = await payDatabase("UTC");

async function start(promises: readonly string[] | null) {
  const manifest = withPromises(promises);
  const { url, recordBuilds } = await startManifest(manifest, { DATABASE_URL });
  const build = (name: string, completedAt: string, failed = false): void => {
    recordBuilds([
      { node: `model.pay.${name}`, completedAt: Date.parse(completedAt), ...(failed && { failed }) },
    ]);
  };
  const headersOf = async (path: string) =>
    (await sendRequest(url, `/v1/payments/${path}`, { key: KEYS.tier3 })).headers;
  const buildAll = (completedAt: string): void => {
    for (const { name } of Object.values(manifest.nodes)) build(name, completedAt);
  };
  return { build, buildAll, headersOf };
}

const REVENUE = "volume_usd?group_by=merchant__region";

describe("the data of metrics is as of the latest build of all relations that they read", async () => {
  const { build, buildAll, headersOf } = await start(null);

  it.each([
    ["the fact", "payments", REVENUE, "2026-03"],
    ["a joined model", "merchants", REVENUE, "2026-04"],
    ["the time spine", "time_spine_daily", "volume_all_time?group_by=metric_time__month", "2026-05"],
  ])("with a build of %s", async (_, name, path, month) => {
    buildAll(`${month}-01T00:00:00Z`);
    const before = await headersOf(path);
    expect(before["x-data-as-of"]).toBe(`${month}-01T00:00:00.000Z`);
    build(name, `${month}-02T00:00:00Z`);
    const after = await headersOf(path);
    expect(after["x-data-as-of"]).toBe(`${month}-02T00:00:00.000Z`);
    // The tag is that of the builds: the rows are the same.
    expect(after["etag"]).not.toBe(before["etag"]);
    build(name, `${month}-03T00:00:00Z`, true);
    expect((await headersOf(path))["x-data-as-of"]).toBeUndefined();
  });

  it("and the tag is the digest where one of the models makes no promise", async () => {
    const { build, buildAll, headersOf } = await start(["payments", "time_spine_daily"]);
    buildAll("2026-03-01T00:00:00Z");
    const before = await headersOf(REVENUE);
    build("merchants", "2026-03-02T00:00:00Z");
    const after = await headersOf(REVENUE);
    expect([after["etag"], after["x-data-as-of"]]).toEqual([before["etag"], "2026-03-02T00:00:00.000Z"]);
  });
});
