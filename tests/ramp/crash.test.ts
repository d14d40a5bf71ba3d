import { afterEach, expect, it } from "vitest";
import { FAILPOINTS, type Failpoint } from "../../runtime/ramp/failpoints.js";
import { Vault } from "../../runtime/ramp/vault.js";
import { addWebhook } from "../../runtime/ramp/setup/webhooks.js";
import { openDatabase } from "../../runtime/ramp/database/ramp-database.js";
import { migrate } from "../../runtime/ramp/database/migrate.js";
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

const databaseUrl = await ownDatabase();
await migrate(databaseUrl);
const sandbox = await ownSandbox();
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
afterEach(() => running?.kill());

async function start(fault: Failpoint | "" = ""): Promise<string> {
  running = await startProcess("./ramp-process.ts", {
    RAMP_TEST_DATABASE: databaseUrl,
    RAMP_TEST_PORT: String(port),
    RAMP_FAULT: fault,
  });
  return running.said;
}

const isGone = (): boolean => running?.child.signalCode === "SIGKILL";

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
    30_000,
  ) as Promise<Reply>;
}

/** Steps that only a misbehaving provider leads to: tests/ramp/conformance/ crashes at them. */
const AFTER_TROUBLE: readonly Failpoint[] = ["execution.confirmed", "execution.withdrawn", "cancel.answered"];

it.each(FAILPOINTS.filter((point) => !AFTER_TROUBLE.includes(point)))(
  "a crash at %s leaves no trace once the server is back: one execution, every event",
  async (point) => {
    const before = await sandbox.executed();
    const eventsBefore = receiver.received.length;
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
      20_000,
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
      20_000,
    );
    const executed = await insist(url, "POST", `${path}/transaction`, { auth, key: `execute-${point}` });
    expect(executed.status, executed.text).toBe(202);
    const done = await eventually(
      () => call(url, "GET", path, { auth }),
      ({ json }) => json.intent.status === "COMPLETED",
      20_000,
    );
    expect(done.json.transaction.status).toBe("SUCCESS");
    expect((await sandbox.executed()).length - before.length).toBe(1);
    expect((await call(url, "GET", "/v1/intent", { auth })).json).toHaveLength(1);

    await ownerRows(
      databaseUrl,
      "UPDATE ramp.webhook_deliveries SET attempt_at = now(), attempted_until = NULL WHERE status = 'PENDING'",
    );
    const events = await eventually(
      async () => {
        const rows = await ownerRows(
          databaseUrl,
          "SELECT v.id, v.body, d.status FROM ramp.events v JOIN ramp.webhook_deliveries d ON d.event_id = v.id",
        );
        return rows.filter(({ body }) => String(body).includes(String(customer.json.id)));
      },
      (rows) => rows.every(({ status }) => status === "DELIVERED"),
      20_000,
    );
    expect(events).toHaveLength(11);
    const received = receiver
      .verified(secret)
      .slice(eventsBefore)
      .map((event) => event.id);
    expect(new Set(received)).toEqual(new Set(events.map((event) => event["id"])));
  },
  90_000,
);
