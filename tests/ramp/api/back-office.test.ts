/** What a back office does with the project's credentials alone, and a customer with its accounts. */
import { describe, expect, it } from "vitest";
import { listAudit } from "../../../runtime/ramp/core/audit.js";
import { CARD_CAPABILITIES, ownCards } from "../support/card-provider.js";
import {
  eventually,
  expectRefused,
  newCustomer,
  onramp,
  ownWorld,
  reached,
  type Reply,
  type TestProject,
  WALLET,
} from "../support/world.js";

const world = await ownWorld();
const project = await world.project();
const other = await world.project();
const auth = await newCustomer(world, project);

const post = (path: string, body: unknown = {}, key?: string, by: TestProject = project): Promise<Reply> =>
  world.call("POST", path, { auth: by.basic, body, ...(key !== undefined && { key }) });
const get = (path: string, by: TestProject = project): Promise<Reply> =>
  world.call("GET", path, { auth: by.basic });

async function created(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { json, text } = await world.call("POST", "/v1/intent", { auth, body: onramp(more) });
  expect(json.intent, text).toBeDefined();
  return `/v1/intents/${String(json.intent.id)}`;
}

async function paid(): Promise<string> {
  const path = await created({ autoExecute: true });
  await reached(world, path, { auth: project.basic }, "COMPLETED");
  return path;
}

const audited = async (path: string) =>
  (await listAudit(world.database, { intentId: path.split("/").at(-1) ?? "", limit: 10 })).map(
    ({ actor, action, note, outcome }) => ({ actor, action, note, outcome }),
  );

