import { expect, it, vi } from "vitest";
import { FAILPOINTS, type Failpoint } from "../../runtime/ramp/failpoints.js";
import { Vault } from "../../runtime/ramp/vault.js";
import { addWebhook } from "../../runtime/ramp/setup/webhooks.js";
import { openDatabase } from "../../runtime/ramp/database/ramp-database.js";
import { migrate } from "../../runtime/ramp/database/migrate.js";
import { withAtEnd } from "../support/at-end.js";
import { freePort, type OwnProcess, startProcess } from "./support/processes.js";
import { ownReceiver } from "./support/receiver.js";
import {
  call,
  eventually,
  made,
  newProject,
  onramp,
  ownDatabase,
  ownerRows,
  ownSandbox,
  type Reply,
  SECRETS_KEY,
} from "./support/world.js";

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
  const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined, maxConnections: 2 });
  const vault = new Vault(SECRETS_KEY);
  const project = await newProject(database, vault, sandbox);
  const { secret } = made(
    await addWebhook(database, vault, project.id, { url: receiver.url, allowPrivate: true }),
  );
  await database.close();
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

/** Asks until there is an answer: as a client does whose server has crashed. */
async function insist(
  url: string,
  method: "GET" | "POST",
  path: string,
  options: Parameters<typeof call>[3],
): Promise<Reply> {
  return eventually(
    () => call(url, method, path, options).catch(() => null),
    (reply) => reply !== null && reply.status !== 409 && reply.status < 500,
  ) as Promise<Reply>;
}

/** Steps that only a misbehaving provider leads to: tests/ramp/conformance/ crashes at them. */
const AFTER_TROUBLE: readonly Failpoint[] = ["execution.confirmed", "execution.withdrawn", "cancel.answered"];

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

  // The claim's owner has crashed: the test does not wait the ninety seconds.
  await ownerRows(
    databaseUrl,
    "UPDATE ramp.idempotency_claims SET owned_until = now() WHERE response_status IS NULL",
  );
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

  await ownerRows(
    databaseUrl,
    "UPDATE ramp.webhook_deliveries SET attempt_at = now(), attempted_until = NULL WHERE status = 'PENDING'",
  );
  const events = await eventually(
    () =>
      ownerRows(
        databaseUrl,
        "SELECT v.id, d.status FROM ramp.events v JOIN ramp.webhook_deliveries d ON d.event_id = v.id",
      ),
    (rows) => rows.every(({ status }) => status === "DELIVERED"),
  );
  expect(events).toHaveLength(11);
  expect(receivedEvents()).toEqual(new Set(events.map((event) => event["id"])));
}

it.concurrent.for(FAILPOINTS.filter((point) => !AFTER_TROUBLE.includes(point)))(
  "a crash at %s leaves no trace once the server is back: one execution, every event",
  (point, { onTestFinished }) =>
    withAtEnd(onTestFinished, async () => {
      const stage = await ownStage();
      await crashAndRecover(stage, point).finally(() => stage.stop());
    }),
);
