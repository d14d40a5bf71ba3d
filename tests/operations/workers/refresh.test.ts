import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sendRequest, statusAndBody } from "../../data-api/http-client.js";
import { ownSchema } from "../../support/database.js";
import { serve, type Served } from "../../support/command.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, ownFolder } from "../../support/service.js";
import { type Behaviour, manifestServer, serving } from "../../watch/manifest-server.js";
import { BASE, countOf, linesOf, preloading, project, servingPids, until } from "./cluster.js";

const schema = await ownSchema(
  "CREATE TABLE @.one AS SELECT 1::bigint AS n; CREATE TABLE @.two AS SELECT 2::bigint AS n",
);
const published = (name: string, resource: string): unknown =>
  manifestOf([
    {
      name,
      schema,
      tags: ["production", "flows", `api:${resource}`],
      columns: { n: "bigint" },
      materialized: "table",
    },
  ]);
const ONE = published("one", "first");
const TWO = published("two", "second");
const THREE = published("two", "third");

/** Real workers on a generated folder, following a real manifest server. */
async function following(
  first: Behaviour,
  variables: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
) {
  const manifests = await manifestServer(first);
  const served = await serve(project(ONE), ["--only", "data", "--workers", "3", ...flags], {
    ...BASE,
    DBT_MANIFEST_URL: manifests.url,
    ...variables,
  });
  const refresh = async (): Promise<Record<string, unknown>> => {
    const key = KEYS.tier3;
    const answer = await sendRequest(served.url, "/v1/system/manifest/refresh", { method: "POST", key });
    return JSON.parse(answer.text) as Record<string, unknown>;
  };
  return { served, manifests, refresh };
}

/** Sends so many requests, each on a new connection, that every worker gets one. */
async function statuses(served: Served, path: string, times = 50): Promise<Set<number>> {
  const seen = new Set<number>();
  for (let i = 0; i < times; i++) seen.add((await sendRequest(served.url, path, { key: KEYS.tier3 })).status);
  return seen;
}