describe("a project", () => {
  it("cancels an intent, once", async () => {
    const path = await created();
    const cancelled = await post(`${path}/cancel`, {}, "cancel");
    expect(cancelled.status, cancelled.text).toBe(202);
    expect(cancelled.json).toMatchObject({ customerId: expect.any(String), intent: { srcAmount: "100.00" } });
    await reached(world, path, { auth: project.basic }, "CANCELLED");
    expect((await post(`${path}/cancel`, {}, "cancel")).text).toBe(cancelled.text);
    expectRefused([await post(`${path}/cancel`)], 400, "INTENT_CLOSED");
    expect(await audited(path)).toMatchObject([{ actor: "project", action: "intent cancel" }]);
  });

  it("refunds a payment in parts, to its end and no further", async () => {
    const path = await paid();
    const first = await post(`${path}/refund`, { amount: "40", reason: "one shirt" });
    expect(first.status, first.text).toBe(202);
    expect(first.json).toEqual({
      id: expect.any(String),
      intentId: path.split("/").at(-1),
      amount: "40.00",
      currencyCode: "USD",
      status: "REQUESTED",
      origin: "REQUEST",
      reason: "one shirt",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const again = await post(`${path}/refund`, { amount: "40.00", reason: "one shirt" });
    expect(again.json).toMatchObject({ id: first.json.id, amount: "40.00" });
    expectRefused(
      [await post(`${path}/refund`, { amount: "41", reason: "one shirt" })],
      409,
      "REFUND_CONFLICT",
    );
    expectRefused([await post(`${path}/refund`, { amount: "60.01", reason: "more" })], 400, "NOT_REFUNDABLE");
    expectRefused([await post(`${path}/refund`, { amount: "1.001", reason: "odd" })], 400, "INVALID_AMOUNT");
    expectRefused([await post(`${path}/refund`, { amount: "1", reason: " " })], 400, "INVALID_REQUEST");
    expect((await post(`${path}/refund`, { reason: "the rest" })).json.amount).toBe("60.00");
    const done = await eventually(
      () => get(path),
      ({ json }) => json.transaction.status === "REFUNDED",
    );
    expect(done.json.transaction.context.refunds).toMatchObject([
      { id: first.json.id, amount: "40.00", reason: "one shirt" },
      { amount: "60.00", reason: "the rest" },
    ]);
    // The repeated wish decided nothing.
    expect(await audited(path)).toHaveLength(2);
    const none = await post(`${path}/refund`, { reason: "once more" });
    expectRefused([none], 400, "NOT_REFUNDABLE");
    expect(none.json.message).toBe("Nothing is left to refund.");
  });

  it("refunds no more than was paid, however many ask at once", async () => {
    const path = await paid();
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        post(`${path}/refund`, { amount: "40", reason: `wish ${String(n)}` }, `wish ${String(n)}`),
      ),
    );
    const refused = replies.filter(({ status }) => status !== 202);
    expect(refused).toHaveLength(10);
    expectRefused(refused, 400, "NOT_REFUNDABLE");
    const [key] = replies.flatMap(({ status }, n) => (status === 202 ? [`wish ${String(n)}`] : []));
    const replayed = await post(`${path}/refund`, { amount: "40", reason: key }, key);
    expect([replayed.status, replayed.headers.get("x-idempotency-replayed")]).toEqual([202, "true"]);
    const done = await eventually(
      () => get(path),
      ({ json }) => json.transaction.context.refunds?.length === 2,
    );
    expect(done.json.transaction.status).toBe("SUCCESS");
    const posted = await world.rows(
      "SELECT sum(amount)::text AS sum FROM ramp.postings WHERE intent_id = $1 AND account = 'provider' AND about LIKE 'refund%'",
      [path.split("/").at(-1)],
    );
    expect(Number(posted[0]?.["sum"])).toBe(-80);
  });

  it("refunds nothing that is not paid, and nothing at a provider that offers no refunds", async () => {
    expectRefused([await post(`${await created()}/refund`, { reason: "none" })], 400, "NOT_REFUNDABLE");
    const execution = { receipt: { amountReceived: "99" } };
    const cards = await ownCards(world, { status: "SUCCESS", execution });
    const { json } = await cards.create();
    const path = `/v1/intents/${String(json.intent.id)}`;
    await reached(world, path, { auth: cards.project.basic }, "COMPLETED");
    const refused = await post(`${path}/refund`, { reason: "none" }, undefined, cards.project);
    expectRefused([refused], 400, "NOT_REFUNDABLE");
    expect(refused.json.message).toContain("offers no refunds");
  });

  it("sees which intents need attention, and resolves them", async () => {
    const capabilities = { ...CARD_CAPABILITIES, refunds: true };
    const execution = { receipt: { amountReceived: "9" } };
    const cards = await ownCards(world, { status: "SUCCESS", capabilities, execution });
    const { json } = await cards.create();
    const path = `/v1/intents/${String(json.intent.id)}`;
    const wrong = await reached(world, path, { auth: cards.project.basic }, "AMOUNT_MISMATCH");
    expect(wrong.json.attention).toEqual({ AMOUNT_MISMATCH: expect.stringContaining("USDC_POLYGON") });
    const listed = await get("/v1/intents?attention=true", cards.project);
    expect(listed.json).toEqual([wrong.json]);
    const resolve = (as: string): Promise<Reply> =>
      post(`${path}/resolve`, { as, note: "agreed with the customer" }, undefined, cards.project);
    const resolved = await resolve("completed");
    expect(resolved.status, resolved.text).toBe(202);
    expect(resolved.json.intent.status).toBe("COMPLETED");
    expect(resolved.json).not.toHaveProperty("attention");
    expect((await get("/v1/intents?attention=true", cards.project)).json).toEqual([]);
    expectRefused([await resolve("failed")], 400, "NOT_RESOLVABLE");
    expectRefused([await resolve("paid")], 400, "INVALID_REQUEST");
    expect(await audited(path)).toEqual([
      { actor: "project", action: "intent resolve", note: "agreed with the customer", outcome: "COMPLETED" },
    ]);
  });

  it("decides nothing about another project's intents", async () => {
    const path = await paid();
    const replies = [
      await post(`${path}/cancel`, {}, undefined, other),
      await post(`${path}/refund`, { reason: "theft" }, undefined, other),
      await post(`${path}/resolve`, { as: "failed", note: "theft" }, undefined, other),
      await post("/v1/intents/x/refund", { reason: "x" }),
    ];
    expectRefused(replies, 404, "NOT_FOUND");
  });

  it("reads a customer by the ramp's id", async () => {
    const { json: made } = await post("/v1/customers", { id: "somebody", metadata: { plan: "gold" } });
    const { accessToken, ...customer } = made;
    expect(accessToken).toEqual(expect.any(String));
    const path = `/v1/customers/${String(customer.id)}`;
    expect((await get(path)).json).toEqual(customer);
    expectRefused([await get(path, other), await get("/v1/customers/somebody")], 404, "NOT_FOUND");
    await world.call("DELETE", path, { auth: project.basic });
    expectRefused([await get(path)], 404, "NOT_FOUND");
  });
});

