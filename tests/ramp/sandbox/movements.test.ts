import { expect, it } from "vitest";
import { HttpProvider } from "../../../runtime/ramp/providers/provider.js";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { eventually, newCustomer, onramp, ownWorld, type Reply, WALLET } from "../support/world.js";

const world = await ownWorld();
const project = await world.project();

it("brings an on-ramp from customer to completed", async () => {
  const auth = await newCustomer(world, project);
  const created = await world.call("POST", "/v1/intent", { auth, body: onramp() });
  expect(created.status, created.text).toBe(201);
  expect(created.json).toMatchObject({
    intent: { status: "PENDING_PAYMENT", type: "ONRAMP" },
    onboardingUrl: null,
  });
  const path = `/v1/intent/${created.json.intent.id}`;
  const executed = await world.call("POST", `${path}/transaction`, { auth });
  expect(executed.status, executed.text).toBe(202);
  expect(executed.json).toMatchObject({
    status: "IN_PROGRESS",
    context: { instructions: [{ encoding: "DISPLAY", type: "BANK" }] },
  });
  const done = await eventually(
    () => world.call("GET", path, { auth }),
    ({ json }) => json.intent.status === "COMPLETED",
  );
  expect(done.json).toMatchObject({ transaction: { status: "SUCCESS" } });
});

const offramp = {
  src: { currencyCode: "USDC_GNOSIS", details: { address: WALLET } },
  dest: { currencyCode: "BRL", details: { countryCode: "BR", rail: "PIX", key: "12345678901" } },
  srcAmount: "20.5",
};

async function created(auth: string): Promise<string> {
  const reply = await world.call("POST", "/v1/intent", { auth, body: offramp });
  expect(reply.status, reply.text).toBe(201);
  expect(reply.json).toMatchObject({ intent: { type: "OFFRAMP", status: "PENDING_PAYMENT" } });
  expect(reply.json.transaction).toBeUndefined();
  return `/v1/intent/${String(reply.json.intent.id)}`;
}

const ends = (path: string, auth: string, status: string): Promise<Reply> =>
  eventually(
    () => world.call("GET", path, { auth }),
    ({ json }) => json.intent.status === status,
  );

it("brings an off-ramp from customer to completed, step by step", async () => {
  const auth = await newCustomer(world, project);
  const path = await created(auth);
  const executed = await world.call("POST", `${path}/transaction`, { auth });
  expect(executed.status, executed.text).toBe(202);
  expect(executed.json.context.instructions).toEqual([
    {
      encoding: "DISPLAY",
      type: "CRYPTO",
      details: {
        address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
        chain: "GNOSIS",
        amount: "20.500000",
        currency: "USDC",
      },
    },
  ]);
  const done = await ends(path, auth, "COMPLETED");
  expect(done.json.transaction).toMatchObject({ id: executed.json.id, status: "SUCCESS" });
});

it("fails an off-ramp whose payout comes back, with the reason on both", async () => {
  const auth = await newCustomer(world, project);
  await world.sandbox.set({ execution: "fail" });
  const path = await created(auth);
  await world.call("POST", `${path}/transaction`, { auth });
  const failed = await ends(path, auth, "TRANSACTION_FAILED");
  expect(failed.json).toMatchObject({
    intent: { failureReason: "The transfer was returned." },
    transaction: { status: "FAILED", context: { failureReason: "The transfer was returned." } },
  });
  await world.sandbox.set({ execution: "settle" });
  const again = await world.call("POST", `${path}/transaction`, { auth });
  expect([again.status, again.json.error]).toEqual([400, "TRANSACTION_EXISTS"]);
});

it("cancels an off-ramp that the provider has cancelled", async () => {
  const auth = await newCustomer(world, project);
  await world.sandbox.set({ execution: "stall" });
  const path = await created(auth);
  const { json } = await world.call("POST", `${path}/transaction`, { auth });
  for (const { path: below, keyId, secret } of SANDBOX_PROVIDERS)
    await new HttpProvider({ url: world.sandbox.url + below, keyId, secret }).cancel(String(json.id));
  const ended = await ends(path, auth, "CANCELLED");
  expect(ended.json.transaction.status).toBe("CANCELLED");
  await world.sandbox.set({ execution: "settle" });
});
