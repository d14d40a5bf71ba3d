import { createServer } from "node:http";
import { Client } from "pg";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import {
  replayWebhooks,
  rotateWebhookSecret,
  deleteWebhook,
  setWebhook,
} from "../../../runtime/ramp/operator/webhooks.js";
import { DEFAULT_DELIVERY_POLICY } from "../../../runtime/ramp/webhooks/events.js";
import { ownReceiver } from "../support/receiver.js";
import { listening } from "../support/server.js";
import {
  eventually,
  made,
  newCustomer,
  onramp,
  ownerRows,
  ownWorld,
  reached,
  type TestProject,
  untilTrue,
} from "../support/world.js";

const world = await ownWorld();

const deliveries = (project: TestProject, { databaseUrl } = world) =>
  ownerRows(databaseUrl, "SELECT * FROM ramp.webhook_deliveries WHERE project_id = $1", [project.id]);

/** Deliveries to every endpoint of the project, due after a pause. */
const insertDeliveries = (databaseUrl: string, project: TestProject, count: number, pause = "0 s") =>
  ownerRows(
    databaseUrl,
    `WITH event AS (INSERT INTO ramp.events (project_id, id, type, sequence, body)
       SELECT $1, gen_random_uuid(), 'intent.status_changed', nextval('ramp.event_sequence'), '{}' FROM generate_series(1, $2)
       RETURNING project_id, id)
     INSERT INTO ramp.webhook_deliveries (project_id, event_id, endpoint_id, attempt_at)
     SELECT event.project_id, event.id, e.id, now() + $3::interval FROM event, ramp.webhook_endpoints e WHERE e.project_id = $1`,
    [project.id, count, pause],
  );

const allDelivered = (project: TestProject, at = world) =>
  eventually(
    () => deliveries(project, at),
    (rows) => rows.length > 0 && rows.every(({ status }) => status === "DELIVERED"),
  );

async function intentOf(project: TestProject, at = world): Promise<{ auth: string; path: string }> {
  const auth = await newCustomer(at, project);
  const created = await at.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
  expect(created.status, created.text).toBe(201);
  return { auth, path: `/v1/intent/${String(created.json.intent.id)}` };
}

const completed = ({ auth, path }: { auth: string; path: string }, at = world) =>
  reached(at, path, { auth }, "COMPLETED");

/** Accepts connections and never answers. */
async function ownHangingReceiver(): Promise<{ url: string; open(): number; most(): number }> {
  let open = 0;
  let most = 0;
  const server = createServer((request) => {
    most = Math.max(most, ++open);
    request.on("close", () => open--);
  });
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: await listening(server), open: () => open, most: () => most };
}

it("processes and delivers for others while 1,000 deliveries wait for a receiver that hangs, as many at a time as its endpoint allows", async () => {
  // An attempt that never ends: whatever waited for it would never happen.
  const world = await ownWorld({ deliveries: { ...DEFAULT_DELIVERY_POLICY, timeoutMs: 3_600_000 } });
  const [stuck, other] = [await world.project(), await world.project()];
  const hanging = await ownHangingReceiver();
  const receiver = await ownReceiver();
  await world.webhook(stuck, hanging.url, { concurrency: 2 });
  await world.webhook(other, receiver.url);
  await insertDeliveries(world.databaseUrl, stuck, 1000);
  await untilTrue(() => hanging.open() === 2);
  await completed(await intentOf(other, world), world);
  await allDelivered(other, world);
  const waiting = (await deliveries(stuck, world)).filter(({ status }) => status === "PENDING");
  expect(waiting).toHaveLength(1000);
  expect(waiting.filter(({ attempts }) => attempts === 1)).toHaveLength(2);
  expect([hanging.open(), hanging.most()]).toEqual([2, 2]);
});

it("delivers the others while a transaction keeps one delivery locked", async () => {
  const project = await world.project();
  const receiver = await ownReceiver();
  await world.webhook(project, receiver.url);
  await insertDeliveries(world.databaseUrl, project, 4, "2 s");
  const client = new Client({ connectionString: world.databaseUrl });
  await client.connect();
  try {
    await client.query("BEGIN");
    await client.query(
      "SELECT FROM ramp.webhook_deliveries WHERE id = (SELECT max(id::text)::uuid FROM ramp.webhook_deliveries WHERE project_id = $1) FOR UPDATE",
      [project.id],
    );
    await untilTrue(() => receiver.received.length === 3);
  } finally {
    await client.end();
  }
  await allDelivered(project);
});

