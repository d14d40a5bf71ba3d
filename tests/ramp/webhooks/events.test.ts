import { customerIdOf } from "../../../runtime/ramp/database/id.js";
import { describe, expect, it } from "vitest";
import { RETRY_SECONDS } from "../../../runtime/ramp/webhooks/events.js";
import { isPublicAddress } from "../../../runtime/http/outbound-http.js";
import { replayWebhooks, addWebhook } from "../../../runtime/ramp/operator/webhooks.js";
import { ownReceiver } from "../support/receiver.js";
import {
  eventually,
  made,
  newCustomer,
  onramp,
  ownWorld,
  type TestProject,
  untilTrue,
} from "../support/world.js";

const world = await ownWorld();

const deliveries = (project: TestProject): Promise<Record<string, unknown>[]> =>
  world.rows(
    "SELECT d.*, extract(epoch FROM d.attempt_at - d.updated_at)::int AS pause FROM ramp.webhook_deliveries d WHERE project_id = $1 ORDER BY created_at, id",
    [project.id],
  );

describe("events", () => {
  it("report every move of an intent and its transaction, signed as Standard Webhooks are", async () => {
    const project = await world.project();
    const receiver = await ownReceiver();
    const { secret } = await world.webhook(project, receiver.url);
    const auth = await newCustomer(world, project, "reported");
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
    await eventually(
      () => deliveries(project),
      (rows) => rows.length === 11 && rows.every(({ status }) => status === "DELIVERED"),
    );
    const events = receiver.verified(secret);
    const reported = events.map(({ type, data }) => `${type} ${String(data["status"])}`).sort();
    expect(reported).toEqual(
      [
        "intent.status_changed PENDING",
        "compliance.updated PENDING",
        "compliance.updated IN_PROGRESS",
        "compliance.updated COMPLETED",
        "intent.status_changed COMPLIANCE_APPROVED",
        "intent.status_changed PENDING_PAYMENT",
        "transaction.updated PENDING",
        "transaction.updated IN_PROGRESS",
        "intent.status_changed TRANSACTION_IN_PROGRESS",
        "transaction.updated SUCCESS",
        "intent.status_changed COMPLETED",
      ].sort(),
    );
    expect(new Set(events.map(({ id }) => id)).size).toBe(11);
    const last = events.find(
      ({ data }) => data["status"] === "COMPLETED" && data["previousStatus"] !== undefined,
    );
    expect(last?.data["intent"]).toMatchObject({
      srcAmount: "100.00",
      srcCurrencyCode: "USD",
      destCurrencyCode: "USDC_POLYGON",
      livemode: false,
      transaction: { status: "SUCCESS", receipt: { fees: { currencyCode: "USD" } } },
    });
    for (const { data } of events)
      expect(data).toMatchObject({
        intentId: json.intent.id,
        customerId: customerIdOf(project.projectId, "reported"),
        projectId: project.id,
      });
  });

  it("hold no account details", async () => {
    const project = await world.project();
    const receiver = await ownReceiver();
    await world.webhook(project, receiver.url);
    const auth = await newCustomer(world, project);
    const details = {
      countryCode: "US",
      rail: "ACH",
      provider: "sandbox-south",
      routingNumber: "021000021",
      accountNumber: "987654321",
    };
    await world.call("POST", "/v1/intent", { auth, body: onramp({ src: { currencyCode: "USD", details } }) });
    await untilTrue(() => receiver.received.length >= 4);
    expect(receiver.received.map(({ body }) => body).join()).not.toContain("987654321");
  });

  it("that are not taken come again after the pauses of the schedule, with the same id and body, then no more", async () => {
    const project = await world.project();
    const receiver = await ownReceiver();
    receiver.status = 500;
    await world.webhook(project, receiver.url);
    const auth = await newCustomer(world, project);
    await world.call("POST", "/v1/intent", { auth, body: onramp({ srcAmount: "500.00" }) });
    const all = (attempts: number) => (rows: readonly Record<string, unknown>[]) =>
      rows.length > 0 && rows.every((row) => row["attempts"] === attempts && row["attempted_until"] === null);
    for (const [tries, seconds] of RETRY_SECONDS.entries()) {
      const rows = await eventually(() => deliveries(project), all(tries + 1));
      for (const row of rows)
        expect(row).toMatchObject({ status: "PENDING", pause: seconds, last_result: "500" });
      await world.rows("UPDATE ramp.webhook_deliveries SET attempt_at = now() WHERE project_id = $1", [
        project.id,
      ]);
    }
    const rows = await eventually(() => deliveries(project), all(RETRY_SECONDS.length + 1));
    for (const row of rows) expect(row).toMatchObject({ status: "EXHAUSTED", attempt_at: null });
    const ids = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
    const copies = new Set(
      receiver.received.map(({ headers, body }) => `${String(headers["webhook-id"])} ${body}`),
    );
    expect(copies.size).toBe(ids.size);
    receiver.status = 200;
    expect(made(await replayWebhooks(world.database, project.id, {}))).toEqual({ replayed: rows.length });
    await eventually(
      () => deliveries(project),
      (now) => now.every(({ status }) => status === "DELIVERED"),
    );
  });

  it("do not follow a redirect", async () => {
    const project = await world.project();
    const receiver = await ownReceiver();
    receiver.status = 302;
    await world.webhook(project, receiver.url);
    const auth = await newCustomer(world, project);
    await world.call("POST", "/v1/intent", { auth, body: onramp({ srcAmount: "500.00" }) });
    await eventually(
      () => deliveries(project),
      (rows) => rows.some((row) => row["last_result"] === "302"),
    );
  });

  it("do not go to private addresses unless the operator allows that, not even by a name", async () => {
    const project = await world.project();
    const target = { url: "http://127.0.0.1:9/", allowPrivate: false };
    expect(await addWebhook(world.database, world.vault, project.id, target)).toMatchObject({ ok: false });
    const named = { url: "http://localhost:9/", allowPrivate: false };
    made(await addWebhook(world.database, world.vault, project.id, named));
    const auth = await newCustomer(world, project);
    await world.call("POST", "/v1/intent", { auth, body: onramp({ srcAmount: "500.00" }) });
    await eventually(
      () => deliveries(project),
      (rows) => rows.some((row) => row["last_result"] === "EPRIVATE"),
    );
  });

  it.each([
    "127.0.0.1",
    "10.1.2.3",
    "192.168.0.1",
    "169.254.169.254",
    "::1",
    "fd00::1",
    "::ffff:127.0.0.1",
    "0.0.0.0",
    "100.64.0.1",
  ])("take %s for private", (address) => expect(isPublicAddress(address)).toBe(false));

  it.each(["1.1.1.1", "2606:4700:4700::1111"])("take %s for public", (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );
});
