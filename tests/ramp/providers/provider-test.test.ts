import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { itBeside } from "../../support/beside.js";
import { HttpProvider } from "../../../runtime/ramp/providers/provider.js";
import { testProvider } from "../../../runtime/ramp/providers/provider-test.js";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { callbackHeaders } from "../../../runtime/ramp/providers/signature.js";
import { CARD_CAPABILITIES, FEES, ownCardProvider } from "../support/card-provider.js";
import type { Instruction, ProviderRequirement } from "../../../runtime/ramp/providers/protocol.js";
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
    expect(out).toContain("ok    after it the payment is SUCCESS, and lists it");
    expect(out).toContain("ok    off-ramp: a full refund is REFUNDED");
    expect(out).toContain("ok    callbacks are signed");
    expect(out).toContain("a full refund is REFUNDED");
    expect(out).toContain("two copies at once are one order");
    expect(out).toContain("ok    it stays closed");
    // North holds no prices.
    expect(out.includes("ok    it is taken at a newer quote")).toBe(path.includes("south"));
    expect(exit).toBe(0);
  },
);

itBeside("the sandbox takes no order that does not say who receives the money", async () => {
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

itBeside("a provider that says it quotes for destAmount and does not fails", async () => {
  const capabilities = { ...CARD_CAPABILITIES, sandbox: true, destAmounts: true };
  const provider = await ownCardProvider({ capabilities, status: "SUCCESS" });
  provider.destAmounts = { CARD: "98.500000" };
  const { exit, out } = await routewright(
    ...["provider", "test", "--url", provider.url, "--key-id", "key", "--secret", "secret"],
  );
  expect(exit).toBe(1);
  expect(out).toContain("ok    it has the destAmount that was requested");
  expect(out).toContain("FAIL  it says what the source sends (srcAmount): there is none");
});

itBeside("a provider that takes orders at prices that it does not hold fails, each by name", async () => {
  const capabilities = { ...CARD_CAPABILITIES, sandbox: true };
  const provider = await ownCardProvider({ capabilities, holdMs: 60_000, status: "SUCCESS" });
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

itBeside("a provider that holds a price without an end fails", async () => {
  const capabilities = { ...CARD_CAPABILITIES, sandbox: true };
  const provider = await ownCardProvider({ capabilities, offer: { quoteId: "held" }, status: "SUCCESS" });
  const { out } = await routewright(
    ...["provider", "test", "--url", provider.url, "--key-id", "key", "--secret", "secret"],
  );
  expect(out).toContain("FAIL  a quote with a quoteId is held until its expiresAt");
});

itBeside(
  "a provider that knows every deposit account and closes none fails, each failure by name",
  async () => {
    const provider = await ownCardProvider({
      capabilities: { ...CARD_CAPABILITIES, sandbox: true, depositAccounts: true },
      depositAccount: { status: "ACTIVE", instructions: [], deposits: [] },
      status: "SUCCESS",
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
  },
);

itBeside(
  "a provider that checks no signatures and knows every order fails, each failure by name",
  async () => {
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
  },
);

const SANDBOX = { ...CARD_CAPABILITIES, sandbox: true };

async function run(url: string, secret = "secret") {
  return routewright("provider", "test", "--url", url, "--key-id", "key", "--secret", secret);
}

/** As the command, which waits 30 s for what a provider never does. */
const impatient = (url: string) => testProvider({ url, keyId: "key", secret: "secret" }, 10_000);

itBeside("a provider whose offers the ramp refuses fails, with the ramp's reason", async () => {
  const fees = { ...FEES, networkFee: "0.50" };
  const { exit, out } = await run(
    (await ownCardProvider({ capabilities: SANDBOX, fees, status: "SUCCESS" })).url,
  );
  expect(exit).toBe(1);
  expect(out).toContain("FAIL  its amounts fit: totalFee is not the sum of its parts");
});

itBeside("a provider whose receipt is far from its price fails", async () => {
  const execution = { receipt: { amountReceived: "60.000000" } };
  const { out } = await run(
    (await ownCardProvider({ capabilities: SANDBOX, status: "SUCCESS", execution })).url,
  );
  expect(out).toContain("ok    its amounts fit");
  expect(out).toContain(
    "FAIL  its receipt fits the order and its price: amountReceived is 60.000000, the price 99.000000",
  );
});

itBeside("a provider that awaits funds and does not say how to pay fails", async () => {
  const provider = await ownCardProvider({ capabilities: SANDBOX, status: "AWAITING_FUNDS" });
  provider.answerLookUp = () => Promise.resolve(void (provider.status = "SUCCESS"));
  const { out } = await run(provider.url);
  expect(out).toContain("ok    the payment is SUCCESS");
  expect(out).toContain("FAIL  while it awaits funds it has instructions that fit the order: there are none");
});

itBeside("a provider whose on-ramps fit and whose off-ramps do not fails in its off-ramp", async () => {
  const [onramp] = CARD_CAPABILITIES.pairs;
  const offramp = { ...onramp, srcCurrencyCode: "USDC_POLYGON", destCurrencyCode: "USD" };
  const [rail] = CARD_CAPABILITIES.rails;
  const withExample = {
    ...rail,
    properties: { cardToken: { type: "string", pattern: "^tok_", examples: ["tok_abcd"] } },
  };
  const bank: Instruction = { encoding: "DISPLAY", type: "BANK", details: { beneficiary: "Cards" } };
  const provider = await ownCardProvider({
    capabilities: { ...SANDBOX, rails: [withExample], pairs: [onramp, offramp] } as typeof SANDBOX,
    status: "AWAITING_FUNDS",
    execution: { instructions: [bank] },
    destAmounts: { CARD: "99.00" },
  });
  provider.answerLookUp = () => Promise.resolve(void (provider.status = "SUCCESS"));
  const { out } = await run(provider.url);
  expect(out).toContain("ok    while it awaits funds it has instructions that fit the order");
  expect(out).toContain(
    "FAIL  off-ramp: while it awaits funds it has instructions that fit the order: type BANK does not fit USDC_POLYGON",
  );
  expect(provider.ordered.some(({ type }) => type === "OFFRAMP")).toBe(true);
});

itBeside(
  "an off-ramp to a rail whose required fields have no examples is not ordered, and the test says so",
  async () => {
    const [onramp] = CARD_CAPABILITIES.pairs;
    const offramp = { ...onramp, srcCurrencyCode: "USDC_POLYGON", destCurrencyCode: "USD" };
    const capabilities = { ...SANDBOX, pairs: [offramp] } as typeof SANDBOX;
    const { out } = await run((await ownCardProvider({ capabilities, destAmounts: { CARD: "99.00" } })).url);
    expect(out).toContain(
      "FAIL  off-ramp: its receiving account can be filled in: give `examples` to the fields of the rail: cardToken",
    );
  },
);

itBeside("a provider that refunds the whole where a part is asked for fails", async () => {
  const capabilities = { ...SANDBOX, refunds: true };
  const provider = await ownCardProvider({ capabilities, status: "SUCCESS" });
  let orders = 0;
  provider.listRefund = (order) => {
    if (++orders > 2) provider.status = "REFUNDED";
    return { ...order, amount: "100.00" };
  };
  const { out } = await run(provider.url);
  expect(out).toContain("ok    after it the payment is SUCCESS, and lists it");
  expect(out).toContain("FAIL  it has the amount of its order: 100.00, not 50.00");
});

itBeside("a callback with a wrong signature fails, and one that is signed does not", async () => {
  const provider = await ownCardProvider({ capabilities: SANDBOX, status: "SUCCESS" });
  const tell = async (secret: string): Promise<void> => {
    const order = [...provider.bodies.values()].flat().at(-1) ?? "";
    const { id, callbackUrl } = JSON.parse(order) as { id: string; callbackUrl: string };
    const body = JSON.stringify({ type: "execution.updated", onboardingId: id });
    const headers = { ...callbackHeaders(secret, randomUUID(), new Date(), body) };
    await fetch(callbackUrl, { method: "POST", body, headers });
  };
  provider.answerOrder = () => tell("secret");
  expect((await run(provider.url)).out).toContain("ok    callbacks are signed");
  provider.answerOrder = () => tell("another");
  expect((await run(provider.url)).out).toMatch(
    /FAIL {2}callbacks are signed: (\d+) of \1 callbacks are not/,
  );
  provider.answerOrder = () => Promise.resolve();
  expect((await run(provider.url)).out).toContain("ok    callbacks: none arrived here, none checked");
});

const asking = (
  form: Readonly<Record<string, unknown>> | null,
  more: Partial<ProviderRequirement> = {},
): ProviderRequirement[] => [
  { code: "KYC", title: "Check", status: "PENDING", failureReason: null, form, ...more },
];

/** A provider whose check is complete once its form has come. */
async function formProvider(form: Readonly<Record<string, unknown>>) {
  const provider = await ownCardProvider({ capabilities: SANDBOX, status: "SUCCESS" });
  provider.requirements = asking(form);
  const handle = provider.handle.bind(provider);
  provider.handle = async (request, response) => {
    if (request.url?.includes("/requirements/"))
      response.once("finish", () => (provider.requirements = asking(null, { status: "COMPLETED" })));
    await handle(request, response);
  };
  return provider;
}

itBeside("forms are filled in by their own schema, and the test says what it sent", async () => {
  const properties = {
    birthDate: { type: "string", format: "date" },
    ssn: { type: "string", pattern: "^9[0-9]{8}$", examples: ["987654321"] },
    email: { type: "string", format: "email" },
    exposed: { type: "boolean" },
    terms: { const: true },
    country: { enum: ["DE", "FR"] },
    income: { type: "number", minimum: 5_000, maximum: 6_000 },
    note: { type: "string", minLength: 40 },
  };
  const provider = await formProvider({ type: "object", properties, required: Object.keys(properties) });
  const { out } = await run(provider.url);
  const fields = {
    ...{ birthDate: "1990-01-01", ssn: "987654321", email: "test@example.com", exposed: true, terms: true },
    ...{ country: "DE", income: 5_000, note: "Test".padEnd(40, "t") },
  };
  expect(JSON.parse(provider.submitted[0] ?? "")).toEqual({ fields });
  expect(out).toContain(`ok    the form of KYC is taken: sent ${JSON.stringify(fields)}`);
  expect(out).toContain("ok    the requirements are completed");
});

itBeside(
  "a form without a value that its schema takes needs examples, and the test names the field",
  async () => {
    const form = {
      type: "object",
      properties: { ssn: { type: "string", pattern: "^X{3}$" } },
      required: ["ssn"],
    };
    const { exit, out } = await run((await formProvider(form)).url);
    expect(exit).toBe(1);
    expect(out).toContain(
      "FAIL  the form of KYC can be filled in: no value is known for ssn: give `examples` to the field",
    );
  },
);

itBeside("a form that cannot be drawn fails, by its field", async () => {
  const form = { type: "object", properties: { home: { type: "object" } } };
  const { exit, out } = await run((await formProvider(form)).url);
  expect(exit).toBe(1);
  expect(out).toMatch(
    /FAIL {2}onboarding: no valid answer: .*\/requirements\/0\/form\/properties\/home must be one/,
  );
});

itBeside("a form that is refused is said at once, with the provider's words", async () => {
  const provider = await formProvider({ type: "object", properties: { name: { type: "string" } } });
  provider.refusesForms = "The name is a test's.";
  const { out } = await run(provider.url);
  expect(out).toContain(
    'FAIL  the form of KYC is taken: refused: INVALID_FIELDS, The name is a test\'s.; sent {"name":"Test Customer"}',
  );
});

itBeside("a look-up that the ramp refuses is said, with its field", async () => {
  const execution = { receipt: { amountReceived: "99.000000", occurredAt: "yesterday" } };
  const provider = await ownCardProvider({ capabilities: SANDBOX, status: "PROCESSING" });
  provider.answerLookUp = () =>
    Promise.resolve(void Object.assign(provider, { execution, status: "SUCCESS" }));
  expect(await impatient(provider.url)).toContainEqual({
    check: "the payment is SUCCESS",
    ok: false,
    detail: expect.stringMatching(/^PROCESSING; the last look-up: .*\/receipt\/occurredAt must/) as string,
  });
});

itBeside("an amount with too many decimals is said to have them", async () => {
  const provider = await ownCardProvider({ capabilities: SANDBOX, destAmounts: { CARD: "99.0000001" } });
  expect(await impatient(provider.url)).toContainEqual({
    check: "its amounts fit",
    ok: false,
    detail:
      "destAmount 99.0000001 is not an amount of USDC_POLYGON: An amount in USDC_POLYGON has at most 6 decimals.",
  });
});

itBeside("a pair is ordered above its minimum, so that a rounded price is not below it", async () => {
  const [pair] = CARD_CAPABILITIES.pairs;
  const capabilities = { ...SANDBOX, pairs: [{ ...pair, minSrcAmount: "500" }] } as typeof SANDBOX;
  const provider = await ownCardProvider({ capabilities, status: "SUCCESS" });
  await run(provider.url);
  expect(provider.ordered[0]?.srcAmount).toBe("550.00");
});

itBeside("a run that ends early says what was not checked", async () => {
  const provider = await ownCardProvider({ capabilities: SANDBOX, offer: { exchangeRate: "one" } });
  const { exit, out } = await run(provider.url);
  expect(exit).toBe(1);
  expect(out).toContain("FAIL  quote: no valid answer: the response does not match the provider protocol");
  expect(out).toContain(
    "FAIL  all parts are run: not run, since they need what failed: callbacks, onboarding, payment",
  );
});

itBeside(
  "a 401 at the first call shows the lines that were signed, and neither secret nor signature",
  async () => {
    const provider = await ownCardProvider({ capabilities: SANDBOX, keyId: "other" });
    const { out } = await run(provider.url, "5f3c-of-the-test");
    expect(out).toContain('FAIL  capabilities: no valid answer: status 401. A call of key id "key"');
    const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    expect(out).toMatch(new RegExp(`got 401:\\s+"\\d{10}"\\s+"GET"\\s+"/capabilities"\\s+""\\s+"${empty}"`));
    expect(out).toContain("not run, since they need what failed: signatures, unknown orders, callbacks");
    expect(out).not.toContain("5f3c-of-the-test");
    expect(out).not.toContain("v1=");
  },
);
