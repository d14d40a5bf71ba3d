/** Errors say what is wrong and what to do about it. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { callbackHeaders } from "../../../runtime/ramp/providers/signature.js";
import { cardOnramp, ownCards } from "../support/card-provider.js";
import { ownWorld, reached } from "../support/world.js";

const world = await ownWorld();
const { create, provider, auth, project } = await ownCards(world);

it("a signed callback that is no message is 400 with its field, and one that is not signed 401", async () => {
  await create();
  const order = [...provider.bodies.values()].flat().at(-1) ?? "";
  const { callbackUrl } = JSON.parse(order) as { callbackUrl: string };
  const tell = async (body: string, secret = "secret") => {
    const headers = { ...callbackHeaders(secret, randomUUID(), new Date(), body) };
    const response = await fetch(callbackUrl, { method: "POST", body, headers });
    return [response.status, await response.json()] as const;
  };
  const id = randomUUID();
  for (const [body, path] of [
    ["{", ""],
    [JSON.stringify({ type: "execution.updated" }), ""],
    [JSON.stringify({ type: "deposit.updated", onboardingId: id }), "/type"],
  ] as const)
    expect(await tell(body)).toMatchObject([400, { error: "INVALID_REQUEST", details: [{ path }] }]);
  expect(await tell("{", "another")).toMatchObject([401, { error: "INVALID_SIGNATURE" }]);
  expect(await tell(JSON.stringify({ type: "execution.updated", onboardingId: id }))).toMatchObject([
    200,
    {},
  ]);
});

it("credentials of the other kind are named", async () => {
  const asCustomer = await world.call("GET", "/v1/intent", { auth: project.basic });
  expect([asCustomer.status, asCustomer.json.message]).toEqual([
    401,
    "This call takes a customer's token (Bearer), which POST /v1/customers gives, not the project's credentials.",
  ]);
  const asProject = await world.call("GET", "/v1/intents", { auth });
  expect([asProject.status, asProject.json.message]).toEqual([
    401,
    "This call takes the project's client id and secret (HTTP Basic), not a customer's token.",
  ]);
});

it("a path that nobody offers says which part, and where the offers are", async () => {
  const bank = { countryCode: "US", rail: "CARD", cardToken: "tok_abcd" };
  const cases = [
    [{ src: { currencyCode: "EUR", details: { ...bank, countryCode: "DE" } } }, "from EUR to USDC_POLYGON."],
    [{ src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } } }, "over the rail ACH."],
    [{ src: { currencyCode: "USD", details: { ...bank, countryCode: "CA" } } }, "in the country CA."],
  ] as const;
  for (const [more, words] of cases) {
    const { json } = await create(more);
    expect(json.error, JSON.stringify(json)).toBe("UNSUPPORTED_PATH");
    expect(json.message).toContain(words);
    expect(json.message).toContain("GET /v1/currencies/supported");
  }
});

it("a quote and a new price that are not there are named by their field", async () => {
  const quoteId = randomUUID();
  const unknown = await world.call("POST", "/v1/intent", { auth, body: cardOnramp({ quoteId }) });
  expect(unknown.json).toMatchObject({
    error: "NOT_FOUND",
    message: "There is no quote of this id. GET /v1/intent/quote gives one.",
    details: [{ path: "/quoteId" }],
  });
  const { json } = await create({ autoExecute: false });
  const path = `/v1/intent/${String(json.intent.id)}`;
  const accepted = await world.call("POST", `${path}/quote`, { auth, body: { quoteId } });
  expect(accepted.json).toMatchObject({ error: "NOT_FOUND", details: [{ path: "/quoteId" }] });
  expect(accepted.json.message).toContain("it was accepted already");
  await world.call("POST", `${path}/cancel`, { auth });
  await reached(world, path, { auth }, "CANCELLED");
  const ended = await world.call("POST", `${path}/transaction`, { auth });
  expect(ended.json).toMatchObject({
    error: "INTENT_CLOSED",
    message: "The intent is CANCELLED: it allows no such change.",
  });
});

it("texts are said to be wrong in words, not by a pattern", async () => {
  const answers = await Promise.all([
    world.call("GET", "/v1/intents?limit=0", { auth: project.basic }),
    world.call("POST", "/v1/customers", { auth: project.basic, body: { id: "  " } }),
    create({ srcAmount: "-1" }),
    create({ maxSlippage: "x" }),
  ]);
  expect(answers.map(({ json }) => json.details[0])).toEqual([
    { path: "/limit", message: "must be a whole number from 1 to 100" },
    { path: "/id", message: "must not be blank" },
    { path: "/srcAmount", message: "must be a decimal number without a sign, such as 100.00" },
    {
      path: "/maxSlippage",
      message: "must be a percentage from 0 to 100 with at most two decimals, such as 0.5",
    },
  ]);
});

it("addresses of webhooks that cannot be, or are private, say so", async () => {
  const add = async (url: string) =>
    (await world.call("POST", "/v1/webhooks", { auth: project.basic, body: { url } })).json.details[0]
      .message as string;
  expect(await add("https://shop.invalid/events")).toContain("under .invalid, which cannot exist");
  expect(await add("http://127.0.0.1:9/events")).toContain(
    "The operator can allow it: `routewright ramp webhook add --allow-private`.",
  );
});

it("a subject token that is not valid says why", async () => {
  const customer = (subject_token: string) =>
    world.call("POST", "/v1/customers", { auth: project.basic, body: { id: "u", subject_token } });
  expect((await customer("none")).json).toMatchObject({
    error: "INVALID_SUBJECT_TOKEN",
    message: "The subject token is no JWT with an issuer (`iss`).",
  });
});
