import { afterAll, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { startProcess } from "../support/processes.js";
import { ownReceiver } from "../support/receiver.js";
import { deliveredEvents, expireClaims, insist, projectWithWebhook } from "../support/recovery.js";
import { call, eventually, onramp, ownerRows, ownSandbox, type Reply } from "../support/world.js";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../../../runtime/embedded/embedded-postgres.js";

const postgres = await ownPostgres();
await migrate(postgres.url);
const sandbox = await ownSandbox();
const receiver = await ownReceiver();
const { project } = await projectWithWebhook(postgres.url, sandbox, receiver);
const ramp = await startProcess("./ramp-process.ts", { RAMP_TEST_DATABASE: postgres.url });
afterAll(() => ramp.kill());

/** Repeats the request until there is an answer, as clients do. */
const persistently = (path: string, options: Parameters<typeof call>[3]): Promise<Reply> =>
  insist(ramp.said, "POST", path, options, 100_000);

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
        100_000,
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
    const pause = (count: number): Promise<unknown> =>
      eventually(
        () => Promise.resolve(firsts.length),
        (length) => length >= count,
        60_000,
      );
    await pause(10);
    await postgres.restart();
    await releaseClaims();
    await pause(firsts.length + 10);
    await postgres.crash();
    await releaseClaims();
    await pause(firsts.length + 10);
    await postgres.restart();
    await releaseClaims();
    await pause(firsts.length + 5);
    isOver = true;
  };
  await Promise.all([outages(), ...Array.from({ length: CLIENTS }, (_, i) => client(i))]);

  expect(ramp.child.exitCode).toBeNull();
  expect(firsts).toHaveLength(keys.length);
  const intents = await eventually(
    () =>
      ownerRows(
        postgres.url,
        "SELECT i.id, i.status, t.id AS transaction FROM ramp.intents i LEFT JOIN ramp.transactions t ON t.intent_id = i.id",
      ),
    (rows) => rows.every(({ status }) => status === "COMPLETED"),
    60_000,
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
  const events = await deliveredEvents(postgres.url, 60_000);
  expect(events).toHaveLength(11 * firsts.length);
  const received = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
  expect(received).toEqual(new Set(events.map(({ id }) => id)));
}, 240_000);

/** Claims that could not be released while the database was down expire after ninety seconds: the test does not wait. */
async function releaseClaims(): Promise<void> {
  await eventually(
    () => expireClaims(postgres.url).catch(() => null),
    (rows) => rows !== null,
  );
}

interface OwnPostgres {
  readonly url: string;
  /** Stops it as an operator would, sessions cut off, and starts it again on the same port. */
  restart(): Promise<void>;
  /** Kills the server's first process and starts it again: it recovers from its log. */
  crash(): Promise<void>;
}

/** What `pg_ctl stop` sends. */
const FAST_SHUTDOWN = "SIGINT";

/** A PostgreSQL server of a test file's own, to be treated badly. Removed at the end. */
async function ownPostgres(): Promise<OwnPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), "ramp-postgres-"));
  const uses = [await startEmbeddedPostgres({ dataDir })];
  const url = uses[0]?.url ?? "";
  const startAfter = async (signal: NodeJS.Signals): Promise<void> => {
    const pidFile = join(dataDir, "postgres", "data", "postmaster.pid");
    const pid = Number((await readFile(pidFile, "utf8")).split("\n")[0]);
    process.kill(pid, signal);
    await eventually(
      () => Promise.resolve(isAlive(pid)),
      (alive) => !alive,
      30_000,
    );
    uses.push(await startEmbeddedPostgres({ dataDir }));
    if (uses.at(-1)?.url !== url) throw new Error("The port was taken in between.");
  };
  atEnd(async () => {
    for (const use of uses) await use.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { url, restart: () => startAfter(FAST_SHUTDOWN), crash: () => startAfter("SIGKILL") };
}

/** Zombies excluded: their parent may never wait for them. */
function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${String(pid)}/stat`, "utf8").includes("(postgres) Z");
  } catch {
    return false;
  }
}
