/** What authorizes a request holds when it writes, and what is stored about a customer ends with an erasure. */
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { customerIdOf } from "../../../runtime/ramp/database/id.js";
import { removeIdentityProvider } from "../../../runtime/ramp/operator/identity-providers.js";
import { listRecords } from "../../../runtime/ramp/operator/diagnostics.js";
import { refundIntent } from "../../../runtime/ramp/operator/intent-actions.js";
import { revokeCustomerTokens, revokeSecret } from "../../../runtime/ramp/operator/projects.js";
import { ownCards } from "../support/card-provider.js";
import { startProcess } from "../support/processes.js";
import {
  eventually,
  made,
  newCustomer,
  north,
  onramp,
  ownWorld,
  reached,
  type TestProject,
  untilTrue,
} from "../support/world.js";
import { ownReceiver } from "../support/receiver.js";
import { atEnd } from "../../support/at-end.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 50 });

const { said: issuer, kill } = await startProcess("./oidc-process.ts");
atEnd(() => kill());

const erase = (project: TestProject, id: string) =>
  world.call("DELETE", `/v1/customers/${id}`, { auth: project.basic });
const revokeSecrets = async ({ id }: TestProject): Promise<void> => {
  for (const { secretId } of await listRecords(world.database, "secrets", id))
    made(await revokeSecret(world.database, id, String(secretId)));
};
const GRACES_WALLET = "0x8617e340b3d01fa5f11f306f4090fd50e238070d";
const ACCOUNTS = {
  src: "USD",
  dest: "USDC_POLYGON",
  source: { rail: "ACH", routingNumber: "021000021", accountNumber: "987654321", accountHolderName: "Ada" },
  destination: { address: GRACES_WALLET },
};

/** Sends a request whose body comes only after `act`, when the caller has long been authenticated. */
async function interrupted(
  { method = "POST", path, auth, body }: { method?: string; path: string; auth: string; body: unknown },
  act: () => Promise<unknown>,
): Promise<number> {
  const url = new URL(path, world.url);
  const headers = {
    authorization: auth,
    "content-type": "application/json",
    "idempotency-key": "mid",
    "transfer-encoding": "chunked",
  };
  const outgoing = request(url, { method, headers, agent: false });
  const status = new Promise<number>((resolve, reject) => {
    outgoing.on("response", (response) => resolve(response.resume().statusCode ?? 0));
    outgoing.on("error", reject);
  });
  const text = JSON.stringify(body);
  outgoing.write(text.slice(0, 1));
  await sleep(500);
  await act();
  outgoing.end(text.slice(1));
  return status;
}

/** Rows of a project in the tables that its API writes to. */
const stored = async ({ id }: TestProject) =>
  (
    await world.rows(
      `SELECT (SELECT count(*) FROM ramp.intents WHERE project_id = $1)::int AS intents,
         (SELECT count(*) FROM ramp.transactions WHERE project_id = $1)::int AS transactions,
         (SELECT count(*) FROM ramp.external_accounts WHERE project_id = $1)::int AS accounts,
         (SELECT count(*) FROM ramp.idempotency_claims WHERE project_id = $1)::int AS claims,
         (SELECT count(*) FROM ramp.customers WHERE project_id = $1)::int AS customers`,
      [id],
    )
  )[0];

