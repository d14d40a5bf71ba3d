/** Deposits while servers are killed at each step of reading them, and while two servers read them at once. */
import { expect, it } from "vitest";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { atEnd } from "../../support/at-end.js";
import { migratedDatabase } from "../support/migrated.js";
import { ACCOUNT, arrive } from "../support/deposits.js";
import { startProcess } from "../support/processes.js";
import {
  call,
  eventually,
  newProject,
  onramp,
  ownSandbox,
  queryAt,
  SECRETS_KEY,
  untilTrue,
} from "../support/world.js";

const databaseUrl = await migratedDatabase();
const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined, maxConnections: 2 });
atEnd(() => database.close());
const sandbox = await ownSandbox();
const project = await newProject(database, new Vault(SECRETS_KEY), sandbox, { providers: ["sandbox-south"] });

const startRamp = (failpoint: string, gatherMs = 0) =>
  startProcess("./ramp-process.ts", {
    RAMP_TEST_DATABASE: databaseUrl,
    RAMP_TEST_PUBLIC_URL: "http://ramp.example",
    RAMP_FAULT: failpoint,
    RAMP_FAULT_GATHER_MS: String(gatherMs),
  });

const first = await startRamp("");
const { json: customer } = await call(first.said, "POST", "/v1/customers", {
  auth: project.basic,
  body: { id: "c" },
});
const auth = `Bearer ${String(customer.accessToken)}`;
const { json: paid } = await call(first.said, "POST", "/v1/intent", {
  auth,
  body: onramp({ srcAmount: "50.00", autoExecute: true }),
});
const completed = async (): Promise<boolean> =>
  (await call(first.said, "GET", `/v1/intent/${String(paid.intent.id)}`, { auth })).json.intent.status ===
  "COMPLETED";
await untilTrue(completed);
const { json: account } = await call(first.said, "POST", "/v1/customers/deposit-accounts", {
  auth,
  body: ACCOUNT,
});
await first.kill();

interface Sums {
  readonly intents: number;
  readonly ended: number;
  readonly received: string;
}

/** The intents of the account, and what the provider has received by the journal. */
const sums = async (): Promise<Sums> => {
  const [row] = await queryAt(
    databaseUrl,
    `SELECT count(*)::int AS intents, count(*) FILTER (WHERE i.is_ended)::int AS ended,
       COALESCE(sum((SELECT sum(p.amount) FROM ramp.postings p WHERE p.intent_id = i.id AND p.account = 'provider' AND p.about = 'payment')), 0)::text AS received
     FROM ramp.intents i WHERE i.deposit_account_id = $1`,
    [account.id],
  );
  return row as unknown as Sums;
};

it("a payment is one intent and its money is posted once, killed at each step and read by two servers", async () => {
  await arrive({ sandbox }, account.id, { id: "one" });
  const answered = await startRamp("deposits.answered");
  await untilTrue(() => answered.child.signalCode === "SIGKILL");
  expect(await sums()).toMatchObject({ intents: 0 });
  const recorded = await startRamp("deposits.recorded");
  await untilTrue(() => recorded.child.signalCode === "SIGKILL");
  expect(await sums()).toMatchObject({ intents: 1 });

  // A restored database reads all of them again.
  await queryAt(databaseUrl, "UPDATE ramp.deposit_accounts SET last_deposit = NULL, next_poll_at = now()");
  const servers = [await startRamp(""), await startRamp("")];
  for (const server of servers) atEnd(() => server.kill());
  for (let at = 0; at < 20; at++) {
    await arrive({ sandbox }, account.id, { id: `more-${String(at)}` });
    if (at % 5 === 0)
      await queryAt(
        databaseUrl,
        "UPDATE ramp.deposit_accounts SET last_deposit = NULL, next_poll_at = now()",
      );
  }
  await arrive({ sandbox }, account.id, { id: "one" });
  await eventually(sums, ({ intents, ended }) => intents === 21 && ended === 21);
  await queryAt(databaseUrl, "UPDATE ramp.deposit_accounts SET last_deposit = NULL, next_poll_at = now()");
  await untilTrue(async () => {
    const [row] = await queryAt(databaseUrl, "SELECT last_deposit AS last FROM ramp.deposit_accounts");
    return row?.["last"] === "one";
  });
  expect(await sums()).toEqual({ intents: 21, ended: 21, received: "2100" });
  expect(new Set(await sandbox.executed()).size).toBe(22);
});

it("an account that is opened while the server dies is one account of the provider", async () => {
  const dying = await startRamp("deposits.answered");
  const asked = call(dying.said, "POST", "/v1/customers/deposit-accounts", {
    auth,
    body: ACCOUNT,
    key: "dying",
  }).catch(() => null);
  await untilTrue(() => dying.child.signalCode === "SIGKILL");
  await asked;
  const ramp = await startRamp("");
  atEnd(() => ramp.kill());
  const list = await eventually(
    () => call(ramp.said, "GET", "/v1/customers/deposit-accounts", { auth }),
    ({ json }) => json.length === 2 && json.every(({ status }: { status: string }) => status === "ACTIVE"),
  );
  expect(
    new Set(list.json.map(({ instructions }: { instructions: object[] }) => JSON.stringify(instructions)))
      .size,
  ).toBe(2);
});
