import { createServer } from "node:http";
import { Client } from "pg";
import { Webhook } from "standardwebhooks";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../../support/port.js";
import { isPublicAddress } from "../../../runtime/webhooks/public-names.js";
import { diagnose } from "../../../runtime/ramp/operator/diagnostics.js";
import { customerIdOf } from "../../../runtime/ramp/database/id.js";
import {
  addWebhook,
  deleteWebhook,
  listWebhooks,
  replayWebhooks,
  setWebhook,
  switchWebhook,
  type WebhookAddress,
} from "../../../runtime/ramp/webhooks/endpoints.js";
import { rotateWebhookSecret } from "../../../runtime/ramp/webhooks/secret-rotation.js";
import { DEFAULT_DELIVERY_POLICY } from "../../../runtime/ramp/webhooks/deliveries.js";
import { RETRY_PAUSES_SECONDS } from "../../../runtime/webhooks/retry-schedule.js";
import { ownReceiver } from "../support/receiver.js";
import {
  eventually,
  made,
  newCustomer,
  onramp,
  ownWorld,
  reached,
  type TestProject,
  untilTrue,
} from "../support/world.js";

const world = await ownWorld();

/** A project with a webhook at a receiver, which answers with this status. */
async function hooked(status = 204, more: Partial<WebhookAddress> = {}, at = world) {
  const [project, receiver] = [await at.project(), await ownReceiver()];
  receiver.status = status;
  return { project, receiver, ...(await at.webhook(project, receiver.url, more)) };
}

const deliveries = (project: TestProject, at = world) =>
  at.rows(
    "SELECT d.*, extract(epoch FROM d.attempt_at - d.updated_at)::int AS pause FROM ramp.webhook_deliveries d WHERE project_id = $1 ORDER BY created_at, id",
    [project.id],
  );
/** Waits until there are deliveries and all of them are so. */
const all = (project: TestProject, isExpected: (row: Record<string, unknown>) => boolean, at = world) =>
  eventually(
    () => deliveries(project, at),
    (rows) => rows.length > 0 && rows.every(isExpected),
  );
const allDelivered = (project: TestProject, at = world) =>
  all(project, ({ status }) => status === "DELIVERED", at);
/** Waits until a delivery has this result. */
const resulted = (project: TestProject, result: string) =>
  untilTrue(async () => (await deliveries(project)).some((row) => row["last_result"] === result));

/** Deliveries to every endpoint of the project, due after a pause. */
const insertDeliveries = (project: TestProject, count: number, pause = "0 s", at = world) =>
  at.rows(
    `WITH event AS (INSERT INTO ramp.events (project_id, id, type, sequence, body)
       SELECT $1, gen_random_uuid(), 'intent.status_changed', nextval('ramp.event_sequence'), '{}' FROM generate_series(1, $2)
       RETURNING project_id, id)
     INSERT INTO ramp.webhook_deliveries (project_id, event_id, endpoint_id, attempt_at)
     SELECT event.project_id, event.id, e.id, now() + $3::interval FROM event, ramp.webhook_endpoints e WHERE e.project_id = $1`,
    [project.id, count, pause],
  );
const dueNow = (project: TestProject) =>
  world.rows(
    "UPDATE ramp.webhook_deliveries SET attempt_at = now() WHERE status = 'PENDING' AND attempted_until IS NULL AND project_id = $1",
    [project.id],
  );

/** Creates an intent. */
async function ordered(project: TestProject, more: Readonly<Record<string, unknown>> = {}, at = world) {
  const auth = await newCustomer(at, project, "reported");
  const created = await at.call("POST", "/v1/intent", { auth, body: onramp(more) });
  expect(created.status, created.text).toBe(201);
  return { auth, id: String(created.json.intent.id) };
}
async function completed(project: TestProject, more: Readonly<Record<string, unknown>> = {}, at = world) {
  const { auth, id } = await ordered(project, { autoExecute: true, ...more }, at);
  await reached(at, `/v1/intent/${id}`, { auth }, "COMPLETED");
  return id;
}

