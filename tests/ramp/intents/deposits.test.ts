/** Deposit accounts, from the customer's request to what becomes of each payment that arrives. */
import { describe, expect, it } from "vitest";
import { ownReceiver } from "../support/receiver.js";
import { showIntent } from "../../../runtime/ramp/operator/diagnostics.js";
import { ACCOUNT, arrive, balancesOf, checkedCustomer, ended, intentsOf, open } from "../support/deposits.js";
import { eventually, made, newCustomer, north, ownWorld, untilTrue } from "../support/world.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 50 });
const ada = await checkedCustomer(world);
const { auth } = ada;
const opened = await open(world, auth);
const accountId = String(opened.json.id);

describe("a deposit account", () => {
  it("has instructions that stay, without an amount", async () => {
    expect(opened.status).toBe(201);
    expect(opened.json).toMatchObject({
      ...ACCOUNT,
      status: "ACTIVE",
      type: "ONRAMP",
      rail: "ACH",
      sandbox: true,
    });
    const [instruction] = opened.json.instructions;
    expect(instruction).toMatchObject({ encoding: "DISPLAY", type: "BANK", details: { rail: "ACH" } });
    expect(instruction.details.amount).toBeUndefined();
    const again = await world.call("GET", `/v1/customers/deposit-accounts/${accountId}`, { auth });
    expect(again.json.instructions).toEqual(opened.json.instructions);
  });

  it("is given once per key", async () => {
    const [first, second] = [await open(world, auth, {}, "one"), await open(world, auth, {}, "one")];
    expect(second.json).toEqual(first.json);
    expect(second.headers.get("x-idempotency-replayed")).toBe("true");
  });

  it("is given only once the checks of an intent at the provider are complete", async () => {
    const project = await world.project({ providers: ["sandbox-north"] });
    const stranger = await newCustomer(world, project);
    const early = await open(world, stranger);
    expect([early.status, early.json.error]).toEqual([400, "COMPLIANCE_NOT_COMPLETE"]);
    expect(early.json.message).toContain("Make an intent with sandbox-north first (POST /v1/intent)");
    await world.call("POST", "/v1/intent", { auth: stranger, body: north() });
    expect((await open(world, stranger)).json.error).toBe("COMPLIANCE_NOT_COMPLETE");
  });

  it("is refused for what no provider gives, and beside 20 open ones", async () => {
    const details = { address: "nonsense" };
    const wrong = await open(world, auth, { dest: { currencyCode: "USDC_POLYGON", details } });
    expect(wrong.json.error).toBe("INVALID_ACCOUNT_DETAILS");
    expect((await open(world, auth, { providerId: "sandbox-north" })).json.error).toBe(
      "PROVIDER_NOT_AVAILABLE",
    );
    const nowhere = { src: { currencyCode: "USD", details: { countryCode: "DE" } } };
    expect((await open(world, auth, nowhere)).json.error).toBe("UNSUPPORTED_PATH");
    const many = await checkedCustomer(world, "many");
    const replies = await Promise.all(Array.from({ length: 21 }, () => open(world, many.auth)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(replies.find(({ status }) => status !== 201)?.json.error).toBe("TOO_MANY_DEPOSIT_ACCOUNTS");
  });

  it("is seen by its customer and its project alone", async () => {
    const other = await newCustomer(world, ada.project);
    const path = `/v1/customers/deposit-accounts/${accountId}`;
    expect((await world.call("GET", path, { auth: other })).status).toBe(404);
    expect((await world.call("POST", `${path}/close`, { auth: other, body: {} })).status).toBe(404);
    expect((await world.call("GET", "/v1/customers/deposit-accounts", { auth: other })).json).toEqual([]);
    const mine = await world.call("GET", "/v1/customers/deposit-accounts?limit=1", { auth });
    expect(mine.json).toHaveLength(1);
    const list = await world.call("GET", `/v1/deposit-accounts?customerId=${ada.customerId}`, {
      auth: ada.project.basic,
    });
    expect(list.json.map(({ id }: { id: string }) => id)).toContain(accountId);
    const next = /<([^>]+)>; rel="next"/.exec(mine.headers.get("link") ?? "")?.[1] ?? "";
    expect((await world.call("GET", next, { auth })).json.map(({ id }: { id: string }) => id)).toContain(
      accountId,
    );
  });
});

describe("a payment that arrives", () => {
  it("becomes an intent of its own, at the price of its arrival, with the events of every intent", async () => {
    const receiver = await ownReceiver();
    await world.webhook(ada.project, receiver.url);
    const { json } = await open(world, auth);
    const deposit = await arrive(world, json.id, { reference: "E2E-1" });
    const [{ intent, transaction, customerId }] = await ended(world, ada, json.id, 1);
    expect(intent).toMatchObject({
      status: "COMPLETED",
      srcAmount: "100.00",
      deposit: { depositAccountId: json.id, id: deposit, reference: "E2E-1" },
      price: { destAmount: "98.450000", hasIndicativePrice: false },
    });
    expect(customerId).toBe(ada.customerId);
    expect(transaction).toMatchObject({
      status: "SUCCESS",
      context: { receipt: { amountReceived: "98.450000" } },
    });
    const { json: events } = await world.call("GET", "/v1/events?order=asc&limit=100", {
      auth: ada.project.basic,
    });
    type Told = {
      type: string;
      data: { intentId?: string; depositAccountId?: string; status: string; intent?: { deposit?: object } };
    };
    const told = (events as Told[]).filter(({ data }) => data.intentId === intent.id);
    expect(told.map(({ type, data }) => [type, data.status])).toEqual([
      ["intent.status_changed", "PENDING"],
      ["intent.status_changed", "COMPLIANCE_APPROVED"],
      ["intent.status_changed", "PENDING_PAYMENT"],
      ["transaction.updated", "IN_PROGRESS"],
      ["intent.status_changed", "TRANSACTION_IN_PROGRESS"],
      ["transaction.updated", "SUCCESS"],
      ["intent.status_changed", "COMPLETED"],
    ]);
    expect(told.every(({ data }) => data.intent?.deposit !== undefined)).toBe(true);
    const ofAccount = (events as Told[]).filter(({ data }) => data.depositAccountId === json.id);
    expect(ofAccount.map(({ type, data }) => [type, data.status])).toEqual([
      ["deposit_account.updated", "PENDING"],
      ["deposit_account.updated", "ACTIVE"],
    ]);
    await untilTrue(() => receiver.received.some(({ body }) => body.includes(`"${deposit}"`)));
  });

  it("is one intent however often it is listed, and two at once are two", async () => {
    const { json } = await open(world, auth);
    await arrive(world, json.id, { id: "twice" });
    await Promise.all([
      arrive(world, json.id, { id: "twice" }),
      arrive(world, json.id, { srcAmount: "30.00" }),
    ]);
    const all = await ended(world, ada, json.id, 2);
    expect(all.map(({ intent }) => intent.srcAmount).sort()).toEqual(["100.00", "30.00"]);
    await arrive(world, json.id, { id: "twice" });
    await arrive(world, json.id, { id: "later" });
    expect((await ended(world, ada, json.id, 3)).map(({ intent }) => intent.deposit.id)).toContain("later");
    // Delivered at the price; the provider keeps its fees.
    expect(await balancesOf(world, json.id)).toMatchObject([
      { account: "exchange", currency: "USD" },
      { account: "exchange", currency: "USDC_POLYGON" },
      { account: "fees", currency: "USD", amount: "4.3" },
      { account: "provider", currency: "USD" },
      { account: "provider", currency: "USDC_POLYGON" },
    ]);
  });

  it("is shown with what the provider answered about it and about its account", async () => {
    const { json } = await open(world, auth);
    const deposit = await arrive(world, json.id);
    const [{ intent }] = await ended(world, ada, json.id, 1);
    const shown = made(await showIntent(world.database, world.vault, intent.id));
    const answers = shown["answers"] as { operation: string; answer: unknown }[];
    expect(new Set(answers.map(({ operation }) => operation))).toEqual(
      new Set(["openDepositAccount", "checkDepositAccount", "checkExecution"]),
    );
    expect(answers[0]).toMatchObject({
      answer: { kind: "answer", value: { id: json.id, status: "ACTIVE" } },
    });
    const listed = answers.filter(({ operation }) => operation === "checkDepositAccount");
    expect(JSON.stringify(listed)).toContain(deposit);
  });

  it("of more than one page are all read", async () => {
    const { json } = await open(world, auth);
    for (let at = 0; at < 23; at++) await arrive(world, json.id, { srcAmount: `${String(20 + at)}.00` });
    const all = await ended(world, ada, json.id, 23);
    expect(new Set(all.map(({ intent }) => intent.srcAmount)).size).toBe(23);
  });

  it("with the reference of another one is an intent too, which an operator looks at", async () => {
    const { json } = await open(world, auth);
    await arrive(world, json.id, { id: "first", reference: "SAME" });
    await arrive(world, json.id, { id: "second", reference: "SAME" });
    const all = await ended(world, ada, json.id, 2);
    const flagged = all.filter(({ attention }) => attention !== undefined);
    expect(flagged.map(({ attention }) => attention)).toEqual([
      { DUPLICATE_DEPOSIT: "second has the reference of first" },
    ]);
    const resolved = await world.call("POST", `/v1/intents/${String(flagged[0].intent.id)}/resolve`, {
      auth: ada.project.basic,
      body: { as: "completed", note: "two payments" },
    });
    expect(resolved.status).toBe(202);
    await eventually(
      () => intentsOf(world, ada, json.id),
      (now) => now.every(({ attention }) => attention === undefined),
    );
  });

  it.each([
    ["WRONG_CURRENCY", { srcCurrencyCode: "EUR" }, "EUR"],
    ["BELOW_MINIMUM", { srcAmount: "0.50" }, "USD"],
    ["ABOVE_MAXIMUM", { srcAmount: "10000.01" }, "USD"],
    ["UNKNOWN_SENDER", { unknownSender: true }, "USD"],
  ])("goes back to its sender where it cannot be served: %s", async (returnReason, more, currency) => {
    const { json } = await open(world, auth);
    await arrive(world, json.id, more);
    await ended(world, ada, json.id, 1);
    const [{ intent, transaction, attention }] = await eventually(
      () => intentsOf(world, ada, json.id),
      ([one]) => one.transaction.status === "REFUNDED",
    );
    expect(intent).toMatchObject({
      status: "TRANSACTION_FAILED",
      deposit: { returnReason },
      src: { currency: { code: currency } },
    });
    expect(intent.price).toBeUndefined();
    expect(intent.failureReason).not.toBe("");
    expect(attention).toBeUndefined();
    expect(transaction.context.refunds).toMatchObject([{ amount: intent.srcAmount }]);
    const refunds = await world.call("GET", `/v1/intents/${String(intent.id)}/refunds`, {
      auth: ada.project.basic,
    });
    expect(refunds.json).toMatchObject([
      { status: "SUCCEEDED", origin: "PROVIDER", amount: intent.srcAmount },
    ]);
    // Nobody owes anything, and nothing is at the provider.
    expect(await balancesOf(world, json.id)).toEqual([]);
  });

  it("is refunded by the project, as every payment is", async () => {
    const { json } = await open(world, auth);
    await arrive(world, json.id);
    const [{ intent }] = await ended(world, ada, json.id, 1);
    const path = `/v1/intents/${String(intent.id)}`;
    const asked = await world.call("POST", `${path}/refund`, {
      auth: ada.project.basic,
      body: { reason: "returned", amount: "40.00" },
    });
    expect(asked.status).toBe(202);
    const refunds = await eventually(
      () => world.call("GET", `${path}/refunds`, { auth: ada.project.basic }),
      ({ json: list }) => list[0]?.status === "SUCCEEDED",
    );
    expect(refunds.json).toMatchObject([{ amount: "40.00", origin: "REQUEST" }]);
  });

  it("needs no details of the wallet that pays, and names what it needs of a bank", async () => {
    const bank = { countryCode: "US", rail: "ACH", routingNumber: "021000021", accountNumber: "123456789" };
    const { status, json, text } = await open(world, auth, {
      src: { currencyCode: "USDC_POLYGON" },
      dest: { currencyCode: "USD", details: bank },
    });
    expect(status, text).toBe(201);
    expect(json).toMatchObject({ status: "ACTIVE", src: { currencyCode: "USDC_POLYGON", details: {} } });
    const wrong = await open(world, auth, { src: { currencyCode: "USD" } });
    expect([wrong.status, wrong.json.details[0].path]).toEqual([400, "/src/details/countryCode"]);
  });

  it("over a chain is paid out to the bank account", async () => {
    const bank = { countryCode: "US", rail: "ACH", routingNumber: "021000021", accountNumber: "123456789" };
    const { json } = await open(world, auth, {
      src: { currencyCode: "USDC_POLYGON", details: {} },
      dest: { currencyCode: "USD", details: bank },
    });
    expect(json).toMatchObject({ status: "ACTIVE", type: "OFFRAMP" });
    expect(json.instructions[0]).toMatchObject({ type: "CRYPTO", details: { chain: "POLYGON" } });
    await arrive(world, json.id, { srcAmount: "25.5" });
    const [{ intent }] = await ended(world, ada, json.id, 1);
    expect(intent).toMatchObject({ type: "OFFRAMP", status: "COMPLETED", srcAmount: "25.500000" });
  });
});

describe("a closed deposit account", () => {
  it("sends back what still arrives, and is not closed twice", async () => {
    const { json } = await open(world, auth);
    const path = `/v1/customers/deposit-accounts/${String(json.id)}/close`;
    const closed = await world.call("POST", path, { auth, key: "close", body: {} });
    expect([closed.status, closed.json.status]).toEqual([202, "CLOSED"]);
    const replayed = await world.call("POST", path, { auth, key: "close", body: {} });
    expect(replayed.json).toEqual(closed.json);
    expect((await world.call("POST", path, { auth, body: {} })).json.error).toBe("DEPOSIT_ACCOUNT_CLOSED");
    await arrive(world, json.id);
    const [{ intent }] = await ended(world, ada, json.id, 1);
    expect(intent).toMatchObject({
      status: "TRANSACTION_FAILED",
      deposit: { returnReason: "ACCOUNT_CLOSED" },
    });
  });

  it("is closed by the project, also while the provider fails", async () => {
    const { json } = await open(world, auth);
    await world.sandbox.set({ failNext: 4 });
    const path = `/v1/deposit-accounts/${String(json.id)}/close`;
    const asked = await world.call("POST", path, { auth: ada.project.basic, body: {} });
    expect(asked.status).toBe(202);
    const read = () => world.call("GET", `/v1/customers/deposit-accounts/${String(json.id)}`, { auth });
    const closed = await eventually(read, ({ json: account }) => account.status === "CLOSED");
    expect(closed.json.closeRequested).toBeUndefined();
  });
});

describe("an erasure", () => {
  it("names open deposit accounts and how to close them; money that arrives afterwards goes back, and names nobody", async () => {
    const bob = await checkedCustomer(world, "bob");
    const { json } = await open(world, bob.auth);
    const erase = () => world.call("DELETE", `/v1/customers/${bob.customerId}`, { auth: bob.project.basic });
    const refused = await erase();
    expect(refused.json).toMatchObject({
      error: "CUSTOMER_HAS_OPEN_INTENTS",
      details: [
        {
          path: `/v1/deposit-accounts/${String(json.id)}`,
          message: `is ACTIVE: close it with POST /v1/deposit-accounts/${String(json.id)}/close`,
        },
      ],
    });
    await arrive(world, json.id, { reference: "BOBS-RENT" });
    await ended(world, bob, json.id, 1);
    await world.call("POST", `/v1/deposit-accounts/${String(json.id)}/close`, {
      auth: bob.project.basic,
      body: {},
    });
    expect((await erase()).status).toBe(204);
    await arrive(world, json.id, { reference: "BOBS-SECOND-RENT" });
    await eventually(
      () => intentsOf(world, bob, json.id),
      (all) => all.length === 2 && all.every(({ intent }) => intent.status !== "TRANSACTION_IN_PROGRESS"),
    );
    const { text } = await world.call("GET", "/v1/deposit-accounts", { auth: bob.project.basic });
    const events = await world.call("GET", "/v1/events?limit=100", { auth: bob.project.basic });
    const intents = await world.call("GET", "/v1/intents?limit=100", { auth: bob.project.basic });
    for (const said of [text, events.text, intents.text])
      for (const name of [bob.customerId, "BOBS", "52908400098527886"]) expect(said).not.toContain(name);
    expect(
      await world.holds(
        "SELECT NOT EXISTS (SELECT FROM ramp.provider_answers p WHERE p.intent_id = ANY (array_agg(id))) AND bool_and(order_body IS NULL AND instructions = '[]') FROM ramp.deposit_accounts WHERE project_id = $1",
        [bob.project.id],
      ),
    ).toBe(true);
  });
});
