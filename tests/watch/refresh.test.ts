import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { described } from "../support/described.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { serve } from "../support/command.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { KEYS, ownInstallation } from "../support/service.js";
import { type Behaviour, manifestServer, serving } from "./manifest-server.js";

const schema = await ownSchema(
  "CREATE TABLE @.one AS SELECT 1::bigint AS n; CREATE TABLE @.two AS SELECT 2::bigint AS n",
);

const model = (name: string, resource: string, description = "") => ({
  name,
  schema,
  description,
  tags: ["production", "flows", `api:${resource}`],
  columns: { n: "bigint" },
});
const ONE = manifestOf([model("one", "first")]);
const TWO = manifestOf([model("one", "first", "Described."), model("two", "second")]);
const THREE = manifestOf([model("two", "third"), { ...model("two", "bad/resource"), name: "broken" }]);

/** The real server on a generated folder, following a real manifest server. */
async function following(
  first: Behaviour,
  variables: Readonly<Record<string, string>> = {},
  launcher: readonly string[] = [],
) {
  const folder = ownInstallation(ONE);
  const manifests = await manifestServer(first);
  const command = await serve(
    folder,
    [],
    {
      DATABASE_URL: databaseUrl,
      DBT_MANIFEST_URL: manifests.url,
      API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3", [KEYS.tier1]: "tier1" }),
      ...variables,
    },
    launcher,
  );
  const { url } = command;
  const refresh = (key: string = KEYS.tier3): Promise<Response> =>
    fetch(`${url}/v1/system/manifest/refresh`, { method: "POST", headers: { "X-API-Key": key } });
  const get = async (path: string): Promise<unknown> => (await fetch(url + path)).json();
  return { url, command, manifests, refresh, get };
}

