import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { HttpProvider } from "../../../runtime/ramp/providers/provider.js";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { CARD_CAPABILITIES, ownCardProvider } from "../support/card-provider.js";
import { routewright } from "../support/command-line.js";
import { ownSandbox } from "../support/world.js";

const sandbox = await ownSandbox();
await sandbox.set({ settleMs: 50 });

it.each(SANDBOX_PROVIDERS)(
  "the provider $code passes the protocol's test",
  async ({ path, keyId, secret }) => {
    const { exit, out, error } = await routewright(
      ...["provider", "test", "--url", sandbox.url + path, "--key-id", keyId, "--secret", secret],
    );
    expect(out, error).not.toContain("FAIL");
    expect(out).toContain("ok    it has the destAmount that was requested");
    expect(out).toContain("a full refund is REFUNDED");
    expect(out).toContain("two copies at once are one order");
    expect(out).toContain("ok    it stays closed");
    // North holds no prices.
    expect(out.includes("ok    it is taken at a newer quote")).toBe(path.includes("south"));
    expect(exit).toBe(0);
  },
);

it("the sandbox takes no order that does not say who receives the money", async () => {
  const [south] = SANDBOX_PROVIDERS.filter(({ code }) => code === "sandbox-south");
  const { path = "", keyId = "", secret = "" } = south ?? {};
  const provider = new HttpProvider({ url: sandbox.url + path, keyId, secret });
  const order = {
    id: randomUUID(),
    customerReference: randomUUID(),
    wallets: [],
    movement: {
      type: "OFFRAMP",
      src: { currencyCode: "USDC_POLYGON", details: { address: `0x${"12".repeat(20)}` } },
      dest: { currencyCode: "USD", details: { countryCode: "US" } },
      srcAmount: "50.000000",
      rail: "ACH",
    },
    callbackUrl: "http://127.0.0.1:9/",
  };
  const refused = { kind: "refused", code: "NO_RECEIVER" };
  expect(await provider.startOnboarding(order.id, JSON.stringify(order))).toMatchObject(refused);
});

it("a provider that says it quotes for destAmount and does not fails", async () => {
  const capabilities = { ...CARD_CAPABILITIES, sandbox: true, destAmounts: true };
  const provider = await ownCardProvider({ capabilities });
  provider.destAmounts = { CARD: "98.500000" };
  const { exit, out } = await routewright(
    ...["provider", "test", "--url", provider.url, "--key-id", "key", "--secret", "secret"],
  );
  expect(exit).toBe(1);
  expect(out).toContain("ok    it has the destAmount that was requested");
  expect(out).toContain("FAIL  it says what the source sends (srcAmount): there is none");
});

it("a provider that takes orders at prices that it does not hold fails, each by name", async () => {
  const capabilities = { ...CARD_CAPABILITIES, sandbox: true };
  const provider = await ownCardProvider({ capabilities, holdMs: 60_000 });
  provider.onboarding = { priceExpiresAt: "2020-01-01T00:00:00Z" };
  const { exit, out } = await routewright(
    ...["provider", "test", "--url", provider.url, "--key-id", "key", "--secret", "secret"],
  );
  expect(exit).toBe(1);
  for (const failure of [
    "FAIL  an accepted price is held: it has ended at 2020-01-01T00:00:00Z",
    "FAIL  an onboarding at a quote that is not held is refused for its price: it was answered",
    "FAIL  an execution at a quote that is not held is refused for its price: it was answered",
    "FAIL  it leaves no trace: 404 UNKNOWN_ORDER: it was answered",
  ])
    expect(out).toContain(failure);
});

it("a provider that holds a price without an end fails", async () => {
  const capabilities = { ...CARD_CAPABILITIES, sandbox: true };
  const provider = await ownCardProvider({ capabilities, offer: { quoteId: "held" } });
  const { out } = await routewright(
    ...["provider", "test", "--url", provider.url, "--key-id", "key", "--secret", "secret"],
  );
  expect(out).toContain("FAIL  a quote with a quoteId is held until its expiresAt");
});

it("a provider that knows every deposit account and closes none fails, each failure by name", async () => {
  const provider = await ownCardProvider({
    capabilities: { ...CARD_CAPABILITIES, sandbox: true, depositAccounts: true },
    depositAccount: { status: "ACTIVE", instructions: [], deposits: [] },
  });
  const { exit, out } = await routewright(
    ...["provider", "test", "--url", provider.url, "--key-id", "key", "--secret", "secret"],
  );
  expect(exit).toBe(1);
  for (const failure of [
    "FAIL  an unknown deposit account is 404 UNKNOWN_ORDER: it was answered as ACTIVE",
    "FAIL  a deposit account that never came is closed",
    "FAIL  it is not opened after that: it was answered as ACTIVE",
    "FAIL  it has instructions without an amount: there are none",
    "FAIL  the same id for another customer is refused: it was answered as ACTIVE",
    "FAIL  it stays closed",
  ])
    expect(out).toContain(failure);
});

it("a provider that checks no signatures and knows every order fails, each failure by name", async () => {
  const provider = await ownCardProvider({ status: "SUCCESS" });
  const test = ["provider", "test", "--url", provider.url, "--key-id", "key", "--secret", "secret"];
  const live = await routewright(...test);
  expect(live).toMatchObject({ exit: 1, out: expect.stringContaining("FAIL  sandbox") });
  provider.capabilities = { ...CARD_CAPABILITIES, sandbox: true };
  const { exit, out } = await routewright(...test);
  expect(exit).toBe(1);
  expect(out).toContain("FAIL  unsigned requests are refused: status 200, not 401");
  expect(out).toContain("FAIL  a wrong signature is refused");
  expect(out).toContain("FAIL  an unknown onboarding is 404 UNKNOWN_ORDER");
});
