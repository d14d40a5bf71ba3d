import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openRunResults } from "../../../generator/watch/poll-run-results.js";
import { workerRenderer } from "../../../generator/watch/worker-renderer.js";
import { messageOf } from "../../../runtime/core/model/outcome.js";
import { sendRequest } from "../../support/http-client.js";
import { start } from "../../support/command.js";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startFolder, ownInstallation } from "../../support/service.js";

const schema = await ownSchema(
  "CREATE TABLE @.secret AS SELECT 1 AS id; CREATE TABLE @.plain AS SELECT 1 AS id; CREATE TABLE @.open AS SELECT 1 AS id",
);
/** `plain` has no tier tag unless one is given: the folder's default tier closes it. */
const manifest = (secret: string, plain: readonly string[] = [], more: readonly string[] = []): string =>
  JSON.stringify(
    manifestOf(
      [["secret", secret], ["plain", ...plain], ["open", "tier0"], ...more.map((name) => [name])].map(
        ([name = "", ...tags]) => ({
          name,
          schema,
          tags: ["production", "shop", `api:${name}`, ...tags],
          columns: { id: "integer" },
          materialized: "table",
        }),
      ),
    ),
  );
const runResults = (completed_at: string): string =>
  JSON.stringify({
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
      generated_at: completed_at,
    },
    results: [
      { unique_id: "model.test.open", status: "success", timing: [{ name: "execute", completed_at }] },
    ],
    args: { which: "build" },
  });
const accepts = (endpoint: string): string =>
  JSON.stringify([{ kind: "tier-lowered", endpoint, before: "tier3", after: "tier0", reason: "Agreed." }]);

interface File {
  readonly now: string;
  readonly other: string;
  readonly older: string;
  readonly newer: string;
}

/** The files beside the generated folder (tests/server/release/damaged-folder.test.ts has that one's own). */
const FILES = {
  "manifest.json": {
    now: manifest("tier3"),
    other: manifest("tier0", ["tier0"]),
    older: manifest("tier1"),
    newer: manifest("tier3", [], ["more"]),
  },
  "api_keys.json": {
    now: JSON.stringify({ [KEYS.tier1]: "tier1", [KEYS.tier3]: "tier3" }),
    other: JSON.stringify({ [KEYS.tier1]: "tier9" }),
    // Before the key of tier3 was made.
    older: JSON.stringify({ [KEYS.tier1]: "tier1" }),
    newer: JSON.stringify({ [KEYS.tier1]: { tier: "tier3", revoked: true }, [KEYS.tier3]: "tier3" }),
  },
  "accept.json": {
    now: accepts("/v1/shop/gone"),
    other: JSON.stringify([{ kind: "everything", endpoint: "/v1/shop/secret", reason: "None." }]),
    older: accepts("/v1/shop/secret"),
    newer: JSON.stringify({ version: 2, accepted: [] }),
  },
  "run_results.json": {
    now: runResults("2026-05-21T03:00:01.000000Z"),
    other: "[]",
    older: runResults("2026-05-20T03:00:01.000000Z"),
    newer: runResults("2036-05-21T03:00:01.000000Z"),
  },
  "routewright.config.json": {
    now: JSON.stringify({ manifest: "manifest.json", out: "generated", defaultTier: "tier3" }),
    other: JSON.stringify({ out: "elsewhere" }),
    older: JSON.stringify({ manifest: "manifest.json", defaultTier: "tier0" }),
    newer: JSON.stringify({ manifest: "manifest.json", defaultTier: "tier3", strict: true }),
  },
} as const satisfies Record<string, File>;
type Name = keyof typeof FILES;

const DAMAGES: Readonly<Record<string, (file: File) => string | Buffer | null>> = {
  missing: () => null,
  empty: () => "",
  cut: ({ now }) => now.slice(0, now.length / 2),
  "of other content": ({ other }) => other,
  "in UTF-16": ({ now }) => Buffer.from(`\ufeff${now}`, "utf16le"),
  "with bytes that are no UTF-8": ({ now }) => Buffer.from(now.replace(/[a-z]{2}/, "t\xff"), "latin1"),
  older: ({ older }) => older,
  newer: ({ newer }) => newer,
};

/** A folder with all files and the generated one. */
function installation(): string {
  const folder = ownInstallation(JSON.parse(FILES["manifest.json"].now), { defaultTier: "tier3" });
  for (const [name, { now }] of Object.entries(FILES)) writeFileSync(join(folder, name), now);
  return folder;
}

function damage(folder: string, name: Name, content: string | Buffer | null): void {
  if (content === null) rmSync(join(folder, name));
  else writeFileSync(join(folder, name), content);
}

const REQUESTS = [
  ["secret", undefined, 403],
  ["secret", KEYS.tier1, 403],
  ["secret", KEYS.tier3, 200],
  ["plain", undefined, 403],
  ["open", undefined, 200],
  ["open", "sk_live_unknown", 403],
] as const;
const AS_BEFORE = REQUESTS.map(([, , status]) => status);
const WITHOUT_TIER3 = REQUESTS.map(([, key, status]) => (key === KEYS.tier3 ? 403 : status));

