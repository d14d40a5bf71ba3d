import { randomBytes, randomUUID } from "node:crypto";
import pino from "pino";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { connectProvider } from "../../../runtime/ramp/operator/integrations.js";
import { callbackHeaders } from "../../../runtime/ramp/providers/signature.js";
import { ownCards } from "../support/card-provider.js";
import { eventually, FAST, made, ownWorld, reached, type Reply, untilTrue } from "../support/world.js";

/** Only a callback leads to a look-up within the time of a test. */
const HOUR_MS = 60 * 60_000;
const logged: string[] = [];
const world = await ownWorld({
  log: pino({}, { write: (line) => void logged.push(line) }),
  polling: { ...FAST, leaseMs: 60_000, executionPollMs: HOUR_MS, maxPollMs: HOUR_MS },
});
const { project, provider, providerId, auth, create } = await ownCards(world);

const callbackPath = (connection: string, within = project): string =>
  `/v1/provider-callbacks/${within.id}/${connection}`;

/** A callback about an intent, to be sent once or more. */
function signedCallback(id: string): () => Promise<void> {
  const text = JSON.stringify({ type: "execution.updated", onboardingId: id });
  const headers = { ...callbackHeaders("secret", randomUUID(), new Date(), text) };
  return async () => {
    const { status } = await world.call("POST", callbackPath(providerId), { text, headers });
    expect(status).toBe(200);
  };
}

it("a callback that the Standard Webhooks library signs with a `whsec_` secret is accepted", async () => {
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const own = await world.project({ providers: [] });
  const connection = made(
    await connectProvider(world.database, world.vault, own.id, { ...provider.connection, secret }),
  );
  const text = JSON.stringify({ type: "execution.updated", onboardingId: randomUUID() });
  const at = new Date();
  const signed = (key: string | Uint8Array): Promise<Reply> =>
    world.call("POST", callbackPath(connection.providerId, own), {
      text,
      headers: {
        "webhook-id": "cb",
        "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
        "webhook-signature": new Webhook(key, typeof key === "string" ? undefined : { format: "raw" }).sign(
          "cb",
          at,
          text,
        ),
      },
    });
  expect((await signed(secret)).status).toBe(200);
  expect((await signed(Buffer.from(secret))).json.error).toBe("INVALID_SIGNATURE");
});

it("an answer that is not UTF-8 is refused, and the look-up repeated", async () => {
  const { id } = (await create()).json.intent as { id: string };
  provider.status = "SUCCESS";
  provider.encode = (text) => Buffer.from(text.replace('"reference":"r"', '"reference":"\xff"'), "latin1");
  await signedCallback(id)();
  await untilTrue(() => world.holds("SELECT failed_attempts > 0 FROM ramp.intents WHERE id = $1", [id]));
  const open = await world.call("GET", `/v1/intent/${id}`, { auth });
  expect(open.json.intent.status).toBe("TRANSACTION_IN_PROGRESS");
  provider.encode = (text) => Buffer.from(text);
  await reached(world, `/v1/intent/${id}`, { auth }, "COMPLETED");
  provider.status = "PROCESSING";
});

it("a callback that arrives while a look-up is still under way leads to another one", async () => {
  const created = await create();
  expect(created.json.intent.status, created.text).toBe("TRANSACTION_IN_PROGRESS");
  const { id } = created.json.intent as { id: string };

  // The first look-up reads the old state; its answer is held back.
  let answer = (): void => undefined;
  let lookUps = 0;
  const held = new Promise<void>((resolve) => (answer = resolve));
  provider.answerLookUp = () => (++lookUps === 1 ? held : Promise.resolve());
  await signedCallback(id)();
  await untilTrue(() => lookUps >= 1);
  provider.status = "SUCCESS";
  await signedCallback(id)();
  answer();

  await reached(world, `/v1/intent/${id}`, { auth }, "COMPLETED");
});

it("300 copies of a callback are one look-up, and a new callback is another", async () => {
  provider.status = "PROCESSING";
  const { json } = await create();
  const lookUps = async (): Promise<number> => {
    const [row] = await world.rows(
      "SELECT COALESCE(sum(count), 0)::int AS count FROM ramp.provider_answers WHERE intent_id = $1 AND operation = 'checkExecution'",
      [json.intent.id],
    );
    return Number(row?.["count"]);
  };
  const copied = signedCallback(String(json.intent.id));
  await copied();
  await eventually(lookUps, (count) => count === 1);
  for (let copy = 1; copy < 300; copy++) await copied();
  await signedCallback(String(json.intent.id))();
  await eventually(lookUps, (count) => count >= 2);
  expect(await lookUps()).toBe(2);
});

it("the log names an intent that only its provider knows, once for each callback", async () => {
  const intent = randomUUID();
  const callBack = signedCallback(intent);
  for (let copy = 0; copy < 3; copy++) await callBack();
  const about = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(about.filter((line) => line["intent"] === intent)).toEqual([
    expect.objectContaining({ level: 40, connection: providerId, msg: "callback about an unknown intent" }),
  ]);
});
