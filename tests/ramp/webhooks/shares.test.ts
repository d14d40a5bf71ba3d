/** What one project may have of webhooks and deliveries. */
import { createServer } from "node:http";
import { expect, it, vi } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { listen } from "../../support/port.js";
import { PublicNames } from "../../../runtime/webhooks/public-names.js";
import { DEFAULT_DELIVERY_POLICY } from "../../../runtime/ramp/webhooks/deliveries.js";
import { ProjectShares } from "../../../runtime/ramp/webhooks/project-shares.js";
import { ownNameServer } from "../support/name-server.js";
import { ownReceiver } from "../support/receiver.js";
import { ownWorld, type TestProject, untilTrue, type World } from "../support/world.js";

/** Deliveries to every endpoint of the project, due now. */
const insertDeliveries = (world: World, project: TestProject, count: number) =>
  world.rows(
    `WITH event AS (INSERT INTO ramp.events (project_id, id, type, sequence, body)
       SELECT $1, gen_random_uuid(), 'intent.status_changed', nextval('ramp.event_sequence'), '{}' FROM generate_series(1, $2)
       RETURNING project_id, id)
     INSERT INTO ramp.webhook_deliveries (project_id, event_id, endpoint_id, attempt_at)
     SELECT event.project_id, event.id, e.id, now() FROM event, ramp.webhook_endpoints e WHERE e.project_id = $1`,
    [project.id, count],
  );

it("has at most 100 webhooks, also of requests at once; who has more keeps them", async () => {
  const world = await ownWorld();
  const project = await world.project({ providers: [] });
  const add = (at: number) =>
    world.call("POST", "/v1/webhooks", {
      auth: project.basic,
      body: { url: `https://93.184.216.34/${String(at)}` },
    });
  const added = await Promise.all(Array.from({ length: 103 }, (_, at) => add(at)));
  expect(added.filter(({ status }) => status === 201)).toHaveLength(100);
  const refused = added.filter(({ status }) => status !== 201);
  expect(refused.map(({ status, json }) => [status, json.error])).toEqual(
    Array.from({ length: 3 }, () => [409, "TOO_MANY_WEBHOOKS"]),
  );
  await world.rows(
    `INSERT INTO ramp.webhook_endpoints (project_id, id, url, secret)
     SELECT project_id, gen_random_uuid(), url, secret FROM ramp.webhook_endpoints WHERE project_id = $1 LIMIT 20`,
    [project.id],
  );
  const list = () => world.call("GET", "/v1/webhooks", { auth: project.basic });
  expect((await list()).json).toHaveLength(120);
  expect((await add(0)).json.error).toBe("TOO_MANY_WEBHOOKS");
  await world.call("DELETE", `/v1/webhooks/${String(added[0]?.json.id)}`, { auth: project.basic });
  expect((await list()).json).toHaveLength(119);
});

it("has so many deliveries in flight over all of its webhooks, while others get theirs in turn", async () => {
  const deliveries = { ...DEFAULT_DELIVERY_POLICY, timeoutMs: 3_600_000, perProject: 5, maxInFlight: 7 };
  const world = await ownWorld({ deliveries });
  const [loud, quiet] = [await world.project({ providers: [] }), await world.project({ providers: [] })];
  let [open, most] = [0, 0];
  const hanging = createServer(() => (most = Math.max(most, ++open)));
  const url = `http://${await listen(hanging)}/`;
  for (let at = 0; at < 3; at += 1) await world.webhook(loud, url, { concurrency: 10 });
  await insertDeliveries(world, loud, 20);
  await untilTrue(() => open === 5);
  const receiver = await ownReceiver();
  await world.webhook(quiet, receiver.url);
  await insertDeliveries(world, quiet, 20);
  await untilTrue(() => receiver.received.length === 20);
  expect(most).toBe(5);
  hanging.closeAllConnections();
});

it("waits for its turn with a backlog of thousands: another project's event goes between", async () => {
  const deliveries = { ...DEFAULT_DELIVERY_POLICY, perProject: 2, perProjectSecond: 1_000, maxInFlight: 2 };
  const world = await ownWorld({ deliveries });
  const [loud, quiet] = [await world.project({ providers: [] }), await world.project({ providers: [] })];
  const [many, few] = [await ownReceiver(), await ownReceiver()];
  await world.webhook(loud, many.url);
  await world.webhook(quiet, few.url);
  await insertDeliveries(world, loud, 3_000);
  await untilTrue(() => many.received.length > 0);
  await insertDeliveries(world, quiet, 1);
  await untilTrue(() => few.received.length === 1);
  expect(many.received.length).toBeLessThan(3_000);
});

it("begins so many deliveries in a second", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  atEnd(() => void vi.useRealTimers());
  const shares = new ProjectShares({ perProject: 10, perProjectSecond: 3 });
  for (let at = 0; at < 3; at += 1) shares.begin("loud");
  for (let at = 0; at < 3; at += 1) shares.end("loud");
  shares.begin("quiet");
  expect(shares.inUse()).toEqual([
    { projectId: "loud", inFlight: 0, free: 0 },
    { projectId: "quiet", inFlight: 1, free: 2 },
  ]);
});

it("looks up ten names at a time, and each once; a slow one delays no other project's", async () => {
  const server = await ownNameServer();
  server.addresses.set("shop.test", ["93.184.216.34"]);
  const names = new PublicNames([server.address]);
  const leads = (name: string, tenant: string) => names.leadsToPrivate(new URL(`https://${name}/`), tenant);
  const slow = Array.from({ length: 30 }, (_, at) => leads(`n${String(at % 15)}.slow.test`, "loud"));
  expect(await leads("shop.test", "quiet")).toBe(false);
  const before = server.asked.slice(0, server.asked.indexOf("shop.test"));
  expect(new Set(before.filter((name) => name.endsWith("slow.test"))).size).toBe(10);
  expect(await Promise.all(slow)).toEqual(slow.map(() => null));
});

it("is connected to the address that was checked, and to none where one of them is private", async () => {
  const server = await ownNameServer();
  const names = new PublicNames([server.address]);
  const look = (name: string) =>
    new Promise((resolve) =>
      names.lookupFor("project")(name, { all: true }, (error, found) => resolve(error?.code ?? found)),
    );
  server.addresses.set("shop.test", ["93.184.216.34"]);
  expect(await look("shop.test")).toEqual([{ address: "93.184.216.34", family: 4 }]);
  server.addresses.set("shop.test", ["93.184.216.34", "10.0.0.1"]);
  server.addresses.set("none.test", []);
  expect(await Promise.all(["shop.test", "none.test", "localhost"].map(look))).toEqual([
    "EPRIVATE",
    "ENOTFOUND",
    "EPRIVATE",
  ]);
});
