/** What a receiver's last result is called: by the list, the API and the doctor. */
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { expect, it } from "vitest";
import { freePort, listen } from "../../support/port.js";
import { selfSigned } from "../../manifest/self-signed.js";
import { diagnose } from "../../../runtime/ramp/operator/diagnostics.js";
import { addWebhook, listWebhooks, pingWebhook } from "../../../runtime/ramp/webhooks/endpoints.js";
import { DEFAULT_DELIVERY_POLICY } from "../../../runtime/ramp/webhooks/deliveries.js";
import { ownNameServer } from "../support/name-server.js";
import { ownReceiver } from "../support/receiver.js";
import { eventually, made, ownWorld } from "../support/world.js";

const names = await ownNameServer();
names.addresses.set("hooks.gone.test", []);
names.addresses.set("hooks.inside.test", ["10.0.0.1"]);
const world = await ownWorld({
  nameServers: [names.address],
  deliveries: { ...DEFAULT_DELIVERY_POLICY, timeoutMs: 10_000 },
});

/** A receiver whose connections get these bytes; null: nothing, and they stay open. */
async function ownSocket(answer: string | null): Promise<string> {
  const server = createServer();
  server.removeAllListeners("connection");
  server.on("connection", (socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      if (answer !== null) socket.end(answer);
    });
  });
  return listen(server);
}

const answering = async (status: number): Promise<string> => {
  const receiver = await ownReceiver();
  receiver.status = status;
  return receiver.url;
};

it.each([
  [
    "refuses connections",
    async () => `http://127.0.0.1:${String(await freePort())}/`,
    /^it refuses connections \(ECONNREFUSED\)$/,
  ],
  ["is silent", async () => `http://${await ownSocket(null)}/`, /^it does not answer in time \(timeout\)$/],
  [
    "ends the connection",
    async () => `http://${await ownSocket("")}/`,
    /^it ends the connection without an answer \(/,
  ],
  [
    "speaks no HTTP",
    async () => `http://${await ownSocket("220 mail\r\n")}/`,
    /^its answer is not HTTP \(HPE_/,
  ],
  [
    "speaks no TLS",
    async () => `https://${await ownSocket("HTTP/1.1 400 Bad Request\r\n\r\n")}/`,
    /^TLS fails, such as by its certificate \(E/,
  ],
  [
    "has a certificate of its own",
    async () => `https://${await listen(createTlsServer(selfSigned()))}/`,
    /^TLS fails, such as by its certificate \(\w*CERT\w*\)$/,
  ],
  ["answers 500", () => answering(500), /^it fails \(500\)$/],
  ["answers 503", () => answering(503), /^it fails \(503\)$/],
  ["answers 404", () => answering(404), /^it refuses the events \(404\)$/],
  ["redirects", () => answering(302), /^it redirects, and redirects are not followed \(302\)$/],
  ["has no name", () => Promise.resolve("http://hooks.gone.test/"), /^its name is not found \(ENOTFOUND\)$/],
  [
    "is inside",
    () => Promise.resolve("http://hooks.inside.test/"),
    /^it leads to a private address \(EPRIVATE\)$/,
  ],
])("a receiver that %s is named so, with what waits for it", async (_, address, words) => {
  const url = await address();
  const project = await world.project({ providers: [] });
  const allowPrivate = url.includes("127.0.0.1");
  const { webhookId } = made(
    await addWebhook(world.database, world.vault, project.id, {
      url: "http://hooks.gone.test/",
      allowPrivate,
    }),
  );
  await world.rows("UPDATE ramp.webhook_endpoints SET url = $2 WHERE id = $1", [webhookId, url]);
  made(await pingWebhook(world.database, project.id, webhookId));
  const { json } = await eventually(
    () => world.call("GET", `/v1/webhooks/${webhookId}`, { auth: project.basic }),
    (reply) => reply.json.lastResult !== undefined,
  );
  expect(json).toMatchObject({ pending: 1, undeliverable: expect.stringMatching(words), enabled: true });
  expect(Date.now() - Date.parse(json.lastResultAt as string)).toBeLessThan(60_000);
  const [listed] = await listWebhooks(world.database, project.id);
  expect(listed).toMatchObject({
    webhookId,
    pending: 1,
    lastResult: json.lastResult,
    lastResultAt: new Date(json.lastResultAt as string),
    undeliverable: json.undeliverable,
  });
  const findings = (await diagnose(world.database, world.vault)).filter(({ detail }) =>
    detail.includes(webhookId),
  );
  expect(findings).toMatchObject([{ ok: false, check: "webhooks" }]);
  for (const part of [json.undeliverable, json.lastResultAt, "1 deliveries wait for it"])
    expect(findings[0]?.detail).toContain(part);
});

it("a receiver that gets its events is well, for all three", async () => {
  const project = await world.project({ providers: [] });
  const { webhookId } = await world.webhook(project, await answering(204));
  const doctor = async () =>
    (await diagnose(world.database, world.vault)).filter(({ detail }) => detail.includes(webhookId));
  expect(await doctor()).toMatchObject([{ ok: true, detail: expect.stringContaining("is still to come") }]);
  made(await pingWebhook(world.database, project.id, webhookId));
  const [listed] = await eventually(
    () => listWebhooks(world.database, project.id),
    ([webhook]) => webhook?.lastResult === "204" && webhook.pending === 0,
  );
  expect(listed?.undeliverable).toBeNull();
  const { json } = await world.call("GET", `/v1/webhooks/${webhookId}`, { auth: project.basic });
  expect(json).not.toHaveProperty("undeliverable");
  expect(json.lastResult).toBe("204");
  expect(await doctor()).toMatchObject([
    {
      ok: true,
      detail: expect.stringMatching(/answered with 204, last tried at .* 0 deliveries wait for it\.$/),
    },
  ]);
});