describe("POST /v1/system/manifest/refresh with several workers", () => {
  it("answers once no worker serves the old release", async () => {
    const { served, manifests, refresh } = await following(serving(TWO, '"2"'));
    expect(await statuses(served, "/v1/flows/first", 6)).toEqual(new Set([200]));
    expect(await refresh()).toMatchObject({
      status: "reloaded",
      models: 1,
      endpoints: 1,
      added: ["/v1/flows/second"],
      removed: ["/v1/flows/first"],
      changed: [],
      skipped: [],
    });
    expect(await statuses(served, "/v1/flows/second")).toEqual(new Set([200]));
    manifests.behave(serving(THREE, '"3"'));
    await refresh();
    expect(await statuses(served, "/v1/flows/second")).toEqual(new Set([404]));
    expect(await statuses(served, "/v1/flows/third", 6)).toEqual(new Set([200]));
    expect(manifests.conditions).toEqual([undefined, '"2"']);
    const asked = linesOf(served).flatMap(({ route, worker }) =>
      route === "/v1/flows/second" ? [worker] : [],
    );
    expect(new Set(asked).size).toBe(3);
  });

  it("gives all workers the same hash and time, also one that starts later", async () => {
    const { served, refresh } = await following(serving(TWO, '"2"'));
    const { manifest_hash, loaded_at } = await refresh();
    const seconds = Date.parse(String(loaded_at)) / 1000;
    const line = `routewright_manifest_loaded_timestamp_seconds{hash="${String(manifest_hash)}"} ${String(seconds)}`;
    const told = async (): Promise<readonly string[]> => {
      const { text } = await sendRequest(served.url, "/metrics");
      return text.split("\n").filter((each) => each.startsWith("routewright_manifest_loaded"));
    };
    expect(await told()).toEqual([line]);
    const before = servingPids(served);
    for (const pid of before) process.kill(pid, "SIGKILL");
    await until(served, 3, before);
    expect(await told()).toEqual([line]);
    expect(await statuses(served, "/v1/flows/second", 12)).toEqual(new Set([200]));
  });

  it("shares one run among those that arrive while another runs, whichever worker they ask", async () => {
    const { manifests, refresh } = await following(serving(ONE, '"1"'));
    const slow: Behaviour = (request, response) =>
      void setTimeout(serving(TWO, '"2"'), 500, request, response);
    manifests.behave(slow);
    const first = refresh();
    await expect.poll(() => manifests.conditions.length).toBe(1);
    const later = await Promise.all([refresh(), refresh(), refresh(), refresh()]);
    expect(await first).toMatchObject({ status: "reloaded" });
    for (const answer of later)
      expect(answer).toMatchObject({ status: "unchanged", endpoints: 1, added: [] });
    expect(manifests.conditions).toHaveLength(2);
  });

  it("changes nothing when the manifest cannot be read, and says why", async () => {
    const { served, manifests, refresh } = await following(serving(TWO, '"2"'));
    await refresh();
    manifests.behave((_, response) => void response.writeHead(500).end());
    for (let i = 0; i < 2; i++)
      expect(await refresh()).toEqual({
        status: "error",
        models: 1,
        endpoints: 1,
        detail: expect.stringMatching(/answered 500/),
      });
    expect(await statuses(served, "/v1/flows/second", 9)).toEqual(new Set([200]));
    expect(countOf(served, "manifest not refreshed: the active release stays")).toBe(1);
  });

  it("says so where no manifest is configured", async () => {
    const { refresh } = await following(serving(TWO, '"2"'), { DBT_MANIFEST_URL: "" });
    expect(await refresh()).toMatchObject({
      status: "error",
      detail: "No manifest is configured: set DBT_MANIFEST_PATH or DBT_MANIFEST_URL.",
    });
  });

  it("is not delayed by workers that die, and their replacements serve the new release", async () => {
    const { served, manifests, refresh } = await following(serving(ONE, '"1"'));
    for (let round = 0; round < 4; round++) {
      const before = servingPids(served);
      manifests.behave(serving(round % 2 === 0 ? TWO : THREE, `"${String(round)}"`));
      const refreshed = refresh().catch(() => null);
      // It may be the one that got the request; by then all have the new release or are loading it.
      await new Promise((resolve) => setTimeout(resolve, 15 * round));
      process.kill(before[0]!, "SIGKILL");
      expect((await refreshed)?.["status"] ?? "asked again").toMatch(/reloaded|asked again/);
      await refresh();
      const [now, gone] = round % 2 === 0 ? ["second", "third"] : ["third", "second"];
      expect(await statuses(served, `/v1/flows/${gone}`, 20)).toEqual(new Set([404]));
      await until(served, 1, before);
      expect(await statuses(served, `/v1/flows/${gone}`, 20)).toEqual(new Set([404]));
      expect(await statuses(served, `/v1/flows/${now}`, 20)).toEqual(new Set([200]));
      await until(served, 3);
    }
  });

  it("also reaches a worker that started during the refresh", async () => {
    const slow = `
      const { worker } = require("node:cluster");
      if (worker && worker.id <= 3)
        process.on("message", ({ kind }) => {
          for (const end = Date.now() + 3000; kind === "adopt" && Date.now() < end; );
        });`;
    const { served, refresh } = await following(serving(TWO, '"2"'), preloading(ownFolder(), slow));
    const before = servingPids(served);
    // Not the worker that got the request: its client waits for it.
    const refreshed = Promise.allSettled([refresh(), refresh()]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    process.kill(before[2]!, "SIGKILL");
    await until(served, 1, before);
    expect(countOf(served, "manifest refreshed")).toBe(0);
    await refreshed;
    await expect.poll(() => countOf(served, "manifest refreshed")).toBe(1);
    expect(await statuses(served, "/v1/flows/first", 30)).toEqual(new Set([404]));
  });

  it("ends a stuck worker rather than let it serve the old release", async () => {
    const { served, refresh } = await following(serving(TWO, '"2"'));
    const [stuck] = servingPids(served);
    process.kill(stuck!, "SIGSTOP");
    // Connections go to the others as soon as it has some that it does not take.
    for (let i = 0; i < 5; i++) void sendRequest(served.url, "/").catch(() => undefined);
    expect(await refresh()).toMatchObject({ status: "reloaded" });
    expect(await statuses(served, "/v1/flows/first", 30)).toEqual(new Set([404]));
    await until(served, 3, [stuck!]);
  });
});

describe("routewright serve --workers --watch", () => {
  it("follows the manifest for all workers with one request per interval", async () => {
    const { served, manifests } = await following(
      serving(TWO, '"2"'),
      { DBT_MANIFEST_REFRESH_INTERVAL_SECONDS: "1" },
      ["--watch"],
    );
    await served.until(/"added":1.*"manifest refreshed"/);
    expect(await statuses(served, "/v1/flows/second", 9)).toEqual(new Set([200]));
    await expect.poll(() => manifests.conditions.length).toBeGreaterThan(2);
    expect(countOf(served, "manifest refreshed")).toBe(1);
    expect((await served.stop()).code).toBe(0);
  });
});

describe("what dbt has built", () => {
  it("is known to all workers, those that start later included", async () => {
    const folder = project(ONE);
    const file = join(folder, "run_results.json");
    const results = (completed_at: string): void =>
      writeFileSync(
        file,
        JSON.stringify({
          metadata: {
            dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
            generated_at: completed_at,
          },
          results: [
            { unique_id: "model.test.one", status: "success", timing: [{ name: "execute", completed_at }] },
          ],
          args: { which: "run" },
        }),
      );
    const tags = async (served: Served): Promise<Set<unknown>> => {
      const seen = new Set<unknown>();
      for (let i = 0; i < 12; i++)
        seen.add(
          (await sendRequest(served.url, "/v1/flows/first", { key: KEYS.tier3 })).headers["x-data-as-of"],
        );
      return seen;
    };
    results("2026-01-01T00:00:00Z");
    const served = await serve(folder, ["--only", "data", "--workers", "3"], {
      ...BASE,
      DBT_RUN_RESULTS_PATH: "run_results.json",
    });
    expect(await tags(served)).toEqual(new Set(["2026-01-01T00:00:00.000Z"]));
    results("2026-01-02T00:00:00Z");
    await expect.poll(() => tags(served)).toEqual(new Set(["2026-01-02T00:00:00.000Z"]));
    const before = servingPids(served);
    for (const pid of before) process.kill(pid, "SIGKILL");
    await until(served, 3, before);
    expect(await tags(served)).toEqual(new Set(["2026-01-02T00:00:00.000Z"]));
    expect(statusAndBody(await sendRequest(served.url, "/v1/flows/first", { key: KEYS.tier3 }))).toEqual([
      200,
      [{ n: 1 }],
    ]);
  });
});