it("reports every move of an intent and its transaction to every endpoint, signed as Standard Webhooks are, in sequence, without account details", async () => {
  const { project, receiver, secret } = await hooked();
  const second = await ownReceiver();
  const { secret: secondSecret } = await world.webhook(project, second.url);
  const details = {
    countryCode: "US",
    rail: "ACH",
    provider: "sandbox-south",
    routingNumber: "021000021",
    accountNumber: "987654321",
  };
  const intentId = await completed(project, { src: { currencyCode: "USD", details } });
  await all(project, ({ status }) => status === "DELIVERED");
  await untilTrue(() => receiver.received.length === 11);
  const events = receiver.verified(secret);
  expect(events.map(({ type, data }) => `${type} ${String(data["status"])}`).sort()).toEqual(
    [
      "intent.status_changed PENDING",
      "compliance.updated PENDING",
      "compliance.updated IN_PROGRESS",
      "compliance.updated COMPLETED",
      "intent.status_changed COMPLIANCE_APPROVED",
      "intent.status_changed PENDING_PAYMENT",
      "transaction.updated PENDING",
      "transaction.updated IN_PROGRESS",
      "intent.status_changed TRANSACTION_IN_PROGRESS",
      "transaction.updated SUCCESS",
      "intent.status_changed COMPLETED",
    ].sort(),
  );
  const ids = new Set(events.map(({ id }) => id));
  expect(ids.size).toBe(11);
  await untilTrue(() => second.received.length === 11);
  expect(new Set(second.verified(secondSecret).map(({ id }) => id))).toEqual(ids);
  const inOrder = events
    .filter(({ type }) => type === "intent.status_changed")
    .sort((left, right) => left.sequence - right.sequence)
    .map(({ data }) => data);
  expect(inOrder.map((data) => data["previousStatus"]).slice(1)).toEqual(
    inOrder.map((data) => data["status"]).slice(0, -1),
  );
  expect(inOrder.at(-1)?.["intent"]).toMatchObject({
    srcAmount: "100.00",
    srcCurrencyCode: "USD",
    destCurrencyCode: "USDC_POLYGON",
    livemode: false,
    transaction: { status: "SUCCESS", receipt: { fees: { currencyCode: "USD" } } },
  });
  const customerId = customerIdOf(project.projectId, "reported");
  for (const { data } of events) expect(data).toMatchObject({ intentId, customerId, projectId: project.id });
  expect(receiver.received.map(({ body }) => body).join()).not.toContain("987654321");
});

it("repeats what is not taken after the pauses of the schedule, with the same id and body, then no more; a replay sends it", async () => {
  const { project, receiver } = await hooked(500);
  await ordered(project, { srcAmount: "500.00" });
  const tried = (attempts: number) =>
    all(project, (row) => row["attempts"] === attempts && row["attempted_until"] === null);
  for (const [tries, seconds] of RETRY_PAUSES_SECONDS.entries()) {
    for (const row of await tried(tries + 1))
      expect(row).toMatchObject({ status: "PENDING", pause: seconds, last_result: "500" });
    await dueNow(project);
  }
  const rows = await tried(RETRY_PAUSES_SECONDS.length + 1);
  for (const row of rows) expect(row).toMatchObject({ status: "EXHAUSTED", attempt_at: null });
  const ids = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
  const copies = new Set(
    receiver.received.map(({ headers, body }) => `${String(headers["webhook-id"])} ${body}`),
  );
  expect(copies.size).toBe(ids.size);
  receiver.status = 200;
  expect(made(await replayWebhooks(world.database, project.id, {}))).toEqual({ replayed: rows.length });
  await allDelivered(project);
});

it("follows no redirect", async () => {
  const { project } = await hooked(302);
  await ordered(project, { srcAmount: "500.00" });
  await resulted(project, "302");
});

