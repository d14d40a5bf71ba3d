import { expect, it, vi } from "vitest";
import type { Failpoint } from "../../../runtime/ramp/core/failpoints.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { refundIntent } from "../../../runtime/ramp/operator/intent-actions.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { withAtEnd } from "../../support/at-end.js";
import { CARD_CAPABILITIES, cardOnramp, ownCardProvider } from "../support/card-provider.js";
import { freePort, type OwnProcess, startProcess } from "../support/processes.js";
import { ownReceiver } from "../support/receiver.js";
import { deliveredEvents, expireClaims, insist, projectWithWebhook } from "../support/recovery.js";
import {
  call,
  eventually,
  made,
  onramp,
  ownDatabase,
  ownerRows,
  ownSandbox,
  SECRETS_KEY,
} from "../support/world.js";

// The tests wait for processes, leases and polls most of the time.
vi.setConfig({ maxConcurrency: 3 });

const migrated = await ownDatabase();
await migrate(migrated);

type Stage = Awaited<ReturnType<typeof ownStage>>;

/** A project on a database of its own, with a sandbox and a receiver, and the ramp in a process that can crash. */
async function ownStage() {
  const databaseUrl = await ownDatabase(migrated);
  const sandbox = await ownSandbox();
  await sandbox.set({ settleMs: 50 });
  const receiver = await ownReceiver();
  const { project, secret } = await projectWithWebhook(databaseUrl, sandbox, receiver);
  const port = await freePort();
  let running: OwnProcess | null = null;
  return {
    databaseUrl,
    sandbox,
    project,
    receivedEvents: () => new Set(receiver.verified(secret).map((event) => event.id)),
    async start(fault: Failpoint | "" = ""): Promise<string> {
      running = await startProcess("./ramp-process.ts", {
        RAMP_TEST_DATABASE: databaseUrl,
        RAMP_TEST_PORT: String(port),
        RAMP_FAULT: fault,
      });
      return running.said;
    },
    isGone: () => running?.child.signalCode === "SIGKILL",
    stop: async () => running?.kill(),
  };
}

/** For a call that executes. tests/ramp/providers/conformance/ crashes at every step of intents that execute by themselves. */
const STEPS: readonly Failpoint[] = ["execution.answered", "response.stored"];

/** Runs an on-ramp into a crash at the point, then starts the server again and looks for traces of the crash. */
async function crashAndRecover(
  { databaseUrl, sandbox, project, receivedEvents, start, isGone }: Stage,
  point: Failpoint,
): Promise<void> {
  let url = await start(point);
  const id = `crash-${point}`;
  const customer = await call(url, "POST", "/v1/customers", { auth: project.basic, body: { id } });
  const auth = `Bearer ${String(customer.json.accessToken)}`;
  const request = { auth, key: `create-${point}`, body: onramp({ autoExecute: false }) };
  const work = async (): Promise<void> => {
    const { json } = await call(url, "POST", "/v1/intent", request);
    await call(url, "POST", `/v1/intent/${json.intent.id}/transaction`, { auth, key: `execute-${point}` });
  };
  await work().catch(() => undefined);
  await eventually(
    () => Promise.resolve(isGone()),
    (gone) => gone,
  );

  await expireClaims(databaseUrl);
  url = await start();
  const created = await insist(url, "POST", "/v1/intent", request);
  expect(created.status, created.text).toBe(201);
  const path = `/v1/intent/${created.json.intent.id}`;
  await eventually(
    () => call(url, "GET", path, { auth }),
    ({ json }) => json.intent.status !== "PENDING",
  );
  const executed = await insist(url, "POST", `${path}/transaction`, { auth, key: `execute-${point}` });
  expect(executed.status, executed.text).toBe(202);
  const done = await eventually(
    () => call(url, "GET", path, { auth }),
    ({ json }) => json.intent.status === "COMPLETED",
  );
  expect(done.json.transaction.status).toBe("SUCCESS");
  expect(await sandbox.executed()).toHaveLength(1);
  expect((await call(url, "GET", "/v1/intent", { auth })).json).toHaveLength(1);

  const events = await deliveredEvents(databaseUrl);
  expect(events).toHaveLength(11);
  expect(receivedEvents()).toEqual(new Set(events.map((event) => event.id)));
}

it.concurrent.for(STEPS)(
  "a crash at %s leaves no trace once the server is back: one execution, every event",
  (point, { onTestFinished }) =>
    withAtEnd(onTestFinished, async () => {
      const stage = await ownStage();
      await crashAndRecover(stage, point).finally(() => stage.stop());
    }),
);

it.concurrent("a crash inside an operator's refund refunds once", ({ onTestFinished }) =>
  withAtEnd(onTestFinished, async () => {
    const stage = await ownStage();
    const { databaseUrl, project, start, isGone } = stage;
    const database = await openDatabase({
      url: databaseUrl,
      onIdleError: () => undefined,
      maxConnections: 2,
    });
    try {
      const provider = Object.assign(await ownCardProvider(), {
        status: "SUCCESS",
        execution: { receipt: { amountReceived: "99" } },
        capabilities: { ...CARD_CAPABILITIES, refunds: true },
      });
      made(await provider.connect({ database, vault: new Vault(SECRETS_KEY) }, project));
      let url = await start("refund.answered");
      const customer = await call(url, "POST", "/v1/customers", { auth: project.basic, body: { id: "c" } });
      const auth = `Bearer ${String(customer.json.accessToken)}`;
      const { json } = await call(url, "POST", "/v1/intent", { auth, body: cardOnramp() });
      const id = String(json.intent.id);
      const path = `/v1/intent/${id}`;
      await eventually(
        () => call(url, "GET", path, { auth }),
        (reply) => reply.json.intent.status === "COMPLETED",
      );
      const { refundId } = made(await refundIntent(database, id, { amount: "30.00", reason: "ticket" }));
      await eventually(
        () => Promise.resolve(isGone()),
        (gone) => gone,
      );

      await expireClaims(databaseUrl);
      url = await start();
      const done = await eventually(
        () => call(url, "GET", path, { auth }),
        (reply) => reply.json.transaction.context.refunds !== undefined,
      );
      expect(done.json.transaction.context.refunds).toEqual([
        { id: refundId, amount: "30.00", reason: "ticket" },
      ]);
      expect(provider.bodies.get(`refund:${refundId}`)?.length).toBeGreaterThan(1);
      expect(
        await ownerRows(
          databaseUrl,
          "SELECT kind, about, amount::text, (SELECT state FROM ramp.refund_requests) AS state FROM ramp.postings WHERE account = 'provider' AND kind = 'refund'",
        ),
      ).toEqual([{ kind: "refund", about: `refund ${refundId}`, amount: "-30", state: "ACCEPTED" }]);
    } finally {
      await database.close();
      await stage.stop();
    }
  }),
);