describe("a customer's external accounts", () => {
  const body = (more: object = {}) => ({
    src: "USD",
    dest: "USDC_POLYGON",
    source: { countryCode: "US", rail: "ACH", routingNumber: "021000021", accountNumber: "12345678" },
    destination: { address: WALLET },
    ...more,
  });
  const accounts = "/v1/customers/external-accounts";

  it("are listed newest first, page by page, and nobody else's", async () => {
    const [own, neighbour] = [await newCustomer(world, project), await newCustomer(world, project)];
    const { json } = await world.call("POST", accounts, { auth: own, body: body() });
    const list = await world.call("GET", accounts, { auth: own });
    expect(list.json).toHaveLength(2);
    expect(list.json).toEqual(expect.arrayContaining([json.source, json.destination]));
    const first = await world.call("GET", `${accounts}?limit=1`, { auth: own });
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    const second = await world.call("GET", next, { auth: own });
    expect([...first.json, ...second.json]).toEqual(list.json);
    expect((await world.call("GET", accounts, { auth: neighbour })).json).toEqual([]);
    const foreign = await world.call("GET", `${accounts}?starting_after=${String(json.source.id)}`, {
      auth: neighbour,
    });
    expectRefused([foreign], 400, "INVALID_REQUEST");
  });

  it("that are equal are the same ones, also of requests at once", async () => {
    const own = await newCustomer(world, project);
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => world.call("POST", accounts, { auth: own, body: body() })),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
    for (const { json: registered } of replies) expect(registered).toEqual(replies[0]?.json);
    const changed = { destination: { address: `0x${"12".repeat(20)}` } };
    const { json } = await world.call("POST", accounts, { auth: own, body: body(changed) });
    expect(json.source.id).toBe(replies[0]?.json.source.id);
    expect(json.destination.id).not.toBe(replies[0]?.json.destination.id);
    expect((await world.call("GET", accounts, { auth: own })).json).toHaveLength(3);
  });

  it("are deleted: gone from the list and for new intents, and another one when they come again", async () => {
    const [own, neighbour] = [await newCustomer(world, project), await newCustomer(world, project)];
    const { json } = await world.call("POST", accounts, { auth: own, body: body() });
    const path = `${accounts}/${String(json.destination.id)}`;
    const foreign = await world.call("DELETE", path, { auth: neighbour });
    expectRefused([foreign], 404, "NOT_FOUND");
    expect((await world.call("DELETE", path, { auth: own })).status).toBe(204);
    const gone = [
      await world.call("DELETE", path, { auth: own }),
      await world.call("DELETE", `${accounts}/x`, { auth: own }),
    ];
    expectRefused(gone, 404, "NOT_FOUND");
    expect((await world.call("GET", accounts, { auth: own })).json).toEqual([json.source]);
    const dest = { currencyCode: "USDC_POLYGON", externalAccountId: json.destination.id };
    const refused = await world.call("POST", "/v1/intent", { auth: own, body: onramp({ dest }) });
    expectRefused([refused], 400, "INVALID_ACCOUNT_DETAILS");
    const again = await world.call("POST", accounts, { auth: own, body: body() });
    expect(again.json.source.id).toBe(json.source.id);
    expect(again.json.destination.id).not.toBe(json.destination.id);
  });

  it("have the methods of their own path, not those of a customer's", async () => {
    const response = await fetch(world.url + accounts, { method: "OPTIONS" });
    expect([response.status, response.headers.get("allow")]).toEqual([204, "POST, GET, HEAD, OPTIONS"]);
  });
});