describe("in the middle of a request", () => {
  const open = async () => {
    const project = await world.project();
    const auth = await newCustomer(world, project, "ada");
    return { project, auth, id: customerIdOf(project.id, "ada") };
  };
  const revoke = (project: TestProject) => revokeCustomerTokens(world.database, project.id, "ada");

  it.each([
    ["an intent", "/v1/intent", onramp({ autoExecute: true })],
    ["external accounts", "/v1/customers/external-accounts", ACCOUNTS],
  ])("%s of a revoked token or an erased customer is a 401, and nothing is stored", async (_, path, body) => {
    const [first, second] = [await open(), await open()];
    const before = await stored(first.project);
    expect(await interrupted({ path, auth: first.auth, body }, () => revoke(first.project))).toBe(401);
    expect(await stored(first.project)).toEqual(before);
    const act = async () => expect((await erase(second.project, second.id)).status).toBe(204);
    expect(await interrupted({ path, auth: second.auth, body }, act)).toBe(401);
    expect(await stored(second.project)).toMatchObject({ intents: 0, accounts: 0, claims: 0, customers: 0 });
  });

  it("a customer who is erased while providers give quotes gets no intent, and nothing is ordered", async () => {
    const { project, provider, create } = await ownCards(world);
    const [customer] = (await world.call("GET", "/v1/customers", { auth: project.basic })).json as [
      { id: string },
    ];
    let isAsked = false;
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    provider.answerQuote = () => ((isAsked = true), held);
    const creating = create();
    await untilTrue(() => isAsked);
    expect((await erase(project, customer.id)).status).toBe(204);
    answer();
    expect((await creating).status).toBe(401);
    expect(provider.ordered).toEqual([]);
    expect(await stored(project)).toMatchObject({ intents: 0, transactions: 0 });
  });

  it.each(["transaction", "cancel"])(
    "%s of a revoked token is a 401, and changes nothing",
    async (action) => {
      const { project, auth } = await open();
      const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
      const path = `/v1/intent/${String(json.intent.id)}`;
      await reached(world, path, { auth }, "PENDING_PAYMENT");
      const status = await interrupted({ path: `${path}/${action}`, auth, body: {} }, () => revoke(project));
      expect(status).toBe(401);
      const fresh = await newCustomer(world, project, "ada");
      expect((await world.call("GET", path, { auth: fresh })).json.intent.status).toBe("PENDING_PAYMENT");
      expect(await stored(project)).toMatchObject({ transactions: 0, claims: 0 });
    },
  );

  it("a revoked client secret creates no customer and erases none", async () => {
    const { project, id } = await open();
    const body = { id: "grace" };
    const auth = project.basic;
    expect(await interrupted({ path: "/v1/customers", auth, body }, () => revokeSecrets(project))).toBe(401);
    expect(await stored(project)).toMatchObject({ customers: 1, claims: 0 });
    const other = await open();
    const target = {
      method: "DELETE",
      path: `/v1/customers/${other.id}`,
      auth: other.project.basic,
      body: {},
    };
    expect(await interrupted(target, () => revokeSecrets(other.project))).toBe(401);
    expect([await stored(other.project), id.length]).toMatchObject([{ customers: 1 }, 36]);
  });

  it("a subject token whose identity provider is removed binds nobody", async () => {
    const { project } = await open();
    await world.identityProvider(project, issuer, "app");
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, aud: "app", sub: "u", iat: now, exp: now + 300 };
    const token = await (
      await fetch(`${issuer}/token`, { method: "POST", body: JSON.stringify(claims) })
    ).text();
    const body = { id: "bound", subject_token: token };
    const creating = interrupted({ path: "/v1/customers", auth: project.basic, body }, () =>
      removeIdentityProvider(world.database, project.id, issuer),
    );
    expect(await creating).toBe(401);
    expect(await stored(project)).toMatchObject({ customers: 1 });
  });
});

describe("an id of the caller's", () => {
  it("that is the UUID of another customer is a 409, in both directions", async () => {
    const project = await world.project();
    const create = (id: string) => world.call("POST", "/v1/customers", { auth: project.basic, body: { id } });
    const [ada, grace] = [customerIdOf(project.id, "ada"), customerIdOf(project.id, "grace")];
    expect((await create("ada")).json).toMatchObject({ id: ada, externalId: "ada" });
    for (const id of [ada, ada.toUpperCase()]) {
      const reply = await create(id);
      expect([reply.status, reply.json.error]).toEqual([409, "CUSTOMER_ID_CONFLICT"]);
    }
    expect((await create(grace.toUpperCase())).status).toBe(201);
    expect((await create(grace)).json).toMatchObject({ id: grace });
    expect((await create("grace")).status).toBe(409);
    expect((await create("ada")).status).toBe(201);
  });
});

