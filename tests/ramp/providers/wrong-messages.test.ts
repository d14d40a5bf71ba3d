/** One message of a provider that is wrong holds its own intent; the others go on. */
import { expect, it } from "vitest";
import { HttpProvider } from "../../../runtime/ramp/providers/provider.js";
import { type CardProvider, FEES, ownCardProvider, ownCards } from "../support/card-provider.js";
import { eventually, ownWorld, reached, untilTrue } from "../support/world.js";

const world = await ownWorld();
const RECEIPT = { amountReceived: "99.000000", fees: FEES };
const PAID: Partial<CardProvider> = { status: "SUCCESS", execution: { receipt: RECEIPT } };

/** What a provider says of one order, and what the operator reads of it. */
const WRONG: readonly (readonly [string, object, string])[] = [
  ["a reference of 200 characters", { reference: "r".repeat(200) }, "/reference must NOT have more than 128"],
  ["a number for an amount", { receipt: { amountReceived: 99 } }, "/receipt/amountReceived must be string"],
  ["a leap second", { paymentDueAt: "2028-12-31T23:59:60Z" }, '/paymentDueAt must match format "date-time"'],
  ["no status", { status: undefined }, "must have required property 'status'"],
];

it.each(WRONG)(
  "%s holds its intent with the field and its bound, and no other",
  async (_name, said, problem) => {
    const { provider, auth, project, create } = await ownCards(world);
    let isWrong = true;
    const first = await create({ autoExecute: false });
    const held = String(first.json.intent.id);
    const orders = () => [...provider.bodies.keys()].filter((key) => key.startsWith("execution:"));
    provider.encode = (text) => {
      const body = JSON.parse(text) as { id?: string };
      const isHeld = isWrong && body.id !== undefined && orders()[0]?.endsWith(body.id) === true;
      return Buffer.from(JSON.stringify(isHeld ? { ...body, ...said } : body));
    };
    await reached(world, `/v1/intent/${held}`, { auth }, "PENDING_PAYMENT");
    await world.call("POST", `/v1/intent/${held}/transaction`, { auth });
    const attention = async () => {
      const { json } = await world.call("GET", `/v1/intents/${held}`, { auth: project.basic });
      return json.attention as Record<string, string> | undefined;
    };
    const { INVALID_ANSWER } = (await eventually(attention, (found) => found !== undefined)) ?? {};
    expect(INVALID_ANSWER).toContain(problem);
    // As often as would have opened the circuit breaker.
    await untilTrue(() => world.holds("SELECT failed_attempts > 8 FROM ramp.intents WHERE id = $1", [held]));
    Object.assign(provider, PAID);
    const { json } = await create();
    await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "COMPLETED");
    isWrong = false;
    await reached(world, `/v1/intent/${held}`, { auth }, "COMPLETED");
    expect(await attention()).toBeUndefined();
  },
);

it("texts for people are cut", async () => {
  const { provider, auth, create } = await ownCards(world, { status: "FAILED" });
  provider.execution = { failureReason: "😀".repeat(600) };
  const { json } = await create();
  const ended = await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "TRANSACTION_FAILED");
  expect(ended.json.intent.failureReason).toBe(`${"😀".repeat(499)}…`);
});

it("an offer that does not match is one, and not an outage", async () => {
  const { provider, project } = await ownCards(world);
  provider.offer = { destAmount: 99 as unknown as string };
  const path =
    "/v1/intent/quote?srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&srcAmount=100.00&countryCode=US";
  const quote = () => world.call("GET", path, { auth: project.basic });
  for (let at = 0; at < 10; at += 1)
    expect((await quote()).json.unavailable).toMatchObject([{ reason: "INVALID_OFFER" }]);
  provider.offer = {};
  expect((await quote()).json).toMatchObject({ quotes: [{ destAmount: "99.000000" }], unavailable: [] });
});

it.each(["limit-exceeded", "quote.expired"])("a refusal may be called %s", async (error) => {
  const provider = await ownCardProvider();
  const { url } = provider;
  provider.handle = (_request, response) => {
    response.writeHead(422).end(JSON.stringify({ error, message: "m".repeat(600) }));
    return Promise.resolve();
  };
  const client = new HttpProvider({ url, keyId: "key", secret: "secret" });
  const order = { srcCurrencyCode: "USD", destCurrencyCode: "EUR", countryCode: null, rail: null };
  expect(await client.quote(order)).toEqual({ kind: "refused", code: error, message: `${"m".repeat(499)}…` });
});
