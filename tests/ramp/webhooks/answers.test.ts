/** What a receiver's answer means: a delivery, a later attempt, or the end of its endpoint. */
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { expect } from "vitest";
import { eachBeside, itBeside } from "../../support/beside.js";
import { listen } from "../../support/port.js";
import { diagnose } from "../../../runtime/ramp/operator/diagnostics.js";
import { DEFAULT_DELIVERY_POLICY } from "../../../runtime/ramp/webhooks/deliveries.js";
import { listWebhooks, replayWebhooks, setWebhook } from "../../../runtime/ramp/webhooks/endpoints.js";
import { RETRY_PAUSES_SECONDS } from "../../../runtime/webhooks/retry-schedule.js";
import { ownReceiver } from "../support/receiver.js";
import {
  eventually,
  made,
  newCustomer,
  onramp,
  ownWorld,
  type TestProject,
  untilTrue,
} from "../support/world.js";

/** An answer that does not end is waited for that long. */
const world = await ownWorld({ deliveries: { ...DEFAULT_DELIVERY_POLICY, timeoutMs: 10_000 } });

const deliveries = (project: TestProject) =>
  world.rows(
    "SELECT d.*, extract(epoch FROM d.attempt_at - d.updated_at)::int AS pause FROM ramp.webhook_deliveries d WHERE project_id = $1 ORDER BY created_at, id",
    [project.id],
  );
/** Waits until there are deliveries and all of them are so. */
const all = (project: TestProject, isExpected: (row: Record<string, unknown>) => boolean) =>
  eventually(
    () => deliveries(project),
    (rows) => rows.length > 0 && rows.every(isExpected),
  );
/** Deliveries to every endpoint of the project, due after a pause. */
const insertDeliveries = (project: TestProject, count: number, pause = "0 s") =>
  world.rows(
    `WITH event AS (INSERT INTO ramp.events (project_id, id, type, sequence, body)
       SELECT $1, gen_random_uuid(), 'intent.status_changed', nextval('ramp.event_sequence'), '{}' FROM generate_series(1, $2)
       RETURNING project_id, id)
     INSERT INTO ramp.webhook_deliveries (project_id, event_id, endpoint_id, attempt_at)
     SELECT event.project_id, event.id, e.id, now() + $3::interval FROM event, ramp.webhook_endpoints e WHERE e.project_id = $1`,
    [project.id, count, pause],
  );

const BODIES: readonly [string, Record<string, string>, Buffer | null][] = [
  ["compressed", { "content-encoding": "gzip" }, Buffer.from([0x1f, 0x8b, 8, 0, 1])],
  ["not UTF-8", { "content-type": "text/plain" }, Buffer.from([0xff, 0xfe, 0xc3])],
  ["large", {}, Buffer.alloc(2_000_000, "x")],
  ["unfinished", { "content-length": "10" }, Buffer.from("x")],
  ["of another length", { "transfer-encoding": "chunked" }, null],
];

eachBeside(BODIES, "counts a 2xx whose body is %s as delivered", async ([, headers, body]) => {
  const project = await world.project();
  const server = createServer((_request, response) => {
    if (body === null)
      return void response.socket?.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n");
    response.writeHead(200, headers).write(body);
    if (!("content-length" in headers)) response.end();
  });
  await world.webhook(project, `http://${await listen(server)}/`);
  await insertDeliveries(project, 1);
  expect(await all(project, ({ status }) => status !== "PENDING")).toMatchObject([
    { last_result: "200", attempts: 1 },
  ]);
  server.closeAllConnections();
});

itBeside("counts an answer that switches protocols as failed", async () => {
  const project = await world.project();
  const server = createServer((_request, response) => {
    response.socket?.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n");
  });
  await world.webhook(project, `http://${await listen(server)}/`);
  await insertDeliveries(project, 1);
  expect(await all(project, ({ last_result }) => last_result !== null)).toMatchObject([
    { status: "PENDING", last_result: "unexpected upgrade" },
  ]);
});

