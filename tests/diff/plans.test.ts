import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OrganizationPlan, Plans } from "@routewright/runtime/model";
import { describe, expect, it } from "vitest";
import { CHANGE_KINDS, KINDS } from "../../generator/diff/change-kinds.js";
import { comparePlans } from "../../generator/diff/compare-plans.js";
import { KeyDatabase } from "../../runtime/server/accounts/key-database.js";
import { GOOD, routewright } from "../commands/run.js";
import { ownDatabase } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, ownFolder } from "../support/service.js";

const plan = (given: Partial<OrganizationPlan> = {}): Plans => ({ pro: { tier: "tier2", ...given } });

/** What is reported forwards and backwards. */
const TABLE: readonly (readonly [Plans, Plans, readonly string[], readonly string[]])[] = [
  [plan(), {}, ["plan-removed"], ["plan-added → tier2"]],
  [plan(), plan({ requestsPerMinute: 1000 }), [], []],
  [
    plan(),
    plan({ requestsPerMinute: 60 }),
    ["plan-limit-lowered 1000 → 60"],
    ["plan-limit-raised 60 → 1000"],
  ],
  [
    plan({ requestsPerMinute: 60 }),
    plan({ tier: "tier3", requestsPerMinute: 60 }),
    ["plan-tier-raised tier2 → tier3"],
    ["plan-tier-lowered tier3 → tier2"],
  ],
  [
    plan(),
    plan({ quota: { requests: 1000, rows: 50 } }),
    ["plan-quota-lowered requests none → 1000", "plan-quota-lowered rows none → 50"],
    ["plan-quota-raised requests 1000 → none", "plan-quota-raised rows 50 → none"],
  ],
  [
    plan({ quota: { bytes: 9 } }),
    plan({ quota: { bytes: 8 } }),
    ["plan-quota-lowered bytes 9 → 8"],
    ["plan-quota-raised bytes 8 → 9"],
  ],
  [
    plan({ quota: { requests: 9 } }),
    plan({ quota: { requests: 9, countNotModified: true } }),
    ["plan-quota-lowered countNotModified false → true"],
    ["plan-quota-raised countNotModified true → false"],
  ],
  [
    plan({ keys: 3, members: 2 }),
    plan({ keys: 2 }),
    ["plan-size-lowered keys 3 → 2", "plan-size-raised members 2 → none"],
    ["plan-size-raised keys 2 → 3", "plan-size-lowered members none → 2"],
  ],
  [
    plan({ price: "€ 10" }),
    plan({ price: "€ 12" }),
    ["plan-price-changed € 10 → € 12"],
    ["plan-price-changed € 12 → € 10"],
  ],
  [plan({ upgrade: "https://example.com" }), plan(), [], []],
  [plan(), plan({ allowed: ["shop"] }), ["plan-paths-removed all → shop"], ["plan-paths-added shop → all"]],
  [
    plan({ allowed: ["shop", "bank"] }),
    plan({ allowed: ["/v1/shop/orders"] }),
    ["plan-paths-removed shop", "plan-paths-removed bank"],
    ["plan-paths-added shop", "plan-paths-added bank"],
  ],
];

const judged = (base: Plans, head: Plans) =>
  comparePlans({ plans: base }, { plans: head }).map(
    ({ severity, kind, subject, before, after, endpoint }) => {
      expect(severity).toBe(KINDS[kind].severity);
      expect(endpoint).toBe("plans/pro");
      const values = after === null ? "" : `${before ?? ""} → ${after}`;
      return `${kind} ${subject ?? ""} ${values}`.trim().replace(/ +/g, " ");
    },
  );

describe("a change of a plan", () => {
  it.each(TABLE)("from %j to %j", (base, head, forwards, backwards) => {
    expect({ forwards: judged(base, head), backwards: judged(head, base) }).toEqual({ forwards, backwards });
  });

  it("has each of its kinds shown here", () => {
    const shown = new Set(TABLE.flatMap(([, , ...both]) => both.flat()).map((text) => text.split(" ")[0]));
    expect(CHANGE_KINDS.filter((kind) => kind.startsWith("plan-") && !shown.has(kind))).toEqual([]);
  });

  it("is rated as the config file says", () => {
    expect(comparePlans({ plans: plan() }, {}, { "plan-removed": "warning" })).toMatchObject([
      { severity: "warning" },
    ]);
    expect(comparePlans({ plans: plan() }, {}, { "plan-removed": "off" })).toEqual([]);
  });
});

describe("routewright diff", () => {
  const folder = ownFolder();
  generateInto(join(folder, "base"), manifestOf([GOOD]), { plans: plan() });
  generateInto(join(folder, "generated"), manifestOf([GOOD]), { plans: plan({ requestsPerMinute: 60 }) });
  const diff = (flags: readonly string[] = [], variables: Readonly<Record<string, string>> = {}) =>
    routewright(folder, ["diff", "base", "generated", ...flags], variables);

  it("fails at a lowered limit, and names the organizations that have the plan", async () => {
    const { exit, out } = await diff();
    expect(exit).toBe(1);
    expect(out).toContain("plan-limit-lowered");
    expect(out).toContain("plans/pro");
    expect(out).toContain("1000 → 60");
    const url = await ownDatabase();
    const store = await KeyDatabase.open(url);
    for (const org of ["acme", "globex", "initech"]) await store.create({ tier: "tier1", user: "a", org });
    for (const org of ["acme", "initech"]) await store.organizations.setPlan(org, "pro");
    await store.close();
    const hit = await diff(["--usage"], { KEYS_DATABASE_URL: url });
    expect(hit.out).toContain("Organizations with this plan: acme, initech");
    const away = await diff(["--usage"], { KEYS_DATABASE_URL: "postgres://127.0.0.1:1/none" });
    expect(away).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/^error: KEYS_DATABASE_URL: /) as string,
    });
  });

  it("accepts it with a reason", async () => {
    const entry = { kind: "plan-limit-lowered", endpoint: "plans/pro", before: "1000", after: "60" };
    writeFileSync(join(folder, "accept.json"), JSON.stringify([{ ...entry, reason: "announced" }]));
    const { exit, out } = await diff(["--accept", "accept.json"]);
    expect([exit, out]).toEqual([0, expect.stringContaining("announced")]);
  });
});

it("generate refuses a plan that names what no endpoint has", async () => {
  const folder = ownFolder();
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf([GOOD])));
  const config = { plans: { pro: { tier: "tier2", allowed: ["bridges", "shop", "/v1/bridges/none"] } } };
  writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
  expect((await routewright(folder, ["generate", "--manifest", "manifest.json"])).err).toBe(
    "error: `plans.pro.allowed`: no endpoint has the category or path shop.\nerror: `plans.pro.allowed`: no endpoint has the category or path /v1/bridges/none.\n",
  );
  config.plans.pro.allowed = ["bridges"];
  writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
  expect((await routewright(folder, ["generate", "--manifest", "manifest.json"])).exit).toBe(0);
  expect((await routewright(folder, ["generate", "--manifest", "manifest.json", "--check"])).exit).toBe(0);
});
