import { afterAll, expect, it } from "vitest";
import { OwnServer } from "../../support/own-server.js";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { startProcess } from "../support/processes.js";
import { ownReceiver } from "../support/receiver.js";
import { deliveredEvents, expireClaims, insist, projectWithWebhook } from "../support/recovery.js";
import { call, eventually, onramp, queryAt, ownSandbox, type Reply, untilTrue } from "../support/world.js";

const postgres = await OwnServer.create();
await migrate(postgres.url);
const sandbox = await ownSandbox();
const receiver = await ownReceiver();
const { project } = await projectWithWebhook(postgres.url, sandbox, receiver);
const ramp = await startProcess("./ramp-process.ts", { RAMP_TEST_DATABASE: postgres.url });
afterAll(() => ramp.kill());

/** Repeats the request until there is an answer, as clients do. */
const persistently = (path: string, options: Parameters<typeof call>[3]): Promise<Reply> =>
  insist(ramp.said, "POST", path, options);

const CLIENTS = 8;

it("comes back by itself when PostgreSQL is restarted and killed under load: no transaction lost, none doubled", async () => {
  const customer = await call(ramp.said, "POST", "/v1/customers", {
    auth: project.basic,
    body: { id: "steady" },
  });
  const auth = `Bearer ${String(customer.json.accessToken)}`;
  const keys: string[] = [];
  const firsts: { readonly key: string; readonly intent: string; readonly transaction: string }[] = [];
  let isOver = false;
  const client = async (name: number): Promise<void> => {
    for (let i = 0; !isOver; i++) {
      const key = `${String(name)}-${String(i)}`;
      keys.push(key);
      const created = await persistently("/v1/intent", { auth, key: `create-${key}`, body: onramp() });
      expect(created.status, created.text).toBe(201);
      const intent = String(created.json.intent.id);
      // Created with the provider out of reach of the database, an intent is onboarded a moment later.
      await eventually(
        () => call(ramp.said, "GET", `/v1/intent/${intent}`, { auth }).catch(() => null),
        (reply) => reply?.json?.intent?.status === "PENDING_PAYMENT",
      );
      const executed = await persistently(`/v1/intent/${intent}/transaction`, {
        auth,
        key: `execute-${key}`,
      });
      expect(executed.status, executed.text).toBe(202);
      firsts.push({ key, intent, transaction: String(executed.json.id) });
    }
  };
  const outages = async (): Promise<void> => {
    const pause = (count: number): Promise<void> => untilTrue(() => firsts.length >= count);
    await pause(10);
    for (const end of ["restart", "crash", "restart"] as const) {
      await (end === "crash" ? postgres.kill() : postgres.stop("fast"));
      await postgres.start();
      await releaseClaims();
      await pause(firsts.length + 10);
    }
    isOver = true;
  };
  await Promise.all([outages(), ...Array.from({ length: CLIENTS }, (_, i) => client(i))]);

  expect(ramp.child.exitCode).toBeNull();
  expect(firsts).toHaveLength(keys.length);
  const intents = await eventually(
    () =>
      queryAt(
        postgres.url,
        "SELECT i.id, i.status, t.id AS transaction FROM ramp.intents i LEFT JOIN ramp.transactions t ON t.intent_id = i.id",
      ),
    (rows) => rows.every(({ status }) => status === "COMPLETED"),
  );
  expect(new Set(intents.map(({ id }) => id))).toEqual(new Set(firsts.map(({ intent }) => intent)));
  expect(intents).toHaveLength(firsts.length);
  const executed = await sandbox.executed();
  expect(executed.toSorted()).toEqual(intents.map(({ transaction }) => String(transaction)).toSorted());
  for (const { key, intent, transaction } of firsts.slice(0, 20)) {
    const again = await persistently("/v1/intent", { auth, key: `create-${key}`, body: onramp() });
    expect(again.json.intent.id).toBe(intent);
    const executedAgain = await persistently(`/v1/intent/${intent}/transaction`, {
      auth,
      key: `execute-${key}`,
    });
    expect([executedAgain.status, executedAgain.json.id]).toEqual([202, transaction]);
  }
  const events = await deliveredEvents((text) => queryAt(postgres.url, text));
  expect(events).toHaveLength(11 * firsts.length);
  const received = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
  expect(received).toEqual(new Set(events.map(({ id }) => id)));
}, 900_000);

/** Claims that could not be released while the database was down expire after ninety seconds: the test does not wait. */
async function releaseClaims(): Promise<void> {
  await eventually(
    () => expireClaims((text) => queryAt(postgres.url, text)).catch(() => null),
    (rows) => rows !== null,
  );
}
