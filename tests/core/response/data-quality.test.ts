import { describe, expect, it } from "vitest";
import { byEngine, ownerQuery, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";
import type { TestRun } from "../../../runtime/server/server.js";

const key = KEYS.tier3;
const schema = await ownTables({
  postgres: "CREATE TABLE @.numbers AS SELECT 1 AS id, 2 AS n",
  clickhouse: ["CREATE TABLE @.numbers ORDER BY tuple() AS SELECT toInt32(1) AS id, toInt32(2) AS n"],
});
const columns = byEngine({
  postgres: { id: "integer", n: "integer" },
  clickhouse: { id: "Int32", n: "Int32" },
});
const model = (name: string, more: object = {}, routewright: object = {}) => ({
  ...{ name, schema, alias: "numbers", columns, materialized: "table", key: "id", routewright, ...more },
  tags: ["production", "shop", `api:${name}`, "tier0"],
});
const manifest = manifestOf([
  model("served"),
  model("refused", {}, { on_failed_test: "refuse", changes: "on_build" }),
  model("untested", { key: undefined }, { on_failed_test: "refuse" }),
  model("view", { materialized: "view", parents: ["model.test.served"], alias: "numbers" }),
  model("raw", { materialized: "view", parents: ["source.test.raw.numbers"], alias: "numbers" }),
]);

type Service = Awaited<ReturnType<typeof startManifest>>;
type Status = TestRun["status"];
const NODES = ["served", "refused", "untested", "view"];

/** A server with builds, and what is recorded on it, at a time in seconds. */
async function started() {
  const service = await startManifest(manifest);
  const build = (at: number, names: readonly string[] = NODES): void =>
    service.recordBuilds(names.map((name) => ({ node: `model.test.${name}`, completedAt: at * 1000 })));
  const test = (at: number, statuses: Readonly<Record<string, Status>>): void =>
    service.recordBuilds(
      [],
      Object.entries(statuses).map(([name, status]) => ({
        ...{ test: `test.test.${name}_id`, status, completedAt: at * 1000 },
        failures: status === "fail" ? 3 : status === "pass" ? 0 : null,
      })),
    );
  return { ...service, build, test };
}

const ask = ({ url }: Service, name: string, headers: Readonly<Record<string, string>> = {}) =>
  sendRequest(url, `/v1/shop/${name}`, { key, headers });
const headerOf = async (service: Service, name: string) =>
  (await ask(service, name)).headers["x-data-quality"] ?? null;
const both = (name: string, status: Status, other: Status = status) => ({
  [`unique_${name}`]: status,
  [`not_null_${name}`]: other,
});

interface Shown {
  readonly path: string;
  readonly quality?: string;
  readonly tests: Readonly<Record<string, unknown>> | null;
  readonly columns: readonly { readonly name: string; readonly tests?: unknown }[];
}
async function shown({ url }: Service, name: string): Promise<Shown | undefined> {
  const { text } = await sendRequest(url, "/v1/system/catalogue", { key });
  const { endpoints } = JSON.parse(text) as { endpoints: readonly Shown[] };
  return endpoints.find(({ path }) => path === `/v1/shop/${name}`);
}

describe("what dbt's tests say of rows", () => {
  it("is in each response: nothing passed before all tests ran on the rows of this build", async () => {
    const service = await started();
    expect(await headerOf(service, "untested")).toBeNull();
    expect(await headerOf(service, "served")).toBe("unknown");
    service.build(100);
    service.test(101, { unique_served: "pass" });
    expect(await headerOf(service, "served")).toBe("unknown");
    service.test(101, { not_null_served: "warn" });
    expect(await headerOf(service, "served")).toBe("passed");
    // `dbt run` builds without tests.
    service.build(200, ["served"]);
    expect(await headerOf(service, "served")).toBe("unknown");
    service.test(201, both("served", "fail", "error"));
    expect(await headerOf(service, "served")).toBe("failed;failed=2");
    // A build is no proof that it was repaired, and a skipped test has not passed.
    service.build(300, ["served"]);
    service.test(301, both("served", "skipped"));
    expect(await headerOf(service, "served")).toBe("failed;failed=2");
    service.test(401, both("served", "pass"));
    expect(await headerOf(service, "served")).toBe("passed");
    service.test(501, both("served", "pass", "skipped"));
    expect(await headerOf(service, "served")).toBe("unknown");
    // A report of an earlier run that comes late.
    service.test(450, both("served", "fail"));
    expect(await headerOf(service, "served")).toBe("failed;failed=1");
  });

  it("is that of the rows that are sent, also of those that were kept for a time", async () => {
    const { url, recordBuilds } = await startManifest(manifest, { CACHE_TTL_SECONDS: "600" });
    const record = (at: number, status: Status): void =>
      recordBuilds(
        [{ node: "model.test.served", completedAt: at * 1000 }],
        ["unique", "not_null"].map((test) => ({
          ...{ test: `test.test.${test}_served_id`, status, completedAt: (at + 1) * 1000, failures: null },
        })),
      );
    const read = async (headers = {}) => {
      const { text, headers: sent } = await sendRequest(url, "/v1/shop/served", { key, headers });
      return [sent["x-data-quality"], text.includes('"n":3')];
    };
    record(100, "fail");
    expect(await read()).toEqual(["failed;failed=2", false]);
    await read({ range: "bytes=0-1" });
    await ownerQuery(
      byEngine({
        postgres: `UPDATE "${schema}".numbers SET n = 3`,
        clickhouse: `ALTER TABLE "${schema}".numbers UPDATE n = 3 WHERE true SETTINGS mutations_sync = 2`,
      }),
    );
    expect(await read()).toEqual(["failed;failed=2", false]);
    record(200, "pass");
    expect(await read()).toEqual(["passed", true]);
    // A part is of the rows of the first one.
    expect(await read({ range: "bytes=2-3" })).toEqual(["failed;failed=2", false]);
  });

  it("of a view counts from the build of the table behind it", async () => {
    const service = await started();
    service.build(100);
    service.test(101, both("view", "pass"));
    expect(await headerOf(service, "view")).toBe("passed");
    service.build(200, ["served"]);
    expect(await headerOf(service, "view")).toBe("unknown");
    service.test(201, both("view", "pass"));
    expect(await headerOf(service, "view")).toBe("passed");
  });

  it("is unknown while a build is, and of rows that dbt does not build", async () => {
    const service = await started();
    service.test(101, { ...both("served", "pass"), ...both("view", "pass"), ...both("raw", "pass") });
    expect(await headerOf(service, "served")).toBe("unknown");
    service.build(100, ["view", "raw"]);
    for (const name of ["view", "raw"]) expect(await headerOf(service, name)).toBe("unknown");
    service.build(100);
    for (const name of ["served", "view"]) expect(await headerOf(service, name)).toBe("passed");
    service.test(201, both("raw", "fail"));
    expect(await headerOf(service, "raw")).toBe("failed;failed=2");
  });

  it("is in the catalogue, by column", async () => {
    const service = await started();
    service.build(100);
    service.test(101, both("served", "pass", "fail"));
    const entry = await shown(service, "served");
    const tests = {
      ...{ passed: 1, warned: 0, failed: 1, skipped: 0, unknown: 0 },
      completed_at: new Date(101_000).toISOString(),
      problems: [{ name: "not_null_served_id", status: "fail", failures: 3 }],
    };
    expect(entry).toMatchObject({ quality: "failed", tests });
    expect(entry?.columns.map((column) => column.tests)).toEqual([tests, undefined]);
    service.test(201, both("served", "skipped", "pass"));
    expect((await shown(service, "served"))?.tests).toMatchObject({ passed: 1, skipped: 1, failed: 0 });
    expect(await shown(service, "untested")).toMatchObject({ tests: null });
  });

  it("of a part is what is known now of the same build", async () => {
    const service = await started();
    const range = { range: "bytes=0-1" };
    service.build(100);
    const read = async () => (await ask(service, "served", range)).headers["x-data-quality"];
    expect(await read()).toBe("unknown");
    service.test(101, both("served", "pass"));
    expect(await read()).toBe("passed");
    service.test(102, both("served", "pass", "fail"));
    expect(await read()).toBe("failed;failed=1");
    // Of the build before nothing new is known.
    service.build(200);
    service.test(201, both("served", "pass"));
    expect(await read()).toBe("unknown");
  });

  it("closes an endpoint also to kept parts of a build that failed, once a later one has passed", async () => {
    const service = await started();
    const update = (n: number) =>
      ownerQuery(
        byEngine({
          postgres: `UPDATE "${schema}".numbers SET n = ${String(n)}`,
          clickhouse: `ALTER TABLE "${schema}".numbers UPDATE n = ${String(n)} WHERE true SETTINGS mutations_sync = 2`,
        }),
      );
    const read = async () => {
      const { status, text } = await ask(service, "refused", { range: "bytes=0-99" });
      return [status, /"n":\s*(\d)/.exec(text)?.[1]];
    };
    await update(5);
    service.build(100);
    expect(await read()).toEqual([206, "5"]);
    service.test(101, both("refused", "fail"));
    expect((await read())[0]).toBe(503);
    await update(6);
    service.build(200);
    service.test(201, both("refused", "pass"));
    expect(await read()).toEqual([206, "6"]);
  });

  it("closes an endpoint that refuses such rows, also to kept ones and to what is asked of them", async () => {
    const service = await started();
    service.build(100);
    const first = await ask(service, "refused");
    expect([first.status, first.headers["x-data-quality"]]).toEqual([200, "unknown"]);
    const tag = first.headers["etag"] ?? "";
    const values = "/v1/system/values?path=/v1/shop/refused&column=id";
    expect((await sendRequest(service.url, values, { key })).status).toBe(200);
    service.test(101, both("refused", "fail", "pass"));
    const refusal = {
      status: 503,
      text: '{"detail":"No rows are served while dbt tests of them fail: 1. Try again in 60 seconds."}',
    };
    const refused = await ask(service, "refused");
    expect(refused).toMatchObject(refusal);
    expect(refused.headers["retry-after"]).toBe("60");
    for (const headers of [{ "if-none-match": tag }, { range: "bytes=0-1" }, { accept: "text/csv" }])
      expect(await ask(service, "refused", headers)).toMatchObject({ status: 503 });
    expect(await sendRequest(service.url, values, { key })).toMatchObject(refusal);
    const { text } = await sendRequest(service.url, "/v1/system/catalogue", { key });
    expect(text).toContain('"on_failed_test":"refuse"');
    service.test(201, both("refused", "pass"));
    expect((await ask(service, "refused", { "if-none-match": tag })).status).toBe(304);
    expect((await ask(service, "untested")).status).toBe(200);
  });
});
