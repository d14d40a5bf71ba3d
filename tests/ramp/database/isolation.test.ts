/** No project waits for another's provider, and no caller for a slow one. */
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { cardOnramp, ownCards } from "../support/card-provider.js";
import { atEnd } from "../../support/at-end.js";
import { arrive, checkedCustomer, open } from "../support/deposits.js";
import { listening } from "../support/server.js";
import { eventually, FAST, newCustomer, onramp, ownWorld, reached, untilTrue } from "../support/world.js";

// On a busy machine calls that are held would reach their time limit before the last one is made.
const providerCalls = { timeoutMs: 600_000, quoteTimeoutMs: 30_000, breakerPauseMs: 500 };
const world = await ownWorld({ polling: { ...FAST, leaseMs: 600_000, answerWithinMs: 500 }, providerCalls });
await world.sandbox.set({ settleMs: 50 });

/** A promise that the test resolves. */
function held(): { readonly until: Promise<void>; release(): void } {
  let release = (): void => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  return { until, release: () => release() };
}

it("look-ups that hang take the slots of their own connection only", async () => {
  const { project: slow, provider, create } = await ownCards(world);
  const { until, release } = held();
  let [open, most] = [0, 0];
  provider.answerLookUp = async () => {
    most = Math.max(most, ++open);
    await until;
    open--;
  };
  for (let n = 0; n < 25; n++) expect((await create()).status).toBe(201);
  await untilTrue(() => open === FAST.perConnection);

  const auth = await newCustomer(world, await world.project());
  // Without callbacks the worker alone brings the intent to its end.
  await world.sandbox.set({ mute: true });
  const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
  await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "COMPLETED");
  await world.sandbox.set({ mute: false });
  expect([open, most]).toEqual([FAST.perConnection, FAST.perConnection]);

  provider.status = "SUCCESS";
  release();
  const allDone = "SELECT bool_and(status = 'COMPLETED') FROM ramp.intents WHERE project_id = $1";
  await untilTrue(() => world.holds(allDone, [slow.id]));
});

it("deposit accounts whose provider hangs take the places of their own connection only", async () => {
  const slow = await checkedCustomer(world);
  expect((await open(world, slow.auth)).status).toBe(201);
  let [asked, most] = [0, 0];
  const frozen = createServer(({ socket, url: path }) => {
    if (!path?.includes("deposit-accounts")) return;
    most = Math.max(most, ++asked);
    socket.on("close", () => asked--);
  });
  const url = await listening(frozen);
  atEnd(() => frozen.close().closeAllConnections());
  await world.rows("UPDATE ramp.provider_credentials SET url = $2 WHERE project_id = $1", [
    slow.project.id,
    url,
  ]);
  await world.rows(
    `INSERT INTO ramp.deposit_accounts SELECT (jsonb_populate_record(a, jsonb_build_object(
       'id', gen_random_uuid(), 'status', 'PENDING', 'next_poll_at', now() + interval '6 s'))).*
     FROM ramp.deposit_accounts a, generate_series(1, 59) WHERE project_id = $1`,
    [slow.project.id],
  );
  await untilTrue(() => asked >= 5);

  const other = await checkedCustomer(world, "bea");
  const { json } = await open(world, other.auth);
  for (let n = 0; n < 3; n++) {
    // Without a callback the worker alone finds what has arrived.
    await world.sandbox.set({ mute: true });
    await arrive(world, String(json.id));
    await world.rows("UPDATE ramp.deposit_accounts SET next_poll_at = now() WHERE project_id = $1", [
      other.project.id,
    ]);
    const arrived = "SELECT count(*) = $2 FROM ramp.intents WHERE project_id = $1 AND deposit_id IS NOT NULL";
    await untilTrue(() => world.holds(arrived, [other.project.id, n + 1]));
  }
  await world.sandbox.set({ mute: false });
  expect([asked, most]).toEqual([5, 5]);
  await world.rows("UPDATE ramp.deposit_accounts SET next_poll_at = NULL WHERE project_id = $1", [
    slow.project.id,
  ]);
});

it("answers with the recorded state when the provider is slow, and goes on behind", async () => {
  const { provider, auth } = await ownCards(world);
  const { until, release } = held();
  provider.answerOrder = () => until;
  const create = { auth, key: "slow", body: cardOnramp() };
  const created = await world.call("POST", "/v1/intent", create);
  expect(created.status, created.text).toBe(201);
  expect(created.json.intent.status).toBe("PENDING");
  const replayed = await world.call("POST", "/v1/intent", create);
  expect(replayed.text).toBe(created.text);
  release();
  await reached(world, `/v1/intent/${String(created.json.intent.id)}`, { auth }, "TRANSACTION_IN_PROGRESS");
  expect([...provider.bodies.values()].map((bodies) => bodies.length)).toEqual([1, 1]);
});

it("looks an open intent up before ended ones that have been due for longer", async () => {
  const hour = 3_600_000;
  const rare = { ...FAST, perConnection: 1, leaseMs: hour, executionPollMs: hour, maxPollMs: hour };
  const patient = await ownWorld({ polling: { ...rare, followUpPollMs: hour, maxFollowUpPollMs: hour } });
  const { provider, create: createReply } = await ownCards(patient, { status: "SUCCESS" });
  const create = async () => String((await createReply()).json.intent.id);
  const ended = await Promise.all([1, 2, 3, 4].map(create));
  provider.status = "PROCESSING";
  const open = await create();
  const leased = (): Promise<Record<string, unknown>[]> =>
    patient.rows("SELECT id FROM ramp.intents WHERE lease_owner IS NOT NULL");
  await eventually(leased, (rows) => rows.length === 0);

  const { until, release } = held();
  provider.answerLookUp = () => until;
  await patient.rows(
    "UPDATE ramp.intents SET next_poll_at = CASE WHEN id = ANY ($1) THEN now() - interval '1 hour' ELSE now() END",
    [ended],
  );
  expect(await eventually(leased, (rows) => rows.length > 0)).toEqual([{ id: open }]);
  provider.answerLookUp = () => Promise.resolve();
  release();
  const idle = "SELECT bool_and(next_poll_at >= now() AND lease_owner IS NULL) FROM ramp.intents";
  await untilTrue(() => patient.holds(idle));
});

it("polls an unpaid order at a quarter of the time since its last change", async () => {
  const patient = await ownWorld({ polling: { ...FAST, executionPollMs: 1_000, maxPollMs: 10 * 60_000 } });
  const { create } = await ownCards(patient, { status: "AWAITING_FUNDS" });
  const { id } = (await create()).json.intent as { id: string };
  await patient.rows(
    "UPDATE ramp.transactions SET updated_at = now() - interval '20 min' WHERE intent_id = $1",
    [id],
  );
  const wait =
    "SELECT next_poll_at - now() BETWEEN interval '240 s' AND interval '301 s' FROM ramp.intents WHERE id = $1";
  await untilTrue(() => patient.holds(wait, [id]));
});
