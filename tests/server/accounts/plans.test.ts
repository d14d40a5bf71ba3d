import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { workerRenderer } from "../../../generator/watch/worker-renderer.js";
import type { ApiKey } from "../../../runtime/core/model/caller.js";
import { type Plans, withPlan } from "../../../runtime/core/model/organization-plan.js";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase, ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, ownFolder, startFolder } from "../../support/service.js";

/** Each look is a request: those of a minute use no window up but that of the plan `small`. */
const SOON = { timeout: 90_000, interval: 100 };
const schema = await ownSchema("CREATE TABLE @.sales (id int); CREATE TABLE @.staff (id int)");

const model = (name: string, category: string, tier: string) => ({
  name,
  schema,
  tags: ["production", category, `api:${name}`, tier],
  columns: { id: "int" },
  api: { allow_unfiltered: true },
});
const MANIFEST = manifestOf([model("sales", "shop", "tier1"), model("staff", "people", "tier2")]);

/** What dbt has made since. */
const REBUILT = manifestOf([
  { ...model("sales", "shop", "tier1"), description: "Sales." },
  model("staff", "people", "tier2"),
]);

const PLANS: Plans = {
  small: { tier: "tier1", requestsPerMinute: 7 },
  shop: { tier: "tier3", allowed: ["shop"] },
  large: { tier: "tier3", requestsPerMinute: 7000 },
};

async function serve(plans: Plans = PLANS) {
  const folder = ownFolder();
  generateInto(folder, MANIFEST, { plans });
  const databaseUrl = await ownDatabase();
  const store = await KeyDatabase.open(databaseUrl);
  atEnd(() => store.close());
  const manifest = join(ownFolder(), "manifest.json");
  writeFileSync(manifest, JSON.stringify(REBUILT));
  const options = { manifest, title: null, generated: folder, allowEdited: false, guard: null };
  const renderer = workerRenderer(options);
  const variables = { KEYS_DATABASE_URL: databaseUrl, RATE_LIMITS: "tier0=3000" };
  const service = await startFolder(folder, variables, { renderer });
  const made = await store.create({ tier: "tier2", user: "ann", org: "acme" });
  if (!made.ok) throw new Error(made.problems.join(" "));
  const { key } = made.value;
  /** Of a request that is answered by the plan of now. */
  const ask = async (path: string) => {
    const { status, headers } = await sendRequest(service.url, path, { key });
    return { status, limit: headers["x-ratelimit-limit"], left: headers["x-ratelimit-remaining"] };
  };
  const limited = async (limit: string) => {
    await expect.poll(async () => (await ask("/v1/none")).limit, SOON).toBe(limit);
  };
  const setPlan = (plan: string | null) => store.organizations.setPlan("acme", plan);
  return { folder, manifest, service, store, key, ask, limited, setPlan };
}

describe("the keys of an organization with a plan", () => {
  it("have its limit and the lower of both tiers, at once, and keep what was counted", async () => {
    const { ask, limited, setPlan } = await serve();
    await limited("1000");
    expect((await ask("/v1/people/staff")).status).toBe(200);
    expect(await setPlan("large")).toBe(true);
    await limited("7000");
    expect((await ask("/v1/people/staff")).status).toBe(200);
    await setPlan("small");
    await limited("7");
    const { status, left } = await ask("/v1/people/staff");
    // What was sent before counts: the window is used up, or nearly so.
    expect(status === 429 || (status === 403 && Number(left) < 7)).toBe(true);
    while ((await ask("/v1/shop/sales")).status !== 429);
    await setPlan(null);
    await limited("1000");
    expect((await ask("/v1/people/staff")).status).toBe(200);
  });

  it("call what the plan and the key both name", async () => {
    const { ask, setPlan } = await serve();
    await setPlan("shop");
    // Before it knows the key the server refuses both.
    const statuses = async () => [
      (await ask("/v1/people/staff")).status,
      (await ask("/v1/shop/sales")).status,
    ];
    await expect.poll(statuses, SOON).toEqual([403, 200]);
  });

  it("open tier0 only where the plan is not served, until a release has it", async () => {
    const { folder, service, ask, limited, setPlan } = await serve({ small: { tier: "tier1" } });
    await setPlan("large");
    await limited("3000");
    expect((await ask("/v1/shop/sales")).status).toBe(403);
    generateInto(folder, MANIFEST, { plans: PLANS });
    await service.reload();
    await limited("7000");
    expect((await ask("/v1/people/staff")).status).toBe(200);
  });

  it("have less once the folder's plan opens less, though the manifest stays as it is", async () => {
    const { folder, service, ask, limited, setPlan } = await serve();
    await setPlan("large");
    expect(await service.refresh()).toMatchObject({ status: "reloaded" });
    await limited("7000");
    expect((await ask("/v1/people/staff")).status).toBe(200);
    generateInto(folder, MANIFEST, {
      plans: { ...PLANS, large: { tier: "tier1", requestsPerMinute: 6999 } },
    });
    await service.reload();
    expect((await ask("/v1/people/staff")).status).toBe(403);
    generateInto(folder, MANIFEST, { plans: { ...PLANS, large: { tier: "tier3", allowed: ["people"] } } });
    expect((await service.refresh()).status).not.toBe("error");
    expect((await ask("/v1/shop/sales")).status).toBe(403);
    expect((await ask("/v1/people/staff")).status).toBe(200);
  });

  it("have less although the manifest cannot be read then", async () => {
    const { folder, manifest, service, ask, limited, setPlan } = await serve();
    await setPlan("large");
    await service.refresh();
    await limited("7000");
    writeFileSync(manifest, "{");
    generateInto(folder, MANIFEST, { plans: { ...PLANS, large: { tier: "tier1" } } });
    await service.reload();
    expect((await ask("/v1/people/staff")).status).toBe(403);
  });

  it("keep it at a refresh from the manifest", async () => {
    const { service, limited, setPlan } = await serve();
    await setPlan("large");
    await limited("7000");
    expect(await service.refresh()).toMatchObject({ status: "reloaded", endpoints: 2 });
    await limited("7000");
  });

  it("are those of an organization that has keys", async () => {
    const { store, setPlan } = await serve();
    expect(await store.organizations.setPlan("globex", "small")).toBe(false);
    await setPlan("small");
    expect(await store.organizations.list()).toMatchObject([{ id: "acme", plan: "small", keys: 1 }]);
  });
});

describe("a key and a plan", () => {
  const key: ApiKey = { id: "1", user: "ann", tier: "tier2", org: "acme", expiresAt: null, allowed: null };
  it.each([
    [null, undefined, null],
    [null, ["shop"], ["shop"]],
    [["shop"], undefined, ["shop"]],
    [
      ["/v1/shop/a", "bank"],
      ["shop", "/v1/bank/b"],
      ["/v1/shop/a", "/v1/bank/b"],
    ],
    [["shop"], ["bank"], []],
    [["shop", "bank"], ["shop"], ["shop"]],
  ])("that allow %j and %j open %j", (ofKey, ofPlan, both) => {
    const plan = { tier: "tier3", ...(ofPlan && { allowed: ofPlan }) } as const;
    expect(withPlan({ ...key, allowed: ofKey }, plan)).toEqual({ ...key, allowed: both });
  });
});