it("sends nothing to private addresses unless the operator allows that, not even by a name", async () => {
  const project = await world.project();
  const add = (url: string) =>
    addWebhook(world.database, world.vault, project.id, { url, allowPrivate: false });
  for (const url of [
    "http://127.0.0.1:9/",
    "http://localhost:9/",
    "http://LOCALHOST./",
    "http://0x7f000001/",
  ])
    expect(await add(url), url).toMatchObject({ ok: false, problems: [expect.stringContaining("private")] });
  const { webhookId } = made(await add("https://hooks.example/"));
  const set = { webhookId, url: "http://localhost:9/", allowPrivate: false };
  expect(await setWebhook(world.database, project.id, set)).toMatchObject({ ok: false });
  // The name leads there later.
  await world.rows("UPDATE ramp.webhook_endpoints SET url = $2 WHERE id = $1", [webhookId, set.url]);
  await ordered(project, { srcAmount: "500.00" });
  await resulted(project, "EPRIVATE");
  const undeliverable = "it leads to a private address";
  expect(await listWebhooks(world.database, project.id)).toMatchObject([
    { webhookId, undeliverable: expect.stringContaining(undeliverable) },
  ]);
  const findings = (await diagnose(world.database, world.vault)).filter(({ detail }) =>
    detail.includes(webhookId),
  );
  expect(findings).toMatchObject([
    { ok: false, check: "webhooks", detail: expect.stringContaining(undeliverable) },
  ]);
});

it.each([
  "127.0.0.1",
  "10.1.2.3",
  "192.168.0.1",
  "169.254.169.254",
  "::1",
  "fd00::1",
  "::ffff:127.0.0.1",
  "0.0.0.0",
  "100.64.0.1",
])("takes %s for private", (address) => expect(isPublicAddress(address)).toBe(false));

it.each(["1.1.1.1", "2606:4700:4700::1111"])("takes %s for public", (address) =>
  expect(isPublicAddress(address)).toBe(true),
);

/** Accepts connections and never answers. */
async function ownHangingReceiver() {
  let open = 0;
  let most = 0;
  const server = createServer((request) => {
    most = Math.max(most, ++open);
    request.on("close", () => open--);
  });
  return { url: `http://${await listen(server)}`, open: () => open, most: () => most };
}

it("processes and delivers for others while 1,000 deliveries wait for a receiver that hangs, as many at a time as its endpoint allows", async () => {
  // An attempt that never ends: whatever waited for it would never happen.
  const world = await ownWorld({ deliveries: { ...DEFAULT_DELIVERY_POLICY, timeoutMs: 3_600_000 } });
  const [stuck, hanging] = [await world.project(), await ownHangingReceiver()];
  const { project: other } = await hooked(204, {}, world);
  await world.webhook(stuck, hanging.url, { concurrency: 2 });
  await insertDeliveries(stuck, 1000, "0 s", world);
  await untilTrue(() => hanging.open() === 2);
  await completed(other, {}, world);
  await allDelivered(other, world);
  const waiting = (await deliveries(stuck, world)).filter(({ status }) => status === "PENDING");
  expect(waiting).toHaveLength(1000);
  expect(waiting.filter(({ attempts }) => attempts === 1)).toHaveLength(2);
  expect([hanging.open(), hanging.most()]).toEqual([2, 2]);
});

/** Locks rows of a project until the returned function is called. */
async function locked(select: string, project: TestProject): Promise<() => Promise<unknown>> {
  const client = new Client({ connectionString: world.databaseUrl });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("BEGIN");
  await client.query(select, [project.id]);
  return () => client.query("COMMIT");
}

