import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recordedDay, type UsageRow } from "../../runtime/server/operations/usage-row.js";
import { UsageTable } from "../../runtime/server/operations/usage-table.js";
import { routewright } from "../commands/run.js";
import { ownDatabase, ownSchema } from "../support/database.js";
import { DbtProject } from "../support/dbt.js";
import { generateInto, serveManifest } from "../support/service.js";

const config = { tags: ["production", "shop", "api:orders"] };

function yaml(latest: number, versions: readonly object[]): string {
  const columns = [
    { name: "id", data_type: "bigint" },
    { name: "amount", data_type: "integer" },
  ];
  return JSON.stringify({ models: [{ name: "orders", latest_version: latest, config, columns, versions }] });
}

const V1 = { v: 1, deprecation_date: "2031-06-30", columns: [{ include: "all" }] };
const V2 = {
  v: 2,
  columns: [
    { include: "all", exclude: ["amount"] },
    { name: "total", data_type: "numeric" },
  ],
};

describe("versions of one path, as dbt builds them", () => {
  it("are served, compared and counted", async () => {
    const project = new DbtProject(await ownSchema("SELECT 1"), {
      "models/orders_v1.sql": "select 1::bigint as id, 2::integer as amount",
      "models/models.yml": yaml(1, [V1]),
    });
    const before = await build(project);
    project.write({
      "models/orders_v2.sql": "select 1::bigint as id, 2.5::numeric as total",
      "models/models.yml": yaml(2, [V1, V2]),
    });
    const after = await build(project);

    const url = await serveManifest(after);
    const rows = async (path: string): Promise<unknown> => await (await fetch(url + path)).json();
    expect(await rows("/v1/shop/orders")).toEqual([{ id: 1, total: 2.5 }]);
    expect(await rows("/v1/shop/orders@2")).toEqual([{ id: 1, total: 2.5 }]);
    expect(await rows("/v1/shop/orders@1")).toEqual([{ id: 1, amount: 2 }]);

    const { folder } = project;
    writeFileSync(join(folder, "before.json"), JSON.stringify(before));
    const args = ["diff", "before.json", project.manifestFile, "--format", "json", "--fail-on", "none"];
    const { changes } = JSON.parse((await routewright(folder, args)).out) as {
      changes: { kind: string; endpoint: string; subject: string | null }[];
    };
    // Version 1 answered at its own path before, and is compared with itself: only its successor is new.
    expect(changes.map(({ kind, endpoint, subject }) => [endpoint, kind, subject])).toEqual([
      ["/v1/shop/orders", "column-removed", "amount"],
      ["/v1/shop/orders", "version-changed", null],
      ["/v1/shop/orders", "deprecation-lifted", null],
      ["/v1/shop/orders", "column-added", "total"],
      ["/v1/shop/orders@1", "successor-changed", null],
      ["/v1/shop/orders@2", "endpoint-added", null],
    ]);

    const usage = await ownDatabase();
    const table = await UsageTable.open(usage);
    const call = (key: string, route: string): UsageRow => ({
      ...{ day: "2026-01-31", key, route, user: "", org: "", tier: "tier0", requests: 5 },
      ...{ refused: 0, errors: 0, rows: 5, bytes: 9, lastSeen: 0, parameters: new Map() },
    });
    await table.add([
      ...["aaaa", "bbbb", "cccc"].map((key) => call(key, "/v1/shop/orders@1")),
      call("aaaa", "/v1/shop/orders"),
      recordedDay("2026-01-31"),
    ]);
    await table.close();
    generateInto(join(folder, "generated"), after);
    const { exit, out, err } = await routewright(folder, ["usage", "--by", "version"], {
      DATABASE_URL: usage,
    });
    expect([exit, err]).toEqual([0, "3 callers use version 1 of orders (/v1/shop/orders@1).\n"]);
    expect(out.split("\n")).toEqual([
      "model\tversion\tstate\tpath\tkeys\trequests",
      "orders\t2\tlatest\t/v1/shop/orders\t1\t5",
      "orders\t2\tlatest\t/v1/shop/orders@2\t0\t0",
      "orders\t1\tother\t/v1/shop/orders@1\t3\t15",
      "",
    ]);
  });
});

async function build(project: DbtProject): Promise<unknown> {
  const { code, output } = await project.run("build");
  expect(code, output).toBe(0);
  return project.manifest;
}