describe("an erased customer", () => {
  const ACCOUNT = { ...ACCOUNTS.source, countryCode: "US", provider: "sandbox-south" };
  const intent = onramp({
    metadata: { name: "Grace Hopper" },
    src: { currencyCode: "USD", details: ACCOUNT },
    dest: { currencyCode: "USDC_POLYGON", details: { address: GRACES_WALLET } },
    onboardingRedirectUrl: "https://shop.example/grace",
  });

  const refund = (id: string) =>
    refundIntent(world.database, id, { amount: "10.00", reason: "Grace asked for it" });

  /** A customer with a completed intent, a part of it refunded, and registered accounts. */
  async function served(beforeRefund = () => Promise.resolve()) {
    const project = await world.project();
    const receiver = await ownReceiver();
    const { secret } = await world.webhook(project, receiver.url);
    const auth = await newCustomer(world, project, "Grace Hopper");
    const accounts = await world.call("POST", "/v1/customers/external-accounts", {
      auth,
      key: "accounts",
      body: ACCOUNTS,
    });
    expect(accounts.status, accounts.text).toBe(201);
    const { json } = await world.call("POST", "/v1/intent", { auth, key: "intent", body: intent });
    const id = String(json.intent.id);
    const path = `/v1/intent/${id}`;
    await reached(world, path, { auth }, "PENDING_PAYMENT");
    await world.call("POST", `${path}/transaction`, { auth, key: "order" });
    await reached(world, path, { auth }, "COMPLETED");
    await beforeRefund();
    made(await refund(id));
    const customerId = customerIdOf(project.id, "Grace Hopper");
    return { project, receiver, secret, auth, customerId, id, path };
  }

  /** The same, erased. */
  async function erased() {
    const customer = await served();
    await eventually(
      () => erase(customer.project, customer.customerId),
      ({ status }) => status !== 409,
    );
    return customer;
  }

  it("leaves nothing that names it: no account, answer, identity or event; keys are free again", async () => {
    const { project, customerId, auth, id } = await erased();
    made(await refundIntent(world.database, id, { amount: "5.00", reason: "Grace asked again" }));
    const found: string[] = [];
    for (const { table_name: table } of await world.rows(
      "SELECT table_name FROM information_schema.tables WHERE table_schema = 'ramp' AND table_name NOT IN ('audit_log', 'token_revocations')",
    ))
      for (const text of ["Grace", "grace", "0x8617e3", "987654321", customerId]) {
        const rows = await world.rows(
          `SELECT 1 FROM ramp.${String(table)} r WHERE r::text LIKE '%' || $1 || '%'`,
          [text],
        );
        if (rows.length > 0) found.push(`${String(table)}: ${text}`);
      }
    expect(found).toEqual([]);
    expect((await world.call("GET", "/v1/intent", { auth })).status).toBe(401);
    expect((await erase(project, customerId)).status).toBe(404);
    expect((await world.call("GET", "/v1/customers", { auth: project.basic })).json).toEqual([]);
    const returned = await newCustomer(world, project, "Grace Hopper");
    for (const [key, path, body] of [
      ["accounts", "/v1/customers/external-accounts", ACCOUNTS],
      ["intent", "/v1/intent", onramp()],
    ] as const) {
      const reply = await world.call("POST", path, { auth: returned, key, body });
      expect([reply.status, reply.headers.get("x-idempotency-replayed")]).toEqual([201, null]);
    }
  });

  it("is not erased while a refund is on its way", async () => {
    try {
      const { project, customerId, path } = await served(() => world.sandbox.set({ failNext: 1_000_000 }));
      const early = await erase(project, customerId);
      expect([early.status, early.json.error]).toEqual([409, "CUSTOMER_HAS_OPEN_INTENTS"]);
      await world.sandbox.set({ failNext: 0 });
      await eventually(
        () => erase(project, customerId),
        ({ status }) => status === 204,
      );
      const { json } = await world.call("GET", path.replace("intent", "intents"), { auth: project.basic });
      expect(json.transaction.context.refunds).toMatchObject([{ amount: "10.00" }]);
    } finally {
      await world.sandbox.set({ failNext: 0 });
    }
  });

  it("who returns has the same id; intents from before are 404 and not listed, for the project they stay without a name", async () => {
    const { project, customerId, id, path, auth } = await erased();
    const again = await world.call("POST", "/v1/customers", {
      auth: project.basic,
      body: { id: "Grace Hopper" },
    });
    expect(again.json).toMatchObject({ id: customerId, externalId: "Grace Hopper" });
    const fresh = { auth: `Bearer ${String(again.json.accessToken)}` };
    expect((await world.call("GET", "/v1/intent", fresh)).json).toEqual([]);
    expect((await world.call("GET", path, fresh)).status).toBe(404);
    expect((await world.call("GET", `${path}/transaction`, fresh)).status).toBe(404);
    expect((await world.call("POST", `${path}/cancel`, fresh)).status).toBe(404);
    expect((await world.call("GET", "/v1/intent", { auth })).status).toBe(401);
    const kept = await world.call("GET", `/v1/intents/${id}`, { auth: project.basic });
    expect(kept.json).toMatchObject({
      intent: { id, status: "COMPLETED", srcAmount: "100.00", src: { details: {} }, dest: { details: {} } },
      transaction: { status: "SUCCESS", context: { instructions: [] } },
    });
    expect(kept.json.customerId).not.toBe(customerId);
    expect(kept.text).not.toContain(customerId);
    const listed = await world.call("GET", `/v1/intents?customerId=${customerId}`, { auth: project.basic });
    expect(listed.json).toEqual([]);
    // The nameless customer of the intents is nobody's id.
    const taken = await world.call("POST", "/v1/customers", {
      auth: project.basic,
      body: { id: kept.json.customerId },
    });
    expect(taken.status).toBe(409);
  });

  it("keeps its events, in their order and without its name; those that wait are delivered so", async () => {
    const { project, receiver, secret, id, customerId } = await erased();
    await untilTrue(async () =>
      world.holds(
        "SELECT bool_and(status = 'DELIVERED') FROM ramp.webhook_deliveries WHERE project_id = $1",
        [project.id],
      ),
    );
    const before = receiver.received.length;
    await world.rows(
      "UPDATE ramp.webhook_deliveries SET status = 'PENDING', attempt_at = now() WHERE project_id = $1",
      [project.id],
    );
    await untilTrue(() => receiver.received.length === 2 * before);
    const events = receiver.verified(secret).slice(before);
    expect(events.length).toBeGreaterThan(5);
    const sequences = events.map(({ sequence }) => sequence);
    expect(new Set(sequences).size).toBe(before);
    const moves = events
      .sort((left, right) => left.sequence - right.sequence)
      .filter(({ type }) => type === "intent.status_changed");
    const last = moves.at(-1)?.data;
    expect(last).toMatchObject({ intentId: id, status: "COMPLETED", intent: { srcAmount: "100.00" } });
    expect(JSON.stringify(events)).not.toMatch(/Grace|metadata/);
    expect(JSON.stringify(events)).not.toContain(customerId);
  });

  it("has no hosted page any more", async () => {
    const project = await world.project();
    const auth = await newCustomer(world, project, "page");
    const { json } = await world.call("POST", "/v1/intent", { auth, body: north() });
    const page = new URL(String(json.onboardingUrl ?? "")).pathname;
    await world.call("POST", `/v1/intent/${String(json.intent.id)}/cancel`, { auth });
    await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "CANCELLED");
    expect((await fetch(world.url + page)).status).toBe(200);
    expect((await erase(project, customerIdOf(project.id, "page"))).status).toBe(204);
    expect((await fetch(world.url + page)).status).toBe(404);
    await eventually(
      () => fetch(`${world.url}${page}/status`),
      ({ status }) => status === 404,
    );
  });
});