it("sends to every endpoint of a project, with a sequence number that grows", async () => {
  const project = await world.project();
  const receivers = [await ownReceiver(), await ownReceiver()];
  const secrets: string[] = [];
  for (const { url } of receivers) secrets.push((await world.webhook(project, url)).secret);
  await completed(await intentOf(project));
  await allDelivered(project);
  const [first = [], second = []] = receivers.map((receiver, at) => receiver.verified(secrets[at] ?? ""));
  expect(new Set(first.map(({ id }) => id))).toEqual(new Set(second.map(({ id }) => id)));
  const inOrder = first
    .filter(({ type }) => type === "intent.status_changed")
    .sort((left, right) => left.sequence - right.sequence);
  expect(inOrder.map(({ data }) => data["previousStatus"]).slice(1)).toEqual(
    inOrder.map(({ data }) => data["status"]).slice(0, -1),
  );
});

it("sends pending deliveries to the new address after it has changed, with the same secret", async () => {
  const project = await world.project();
  const [old, next] = [await ownReceiver(), await ownReceiver()];
  old.status = 500;
  const { webhookId, secret } = await world.webhook(project, old.url);
  await completed(await intentOf(project));
  await eventually(
    () => deliveries(project),
    (rows) => rows.every(({ attempts }) => Number(attempts) > 0),
  );
  made(await setWebhook(world.database, project.id, { webhookId, url: next.url, allowPrivate: true }));
  made(await replayWebhooks(world.database, project.id, { status: "PENDING" }));
  await allDelivered(project);
  expect(next.verified(secret)).toHaveLength((await deliveries(project)).length);
});

it("signs with both secrets while a rotation overlaps, and replays by event and by time", async () => {
  const project = await world.project();
  const receiver = await ownReceiver();
  const before = await world.webhook(project, receiver.url);
  const rotation = { webhookId: before.webhookId, overlapHours: 1 };
  const after = made(await rotateWebhookSecret(world.database, world.vault, project.id, rotation));
  await completed(await intentOf(project));
  await allDelivered(project);
  for (const { headers, body } of receiver.received)
    for (const secret of [before.secret, after.secret])
      expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
  const count = receiver.received.length;
  const event = String(receiver.received[0]?.headers["webhook-id"]);
  expect(made(await replayWebhooks(world.database, project.id, { event }))).toEqual({ replayed: 1 });
  await untilTrue(() => receiver.received.length === count + 1);
  const since = new Date(Date.now() + 60_000).toISOString();
  expect(made(await replayWebhooks(world.database, project.id, { since }))).toEqual({ replayed: 0 });
  expect(await replayWebhooks(world.database, project.id, { since: "yesterday" })).toMatchObject({
    ok: false,
  });
});

it("an endpoint gets the types of events that it wants; deleted, it gets nothing", async () => {
  const project = await world.project();
  const receiver = await ownReceiver();
  const eventTypes = ["transaction.updated"];
  const { webhookId, secret } = await world.webhook(project, receiver.url, { eventTypes });
  await completed(await intentOf(project));
  const types = await eventually(
    () => Promise.resolve(receiver.verified(secret).map(({ type }) => type)),
    (all) => all.length === 3,
  );
  expect(new Set(types)).toEqual(new Set(["transaction.updated"]));
  made(await deleteWebhook(world.database, project.id, webhookId));
  expect(await deleteWebhook(world.database, project.id, webhookId)).toMatchObject({ ok: false });
});

it("an exhausted delivery is reported to the other endpoints, once", async () => {
  const project = await world.project();
  const [broken, other] = [await ownReceiver(), await ownReceiver()];
  broken.status = 500;
  await world.webhook(project, broken.url);
  const { secret } = await world.webhook(project, other.url);
  await insertDeliveries(world.databaseUrl, project, 1);
  await eventually(
    async () => {
      await world.rows(
        "UPDATE ramp.webhook_deliveries SET attempt_at = now() WHERE status = 'PENDING' AND attempted_until IS NULL AND project_id = $1",
        [project.id],
      );
      return other.received.filter(({ body }) => body.includes("webhook.exhausted")).length;
    },
    (count) => count > 0,
  );
  const notice = other.received.find(({ body }) => body.includes("webhook.exhausted"));
  expect(JSON.parse(notice?.body ?? "{}").data).toMatchObject({ projectId: project.id, lastResult: "500" });
  expect(secret).toMatch(/^whsec_/);
});
