/** A webhook's secrets: several sign while rotations overlap. */
import { expect, it } from "vitest";
import { rotateWebhookSecret } from "../../../runtime/ramp/webhooks/secret-rotation.js";
import { ownReceiver, type Receiver } from "../support/receiver.js";
import { made, ownWorld, type TestProject, untilTrue } from "../support/world.js";

const world = await ownWorld();

async function hooked() {
  const [project, receiver] = [await world.project(), await ownReceiver()];
  return { project, receiver, ...(await world.webhook(project, receiver.url)) };
}

/** Sends an event. */
async function send({ basic: auth }: TestProject, receiver: Receiver, webhookId: string): Promise<void> {
  const count = receiver.received.length;
  await world.call("POST", `/v1/webhooks/${webhookId}/test`, { auth, body: {} });
  await untilTrue(() => receiver.received.length > count);
}

it("keeps each former secret until its own end, however often the secret is rotated; a command repeats none", async () => {
  const { project, receiver, webhookId, secret } = await hooked();
  const rotate = (overlapHours: number, key?: string) =>
    rotateWebhookSecret(world.database, world.vault, project.id, { webhookId, overlapHours, key });
  const second = made(await rotate(24, "lost answer"));
  expect(made(await rotate(24, "lost answer"))).toEqual(second);
  expect(await rotate(1, "lost answer")).toMatchObject({
    ok: false,
    problems: [expect.stringContaining("Idempotency-Key")],
  });
  const third = made(await rotate(1));
  const last = made(await rotate(0));
  const formers =
    "SELECT round(extract(epoch FROM signs_until - now()) / 3600)::int AS hours FROM ramp.webhook_secrets WHERE endpoint_id = $1 ORDER BY 1";
  expect(await world.rows(formers, [webhookId])).toEqual([{ hours: 1 }, { hours: 24 }]);
  await send(project, receiver, webhookId);
  for (const one of [secret, second.secret, last.secret])
    expect(receiver.verified(one).length).toBeGreaterThan(0);
  expect(() => receiver.verified(third.secret)).toThrow();
  await world.rows(
    "UPDATE ramp.webhook_secrets SET signs_until = now() WHERE signs_until < now() + interval '2 hours' AND endpoint_id = $1",
    [webhookId],
  );
  receiver.received.length = 0;
  await send(project, receiver, webhookId);
  for (const one of [secret, last.secret]) expect(receiver.verified(one).length).toBeGreaterThan(0);
  expect(() => receiver.verified(second.secret)).toThrow();
});

it("signs with 20 former secrets at most", async () => {
  const { project, webhookId } = await hooked();
  const rotate = (overlapHours: number) =>
    world.call("POST", `/v1/webhooks/${webhookId}/rotate-secret`, {
      auth: project.basic,
      body: { overlapHours },
    });
  const replies = await Promise.all(Array.from({ length: 21 }, () => rotate(1)));
  expect(replies.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 20 }, () => 200), 409]);
  expect((await rotate(1)).json.error).toBe("TOO_MANY_SECRETS");
  expect((await rotate(0)).status).toBe(200);
});

it("gets a new secret over HTTP, once per key; the one before signs until the overlap ends", async () => {
  const { project, receiver, webhookId, secret } = await hooked();
  const rotate = (id: string, body: object, key: string) =>
    world.call("POST", `/v1/webhooks/${id}/rotate-secret`, { auth: project.basic, body, key });
  const { status, json, text } = await rotate(webhookId, { overlapHours: 0 }, "rotate");
  expect(status, text).toBe(200);
  expect(json).toMatchObject({ id: webhookId, secret: expect.stringMatching(/^whsec_/) });
  expect((await rotate(webhookId, { overlapHours: 0 }, "rotate")).json.secret).toBe(json.secret);
  expect((await world.call("GET", "/v1/webhooks", { auth: project.basic })).text).not.toContain("whsec_");
  await send(project, receiver, webhookId);
  expect(receiver.verified(String(json.secret)).length).toBeGreaterThan(0);
  expect(() => receiver.verified(secret)).toThrow();
  const other = await world.project();
  const foreign = await world.webhook(other, receiver.url);
  expect((await rotate(foreign.webhookId, {}, "foreign")).status).toBe(404);
  expect((await rotate(webhookId, { overlapHours: 721 }, "long")).json.error).toBe("INVALID_REQUEST");
});
