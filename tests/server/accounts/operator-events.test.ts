/** Events of keys, plans and quotas for operators, by every way to change them. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { OWN_FIGURES, type OwnFigures } from "../../../runtime/core/model/organization-plan.js";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import { OPERATOR_EVENTS } from "../../../runtime/server/events/operator-events.js";
import { ownReceiver } from "../../ramp/support/receiver.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { accountWorld, keyIn, OPEN, OPERATOR } from "./account-world.js";

const SOON = { timeout: 90_000, interval: 50 };
const UNLIMITED = "sk_live_unlimited";
const FIVE = {
  ...Object.fromEntries(OWN_FIGURES.map((figure) => [figure, null])),
  requests: 5,
} as unknown as OwnFigures;

async function openStore(url: string): Promise<KeyDatabase> {
  const store = await KeyDatabase.open(url);
  atEnd(() => store.close());
  return store;
}

async function keyOf(store: KeyDatabase) {
  const made = await store.create({ tier: "tier1", user: "ann", org: "acme" });
  if (!made.ok) throw new Error(made.problems.join(" "));
  return made.value;
}

it("a subscriber gets each change once, by the command, over HTTP and on the account page", async () => {
  const { url, database, operate, browser } = await accountWorld(OPEN, {
    API_KEYS: JSON.stringify({
      [OPERATOR]: { tier: "tier3", user: "ops", allowed: ["system"] },
      [UNLIMITED]: "tier3",
    }),
    ...{ WEBHOOK_SECRETS_KEY: "5a".repeat(32), WEBHOOK_ALLOW_PRIVATE: "true" },
  });
  const store = await openStore(database);
  const receiver = await ownReceiver();
  const subscription = await sendRequest(url, "/v1/system/subscriptions", {
    ...{ method: "POST", key: UNLIMITED, body: { url: receiver.url, types: OPERATOR_EVENTS } },
  });
  const { secret } = JSON.parse(subscription.text) as { readonly secret: string };

  const first = await keyOf(store);
  const second = await operate("/keys", { user: "bob", tier: "tier1", organization: "acme" });
  const rotated = await store.rotate(first.id, 3600);
  if (!rotated.ok) throw new Error(rotated.problems.join(" "));
  for (let i = 0; i < 2; i++) await operate("/organizations/acme", { plan: "pro" }, "PATCH");
  await store.organizations.setPlan("acme", "free");

  const reader = browser();
  await reader.signIn("ann");
  const page = await reader.submit("keys", { name: "laptop" });
  const own = { key: keyIn(page), organization: /org_[0-9a-f]{24}/.exec(page.text)?.[0] };
  const [stored] = await queryAt(database, "SELECT id FROM routewright_keys.keys WHERE organization = $1", [
    own.organization,
  ]);

  await store.organizations.setFigures("acme", FIVE);
  const ask = () => sendRequest(url, "/v1/shop/sales", { key: first.key });
  await expect.poll(async () => (await ask()).status, SOON).toBe(429);

  const created = { type: "key.created", organization: "acme", tier: "tier1", replaces: null };
  const changed = { type: "plan.changed", organization: "acme" };
  const reached = { type: "quota.reached", organization: "acme", unit: "requests", quota: 5 };
  const month = new Date().toISOString().slice(0, 7);
  const expected = [
    { ...created, key: first.id },
    { ...created, key: second["id"] },
    { ...created, key: rotated.value.id, replaces: first.id },
    { ...changed, before: null, plan: "pro" },
    { ...changed, before: "pro", plan: "free" },
    { type: "plan.changed", organization: own.organization, before: null, plan: "free" },
    { ...created, organization: own.organization, tier: "tier2", key: stored?.["id"] },
    { ...reached, month, percent: 80, used: expect.any(Number) as number },
    { ...reached, month, percent: 100, used: 5 },
  ];
  // An event whose answer was not recorded in time comes again, as the same one.
  const sent = () =>
    [...new Map(receiver.verified(secret).map((event) => [event.id, event])).values()].map(
      ({ type, data }) => ({ type, ...data }),
    );
  await expect.poll(() => sent().length, SOON).toBe(expected.length);
  await sleep(1500);
  expect(sent()).toHaveLength(expected.length);
  expect(sent()).toEqual(expect.arrayContaining(expected));
  expect(receiver.received.map(({ body }) => body).join()).not.toContain("sk_live_");
});

it("a key database without a schema of events changes all the same", async () => {
  const database = await ownDatabase();
  const store = await openStore(database);
  await queryAt(database, "DROP SCHEMA routewright_events CASCADE");
  const { id } = await keyOf(store);
  expect(await store.rotate(id, 0)).toMatchObject({ ok: true, value: { replaced: id } });
  expect(await store.organizations.setPlan("acme", "free")).toBe(true);
  await queryAt(
    database,
    `SELECT routewright_keys.quota_reached(number, '2026-11-01', 'rows', 80, 10, 8) FROM routewright_keys.organizations`,
  );
  expect(await queryAt(database, "SELECT percent FROM routewright_keys.quota_events")).toEqual([
    { percent: 80 },
  ]);
});

it("a role that may not write events changes keys all the same", async () => {
  const database = await ownDatabase();
  const store = await openStore(database);
  const role = `stranger_${String(process.pid)}`;
  await queryAt(database, `CREATE ROLE ${role}`);
  atEnd(async () => {
    await queryAt(database, `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  });
  await queryAt(
    database,
    `GRANT CREATE, USAGE ON SCHEMA routewright_keys TO ${role};
     ALTER FUNCTION routewright_keys.record_event OWNER TO ${role}`,
  );
  await keyOf(store);
  expect(await queryAt(database, "SELECT FROM routewright_events.events")).toEqual([]);
});