it("delivers the others while a transaction keeps one delivery locked", async () => {
  const { project, receiver } = await hooked();
  // No attempt begins at an endpoint that another process has locked.
  const commitOfEndpoint = await locked(
    "SELECT FROM ramp.webhook_endpoints WHERE project_id = $1 FOR NO KEY UPDATE",
    project,
  );
  await insertDeliveries(project, 4);
  const commitOfDelivery = await locked(
    "SELECT FROM ramp.webhook_deliveries WHERE id = (SELECT max(id::text)::uuid FROM ramp.webhook_deliveries WHERE project_id = $1) FOR UPDATE",
    project,
  );
  await commitOfEndpoint();
  await untilTrue(() => receiver.received.length === 3);
  await commitOfDelivery();
  await allDelivered(project);
});

it("gets nothing while a command has switched it off, and events again once one has switched it on", async () => {
  const { project, receiver, webhookId } = await hooked();
  made(await switchWebhook(world.database, project.id, webhookId, false));
  await completed(project);
  expect(await deliveries(project)).toEqual([]);
  made(await switchWebhook(world.database, project.id, webhookId, true));
  await completed(project);
  await allDelivered(project);
  expect(receiver.received.length).toBeGreaterThan(0);
  expect(await switchWebhook(world.database, project.id, "x", true)).toMatchObject({ ok: false });
});

it("sends pending deliveries to the new address after it has changed, with the same secret", async () => {
  const { project, webhookId, secret } = await hooked(500);
  const next = await ownReceiver();
  await completed(project);
  await all(project, ({ attempts }) => Number(attempts) > 0);
  made(await setWebhook(world.database, project.id, { webhookId, url: next.url, allowPrivate: true }));
  made(await replayWebhooks(world.database, project.id, { status: "PENDING" }));
  await allDelivered(project);
  expect(next.verified(secret)).toHaveLength((await deliveries(project)).length);
});

it("signs with both secrets while a rotation overlaps, and replays by event and by time", async () => {
  const { project, receiver, webhookId, secret } = await hooked();
  const rotation = { webhookId, overlapHours: 1 };
  const after = made(await rotateWebhookSecret(world.database, world.vault, project.id, rotation));
  await completed(project);
  await allDelivered(project);
  for (const { headers, body } of receiver.received)
    for (const one of [secret, after.secret])
      expect(() => new Webhook(one).verify(body, headers as Record<string, string>)).not.toThrow();
  const count = receiver.received.length;
  const event = String(receiver.received[0]?.headers["webhook-id"]);
  const replay = (which: Parameters<typeof replayWebhooks>[2]) =>
    replayWebhooks(world.database, project.id, which);
  expect(made(await replay({ event }))).toEqual({ replayed: 1 });
  await untilTrue(() => receiver.received.length === count + 1);
  expect(made(await replay({ since: new Date(Date.now() + 60_000).toISOString() }))).toEqual({ replayed: 0 });
  expect(await replay({ since: "yesterday" })).toMatchObject({ ok: false });
});

it("an endpoint gets the types of events that it wants; deleted, it gets nothing", async () => {
  const { project, receiver, webhookId, secret } = await hooked(204, { eventTypes: ["transaction.updated"] });
  await completed(project);
  await untilTrue(() => receiver.received.length === 3);
  expect(new Set(receiver.verified(secret).map(({ type }) => type))).toEqual(
    new Set(["transaction.updated"]),
  );
  made(await deleteWebhook(world.database, project.id, webhookId));
  expect(await deleteWebhook(world.database, project.id, webhookId)).toMatchObject({ ok: false });
});

it("an exhausted delivery is reported to the other endpoints, once", async () => {
  const { project } = await hooked(500);
  const other = await ownReceiver();
  const { secret } = await world.webhook(project, other.url);
  await insertDeliveries(project, 1);
  const notices = () => other.received.filter(({ body }) => body.includes("webhook.exhausted"));
  await untilTrue(async () => {
    await dueNow(project);
    return notices().length > 0;
  });
  expect(notices().map(({ body }) => (JSON.parse(body) as { data: unknown }).data)).toMatchObject([
    { projectId: project.id, lastResult: "500" },
  ]);
  expect(other.verified(secret)).toHaveLength(2);
});
