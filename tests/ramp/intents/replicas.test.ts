import { afterAll, expect, it } from "vitest";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { ownBalancer } from "../support/balancer.js";
import { startProcess } from "../support/processes.js";
import { ownReceiver } from "../support/receiver.js";
import { deliveredEvents, projectWithWebhook } from "../support/recovery.js";
import {
  call,
  eventually,
  onramp,
  ownDatabase,
  ownerRows,
  ownSandbox,
  type Reply,
} from "../support/world.js";

const databaseUrl = await ownDatabase();
await migrate(databaseUrl);
const sandbox = await ownSandbox();
const receiver = await ownReceiver();
const { project, secret } = await projectWithWebhook(databaseUrl, sandbox, receiver);
const balancer = await ownBalancer();
const environment = { RAMP_TEST_DATABASE: databaseUrl, RAMP_TEST_PUBLIC_URL: balancer.url };
const replicas = await Promise.all([1, 2].map(() => startProcess("./ramp-process.ts", environment)));
afterAll(() => Promise.all(replicas.map((replica) => replica.kill())));
balancer.targets = replicas.map(({ said }) => said);

const INTENTS = 40;

it("two servers on one database do each thing once, though both get requests and callbacks at the same time", async () => {
  await sandbox.set({ duplicates: 2 });
  const customer = await call(balancer.url, "POST", "/v1/customers", {
    auth: project.basic,
    body: { id: "of both" },
  });
  const auth = `Bearer ${String(customer.json.accessToken)}`;
  const post = async (server: number, path: string, options: Parameters<typeof call>[3]): Promise<Reply> => {
    for (;;) {
      const reply = await call(balancer.targets[server] ?? "", "POST", path, { auth, ...options });
      // On a busy machine the first of two requests may need longer than the second one waits.
      if (reply.json.error !== "IDEMPOTENCY_IN_PROGRESS") return reply;
    }
  };
  const both = (path: string, options: Parameters<typeof call>[3]): Promise<Reply[]> =>
    Promise.all([0, 1, 0, 1].map((server) => post(server, path, options)));
  const goThrough = async (n: number): Promise<string> => {
    const autoExecute = n % 2 === 0;
    const created = await both("/v1/intent", { key: `create-${String(n)}`, body: onramp({ autoExecute }) });
    expect(created.map(({ status, text }) => [status, text])).toEqual(
      created.map(() => [201, created[0]?.text]),
    );
    const id = String(created[0]?.json.intent.id);
    if (!autoExecute) await executeAtBoth(id, n);
    return id;
  };
  const executeAtBoth = async (id: string, n: number): Promise<void> => {
    const path = `/v1/intent/${id}/transaction`;
    const isKeyed = n % 4 === 1;
    const executed = await both(path, isKeyed ? { key: `execute-${String(n)}` } : {});
    const statuses = executed.map(({ status }) => status).toSorted();
    expect(statuses, executed[0]?.text).toEqual(isKeyed ? [202, 202, 202, 202] : [202, 400, 400, 400]);
  };
  const ids: string[] = [];
  const worker = async (first: number): Promise<void> => {
    for (let n = first; n < INTENTS; n += 8) ids.push(await goThrough(n));
  };
  await Promise.all(Array.from({ length: 8 }, (_, i) => worker(i)));

  const intents = await eventually(
    () =>
      ownerRows(
        databaseUrl,
        "SELECT i.id, i.status, t.id AS transaction FROM ramp.intents i LEFT JOIN ramp.transactions t ON t.intent_id = i.id",
      ),
    (rows) => rows.every(({ status }) => status === "COMPLETED"),
    30_000,
  );
  expect(intents.map(({ id }) => String(id)).toSorted()).toEqual(ids.toSorted());
  const executed = await sandbox.executed();
  expect(executed.toSorted()).toEqual(intents.map(({ transaction }) => String(transaction)).toSorted());

  // A delivery that failed is repeated after a minute.
  const events = await deliveredEvents(databaseUrl, 100_000);
  // One event for each move: eleven of each intent, no move made twice.
  const moves = events.map(({ move }) => move);
  expect(moves).toHaveLength(11 * INTENTS);
  expect(new Set(moves).size).toBe(moves.length);
  const received = new Set(receiver.verified(secret).map(({ id }) => id));
  expect(received).toEqual(new Set(events.map(({ id }) => id)));
});