describe("POST /v1/system/manifest/refresh", () => {
  it("keeps the default tier that the folder was generated with, and says so", async () => {
    const { command, refresh, get } = await following(serving(TWO, '"2"'), {
      DEFAULT_ENDPOINT_TIER: "tier1",
    });
    await command.until(/DEFAULT_ENDPOINT_TIER differs from that of the generated folder/);
    expect(await (await refresh()).json()).toMatchObject({ status: "reloaded", endpoints: 2 });
    expect(await get("/v1/flows/second")).toEqual([{ n: 2 }]);
  });

  it.skipIf(process.platform !== "linux")(
    "activates a release that SIGHUP does not replace, and the log says so",
    async () => {
      const { command, manifests, refresh, get } = await following(serving(TWO, '"2"'), {}, ["setsid"]);
      expect(await (await refresh()).json()).toMatchObject({ status: "reloaded", endpoints: 2 });
      // A closing terminal sends it to the whole group, in which esbuild's process would end for good.
      process.kill(-command.child.pid!, "SIGHUP");
      await command.until(
        /"msg":"reloaded, except the generated folder: the release of the manifest refresh/,
      );
      expect(await get("/v1/flows/second")).toEqual([{ n: 2 }]);
      manifests.behave(serving(ONE, '"1"'));
      expect(await (await refresh()).json()).toMatchObject({ status: "reloaded", endpoints: 1 });
    },
  );

  it("swaps added, changed and removed endpoints into service, with their documentation; a 304 leaves all as it is", async () => {
    const { url, manifests, refresh, get } = await following(serving(TWO, '"2"'));
    expect(await get("/v1/flows/second")).toEqual({ detail: "Not Found" });
    expect(await (await refresh()).json()).toMatchObject({
      status: "reloaded",
      models: 2,
      endpoints: 2,
      added: ["/v1/flows/second"],
      removed: [],
      changed: ["/v1/flows/first"],
      skipped: [],
    });
    expect(await get("/v1/flows/second")).toEqual([{ n: 2 }]);
    expect(await get("/openapi.json")).toHaveProperty(["paths", "/v1/flows/second"]);
    expect(await described(url, "POST", "/v1/system/manifest/refresh", KEYS.tier3)).toMatchObject({
      status: "unchanged",
      models: 2,
      endpoints: 2,
      added: [],
    });
    expect(manifests.conditions).toEqual([undefined, '"2"']);
    manifests.behave(serving(THREE, '"3"'));
    expect(await (await refresh()).json()).toMatchObject({
      status: "reloaded",
      added: ["/v1/flows/third"],
      removed: ["/v1/flows/first", "/v1/flows/second"],
      skipped: [
        { model: "model.test.broken", errors: [expect.stringContaining("cannot be a path segment")] },
      ],
    });
    expect(await get("/v1/flows/first")).toEqual({ detail: "Not Found" });
    expect(await get("/v1/flows/third")).toEqual([{ n: 2 }]);
  });

  it("warns of what it removes, skips, opens or cannot find, by name and reason", async () => {
    const tiered = (name: string, tier: string): TestModel => ({
      ...model(name, "first"),
      tags: [...model(name, "first").tags, tier],
    });
    const declared = { ...model("declared", "fourth"), alias: "one" };
    const { command, manifests, refresh } = await following(
      serving(manifestOf([tiered("one", "tier2"), model("two", "second"), declared]), '"1"'),
    );
    await refresh();
    const next = manifestOf([
      tiered("one", "tier1"),
      model("nowhere", "third"),
      { ...model("two", "bad/resource") },
      { ...declared, columns: {} },
    ]);
    manifests.behave(serving(next, '"2"'));
    const { warnings } = (await described(
      command.url,
      "POST",
      "/v1/system/manifest/refresh",
      KEYS.tier3,
    )) as { warnings: unknown[] };
    const invalid: unknown = expect.stringContaining("cannot be a path segment");
    const expected = [
      { kind: "removed", subject: "/v1/flows/second", reason: invalid },
      { kind: "opened", subject: "/v1/flows/first", reason: "Its tier was tier2 and is tier1 now." },
      {
        kind: "opened",
        subject: "/v1/flows/fourth",
        reason: "Its model declares no columns now: every column of the relation is served.",
      },
      { kind: "skipped", subject: "model.test.two", reason: invalid },
      {
        kind: "missing_relation",
        subject: `${schema}.nowhere`,
        reason: expect.stringContaining("no such relation"),
      },
    ];
    expect(warnings).toEqual(expected);
    await command.until(/missing_relation/);
    const { stdout, stderr } = command.printed();
    const logged = `${stdout}${stderr}`
      .split("\n")
      .filter((line) => line.includes('"msg":"refresh warning"'))
      .map((line) => JSON.parse(line) as unknown);
    expect(logged).toMatchObject(expected);
    expect(await described(command.url, "GET", "/health")).toEqual({
      status: "degraded",
      database_connected: true,
      missing_relations: [`${schema}.nowhere`],
    });
    const metrics = await (await fetch(`${command.url}/metrics`)).text();
    expect(metrics).toContain("\nroutewright_missing_relations 1\n");
    expect(metrics).toContain("\nroutewright_skipped_models 1\n");
  });

  it("shares one run among those that arrive while another runs, and loses none", async () => {
    const { manifests, refresh } = await following(serving(ONE, '"1"'));
    const held: (() => void)[] = [];
    manifests.behave((...exchange) => void held.push(() => serving(TWO, '"2"')(...exchange)));
    const asked = manifests.conditions.length;
    const first = refresh();
    await expect.poll(() => manifests.conditions.length).toBe(asked + 1);
    const later = [refresh(), refresh(), refresh()];
    for (let i = 1; i <= 2; i++) {
      await expect.poll(() => held).toHaveLength(i);
      // All three arrive.
      await sleep(2000);
      held.at(-1)?.();
    }
    expect(await (await first).json()).toMatchObject({ status: "reloaded" });
    for (const answer of await Promise.all(later))
      expect(await answer.json()).toMatchObject({ status: "unchanged" });
    expect(manifests.conditions).toHaveLength(asked + 2);
  });

  const FAULTS: readonly (readonly [string, Behaviour, RegExp])[] = [
    ["has no endpoint", serving(manifestOf([]), '"0"'), /no endpoint/],
    ["answers 500", (_, response) => void response.writeHead(500).end(), /answered 500/],
    ["sends HTML", (_, response) => void response.end("<!doctype html><title>Log in</title>"), /HTML page/],
    [
      "redirects in a loop",
      (_, response) => void response.writeHead(302, { Location: "/manifest.json" }).end(),
      /redirect/,
    ],
  ];

  describe("of a manifest that was read", async () => {
    const { manifests, refresh, get, command, url } = await following(serving(TWO, '"2"'));
    const logged = (): number => command.printed().stdout.split("manifest not refreshed").length - 1;

    it("needs a tier3 key", async () => {
      const answer = await refresh(KEYS.tier1);
      expect(answer.status).toBe(403);
      expect(await answer.json()).toEqual({
        detail: expect.stringMatching(/^Access denied\. This endpoint requires tier3 access\./),
      });
    });

    it("reports the manifest's hash and time, as /metrics does", async () => {
      const { manifest_hash, loaded_at } = (await (await refresh()).json()) as Record<string, string>;
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const seconds = Date.parse(loaded_at ?? "") / 1000;
      expect(metrics).toContain(
        `routewright_manifest_loaded_timestamp_seconds{hash="${manifest_hash}"} ${seconds}`,
      );
    });

    it.each(FAULTS)(
      "leaves the endpoints as they are where its server %s",
      async (_name, fault, complaint) => {
        // Reloads at first, then ends the fault before.
        manifests.behave(serving(TWO, '"2"'));
        expect(await (await refresh()).json()).not.toMatchObject({ status: "error" });
        const before = logged();
        manifests.behave(fault);
        for (let i = 0; i < 2; i++) {
          const answer = await (await refresh()).json();
          expect(answer).toEqual({
            status: "error",
            models: 2,
            endpoints: 2,
            detail: expect.stringMatching(complaint),
          });
        }
        expect(await get("/v1/flows/second")).toEqual([{ n: 2 }]);
        await expect.poll(logged).toBe(before + 1);
      },
    );
  });
});

it("routewright serve --watch follows the manifest automatically", async () => {
  const { manifests, command, get } = await following(serving(TWO, '"2"'), {
    DBT_MANIFEST_REFRESH_ENABLED: "true",
    DBT_MANIFEST_REFRESH_INTERVAL_SECONDS: "1",
  });
  await command.until(/"added":1.*"manifest refreshed"/);
  expect(await get("/v1/flows/second")).toEqual([{ n: 2 }]);
  manifests.behave(serving(THREE, '"3"'));
  await command.until(/"removed":2.*"manifest refreshed"/);
  expect(await get("/v1/flows/third")).toEqual([{ n: 2 }]);
  expect((await command.stop()).code).toBe(0);
});