const statuses = (url: string): Promise<readonly number[]> =>
  Promise.all(
    REQUESTS.map(
      async ([name, key]) => (await sendRequest(url, `/v1/shop/${name}`, { ...(key && { key }) })).status,
    ),
  );

function startServer(folder: string) {
  const [source, generated] = [join(folder, "manifest.json"), join(folder, "generated")];
  const guard = { generated, severities: {}, accept: join(folder, "accept.json"), minimumNoticeDays: 30 };
  const renderer = workerRenderer({ manifest: source, title: null, generated, allowEdited: false, guard });
  const keys = { API_KEYS: "", API_KEYS_FILE: join(folder, "api_keys.json") };
  return startFolder(generated, { ...keys, RATE_LIMITS: "100000" }, { renderer });
}

/** The problems of the run results, as a server that starts reports them. */
async function recordBuilds(folder: string, server: Awaited<ReturnType<typeof startServer>>) {
  const problems: string[] = [];
  const reading = await openRunResults({
    source: join(folder, "run_results.json"),
    intervalSeconds: 3600,
    onProblem: (problem) => problems.push(problem),
    storeFile: join(folder, "builds.json"),
    onSaveFailed: (problem) => problems.push(problem),
  });
  await reading.follow((builds, tests) => server.recordBuilds(builds, tests)).stop();
  return problems;
}

/** Damages that leave a file that is as good as another: what it says holds. */
const VALID: ReadonlySet<string> = new Set([
  ...["of other content", "older", "newer"].map((kind) => `manifest.json ${kind}`),
  "api_keys.json older",
  ...["missing", "older"].map((kind) => `accept.json ${kind}`),
  ...["older", "newer"].map((kind) => `run_results.json ${kind}`),
]);

describe("a running installation with a file that is", async () => {
  const folder = installation();
  const server = await startServer(folder);
  await server.refresh();
  let version = 0;

  const cases = Object.entries(DAMAGES).flatMap(([kind, change]) =>
    (["manifest.json", "api_keys.json", "accept.json", "run_results.json"] as const).map(
      (name) => [kind, name, change(FILES[name])] as const,
    ),
  );
  it.each(cases)("%s opens nothing, and loses nothing without an error: %s", async (kind, name, content) => {
    // The guard reads the accept file where the manifest is another one.
    damage(folder, "manifest.json", FILES["manifest.json"].now + " ".repeat(++version));
    damage(folder, name, content);
    const refreshed = await server.refresh();
    await server.reload();
    const problems = await recordBuilds(folder, server);
    const opensSecret = name === "manifest.json" && ["of other content", "older"].includes(kind);
    expect(JSON.stringify(refreshed).includes('"held_back":[{"endpoint":"/v1/shop/')).toBe(opensSecret);
    const hasKey = !(name === "api_keys.json" && kind === "older");
    expect(await statuses(server.url)).toEqual(hasKey ? AS_BEFORE : WITHOUT_TIER3);
    const started = name === "api_keys.json" ? await startServer(folder).then(() => "", messageOf) : "";
    if (!VALID.has(`${name} ${kind}`)) expect(JSON.stringify([refreshed, problems, started])).toContain(name);
    else expect([problems, started, refreshed.status === "error"]).toEqual([[], "", false]);
    damage(folder, name, FILES[name].now);
    await server.reload();
    await server.refresh();
    expect(await statuses(server.url)).toEqual(AS_BEFORE);
  });
});

it("a config file that is damaged stops the start, or opens and loses nothing", async () => {
  const outcomes = await Promise.all(
    Object.entries(DAMAGES).map(async ([kind, change]) => {
      const folder = installation();
      damage(folder, "routewright.config.json", change(FILES["routewright.config.json"]));
      const { until, finished, stop } = start(folder, ["serve", "--only", "data"], {
        DATABASE_URL: databaseUrl,
        PORT: "0",
      });
      const listening = until(/"url":"(http:[^"]+)".*"msg":"listening"/).then(([, url = ""]) => url);
      const url = await Promise.race([listening, finished.then(() => null)]).catch(() => null);
      if (url === null) {
        const { code, stderr } = await finished;
        return [kind, code === 2 && /routewright\.config\.json|elsewhere/.test(stderr) ? "refused" : stderr];
      }
      await sendRequest(url, "/v1/system/manifest/refresh", { method: "POST", key: KEYS.tier3 });
      const served = (await statuses(url)).join() === AS_BEFORE.join();
      await stop();
      return [kind, served ? "as before" : "otherwise"];
    }),
  );
  expect(Object.fromEntries(outcomes)).toEqual({
    missing: "as before",
    empty: "refused",
    cut: "refused",
    "of other content": "refused",
    "in UTF-16": "refused",
    "with bytes that are no UTF-8": "refused",
    older: "as before",
    newer: "refused",
  });
});
