/** A crash inside an operator's refund; tests/ramp/providers/conformance/ crashes at all other steps. */
import { expect, it } from "vitest";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { refundIntent } from "../../../runtime/ramp/operator/intent-actions.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { atEnd } from "../../support/at-end.js";
import { migratedDatabase } from "../support/migrated.js";
import { CARD_CAPABILITIES, cardOnramp, ownCardProvider } from "../support/card-provider.js";
import { startProcess } from "../support/processes.js";
import { call, eventually, made, newProject, queryAt, SECRETS_KEY, untilTrue } from "../support/world.js";

const databaseUrl = await migratedDatabase();
const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined, maxConnections: 2 });
atEnd(() => database.close());
const vault = new Vault(SECRETS_KEY);

/** Both processes issue tokens of one name. */
const startRamp = (failpoint: string) =>
  startProcess("./ramp-process.ts", {
    RAMP_TEST_DATABASE: databaseUrl,
    RAMP_TEST_PUBLIC_URL: "http://ramp.example",
    RAMP_FAULT: failpoint,
  });

it("a crash inside an operator's refund refunds once", async () => {
  const project = await newProject(database, vault, null, { providers: [] });
  const provider = await ownCardProvider({
    status: "SUCCESS",
    execution: { receipt: { amountReceived: "99" } },
    capabilities: { ...CARD_CAPABILITIES, refunds: true },
  });
  made(await provider.connect({ database, vault }, project));
  const crashing = await startRamp("refund.answered");
  const customer = await call(crashing.said, "POST", "/v1/customers", {
    auth: project.basic,
    body: { id: "c" },
  });
  const auth = `Bearer ${String(customer.json.accessToken)}`;
  const { json } = await call(crashing.said, "POST", "/v1/intent", { auth, body: cardOnramp() });
  const id = String(json.intent.id);
  const path = `/v1/intent/${id}`;
  await eventually(
    () => call(crashing.said, "GET", path, { auth }),
    (reply) => reply.json.intent.status === "COMPLETED",
  );
  const { refundId } = made(await refundIntent(database, id, { amount: "30.00", reason: "ticket" }));
  await untilTrue(() => crashing.child.signalCode === "SIGKILL");

  const ramp = await startRamp("");
  atEnd(() => ramp.kill());
  const done = await eventually(
    () => call(ramp.said, "GET", path, { auth }),
    (reply) => reply.json.transaction?.context.refunds !== undefined,
  );
  expect(done.json.transaction.context.refunds).toEqual([
    { id: refundId, amount: "30.00", reason: "ticket" },
  ]);
  expect(provider.bodies.get(`refund:${refundId}`)?.length).toBeGreaterThan(1);
  expect(
    await queryAt(
      databaseUrl,
      "SELECT kind, about, amount::text, (SELECT state FROM ramp.refund_requests) AS state FROM ramp.postings WHERE account = 'provider' AND kind = 'refund'",
    ),
  ).toEqual([{ kind: "refund", about: `refund ${refundId}`, amount: "-30", state: "SUCCEEDED" }]);
});