const IDLE: readonly [string, Record<string, string>][] = [
  ["announces", { "keep-alive": "timeout=2" }],
  ["does not announce", {}],
];

eachBeside(
  IDLE,
  "sends nothing on an idle connection whose receiver %s when it closes it",
  async ([, headers]) => {
    const project = await world.project();
    const sockets = new Set<Socket>();
    const server = createServer((request, response) => {
      // What arrives while a receiver closes is lost: it cannot be told from what it has worked on.
      if (sockets.has(request.socket)) request.socket.resetAndDestroy();
      sockets.add(request.socket);
      response.writeHead(204, headers).end();
    });
    server.keepAliveTimeout = 0;
    await world.webhook(project, `http://${await listen(server)}/`);
    await insertDeliveries(project, 1);
    await untilTrue(() => sockets.size === 1 && [...sockets].every(({ destroyed }) => destroyed));
    await insertDeliveries(project, 1);
    const rows = await all(project, ({ last_result }) => last_result !== null);
    expect(rows).toMatchObject([{ last_result: "204" }, { last_result: "204" }]);
  },
);

const PAUSES: readonly [string, number][] = [
  ["3600", 3_600],
  ["5", RETRY_PAUSES_SECONDS[0]],
  ["99999999999", 36 * 60 * 60],
  [new Date(Date.now() + 7_200_000).toUTCString(), 7_200],
  ["soon", RETRY_PAUSES_SECONDS[0]],
];

eachBeside(
  PAUSES,
  "waits as long as the receiver asks with Retry-After: %s, and not less than the schedule",
  async ([retryAfter, pause]) => {
    const project = await world.project();
    const server = createServer((_request, response) =>
      response.writeHead(429, { "retry-after": retryAfter }).end(),
    );
    await world.webhook(project, `http://${await listen(server)}/`);
    await insertDeliveries(project, 1);
    const [row] = await all(project, ({ last_result }) => last_result === "429");
    expect(Math.abs(Number(row?.["pause"]) - pause)).toBeLessThan(100);
  },
);

itBeside(
  "switches an endpoint off whose receiver answers 410, and says so; a new address switches it on",
  async () => {
    const [project, receiver] = [await world.project(), await ownReceiver()];
    receiver.status = 410;
    const { webhookId } = await world.webhook(project, receiver.url);
    const other = await ownReceiver();
    await world.webhook(project, other.url);
    // Before the one that is due: the worker may have it at once.
    await insertDeliveries(project, 3, "1 h");
    await insertDeliveries(project, 1);
    await untilTrue(() => other.received.some(({ body }) => body.includes("webhook.exhausted")));
    const own = async () => (await deliveries(project)).filter((row) => row["endpoint_id"] === webhookId);
    expect((await own()).map(({ status }) => status)).toEqual([
      "EXHAUSTED",
      "EXHAUSTED",
      "EXHAUSTED",
      "EXHAUSTED",
    ]);
    const [listed] = await listWebhooks(world.database, project.id);
    expect(listed).toMatchObject({
      webhookId,
      enabled: false,
      goneAt: expect.any(Date),
      undeliverable: expect.stringContaining("410"),
    });
    const findings = await diagnose(world.database, world.vault);
    expect(findings.filter(({ ok, detail }) => !ok && detail.includes(webhookId))).toHaveLength(1);
    const count = receiver.received.length;
    const auth = await newCustomer(world, project);
    await world.call("POST", "/v1/intent", { auth, body: onramp() });
    await untilTrue(() =>
      other.received.some(({ body }) => body.includes("PENDING_PAYMENT") || body.includes("COMPLIANCE")),
    );
    expect(receiver.received).toHaveLength(count);
    receiver.status = 200;
    made(await setWebhook(world.database, project.id, { webhookId, url: receiver.url, allowPrivate: true }));
    made(await replayWebhooks(world.database, project.id, {}));
    await untilTrue(async () => (await own()).every(({ status }) => status === "DELIVERED"));
    expect(await listWebhooks(world.database, project.id)).toMatchObject([
      { enabled: true, goneAt: null, undeliverable: null },
      {},
    ]);
  },
);
