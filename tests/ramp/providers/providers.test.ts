import { Validator } from "@seriousme/openapi-schema-validator";
import { afterEach, describe, expect, it } from "vitest";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { DEFAULT_SWITCHES } from "../../../runtime/ramp/sandbox/behaviour.js";
import { OPERATIONS } from "../../../runtime/ramp/providers/operations.js";
import { callbackHeaders, requestSignature } from "../../../runtime/ramp/providers/signature.js";
import { ownCards } from "../support/card-provider.js";
import {
  expectRefused,
  newCustomer,
  onramp,
  ownWorld,
  reached,
  type Reply,
  untilTrue,
} from "../support/world.js";

const world = await ownWorld();
const project = await world.project();

afterEach(() => world.sandbox.set({ ...DEFAULT_SWITCHES, settleMs: 50 }));

async function started(more: Readonly<Record<string, unknown>> = {}) {
  const auth = await newCustomer(world, project);
  const created = await world.call("POST", "/v1/intent", {
    auth,
    body: onramp({ autoExecute: true, ...more }),
  });
  expect(created.status, created.text).toBe(201);
  return { auth, id: created.json.intent.id as string, created };
}

it("callbacks that are forged, unsigned, too old or another provider's are refused", async () => {
  await world.sandbox.set({ execution: "stall", mute: true });
  const { id, created } = await started();
  const [row] = await world.rows("SELECT connection_id FROM ramp.intents WHERE id = $1", [id]);
  const path = `/v1/provider-callbacks/${project.id}/${String(row?.["connection_id"])}`;
  const text = JSON.stringify({ type: "execution.updated", onboardingId: id });
  const [north, south] = SANDBOX_PROVIDERS;
  const old = new Date(Date.now() - 10 * 60_000);
  const send = (headers: object, body = text, to = path): Promise<Reply> =>
    world.call("POST", to, { text: body, headers: headers as Record<string, string> });
  const good = callbackHeaders(south?.secret ?? "", "cb", new Date(), text);
  const replies = [
    await send({}),
    await send(callbackHeaders("guessed", "cb", new Date(), text)),
    await send(callbackHeaders(north?.secret ?? "", "cb", new Date(), text)),
    await send(callbackHeaders(south?.secret ?? "", "cb", old, text)),
    await send(good, text.replace("execution", "onboarding")),
    await send(good, text, `/v1/provider-callbacks/${project.id}/${id}`),
    await send(good, text, "/v1/provider-callbacks/x/y"),
  ];
  expectRefused(replies, 401, "INVALID_SIGNATURE");
  expect((await send(good)).status).toBe(200);
  expect(created.json.intent.status).toBe("TRANSACTION_IN_PROGRESS");
});

describe("a provider", () => {
  it("is called with no database transaction open", async () => {
    const { provider, auth, create } = await ownCards(world);
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    let isCalled = false;
    provider.answerOrder = () => ((isCalled = true), held);
    const creation = create();
    await untilTrue(() => isCalled);
    // The service's own work has short transactions meanwhile: one that is open until the answer would always be seen.
    const isNoneOpen =
      "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'routewright-ramp' AND state LIKE 'idle in transaction%'";
    await untilTrue(() => world.holds(isNoneOpen));
    answer();
    const { id } = (await creation).json.intent as { id: string };
    await reached(world, `/v1/intent/${id}`, { auth }, "TRANSACTION_IN_PROGRESS");
  });

  it("that the caller prefers is taken, by id or by code; one that does not offer the path is refused", async () => {
    const auth = await newCustomer(world, project);
    const [north] = (await world.call("GET", "/v1/providers", { auth: project.basic })).json;
    const src = { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } };
    for (const providerId of [north.id, "sandbox-north"]) {
      const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp({ src, providerId }) });
      expect(json.intent.provider).toBe("Sandbox North");
    }
    const best = await world.call("POST", "/v1/intent", {
      auth,
      body: onramp({ src, srcAmount: "5000", providerId: null }),
    });
    expect(best.json.intent.provider).toBe("Sandbox South");
    const refused = await world.call("POST", "/v1/intent", {
      auth,
      body: onramp({ src, providerId: "nobody" }),
    });
    expect([refused.status, refused.json.error]).toEqual([400, "PROVIDER_NOT_AVAILABLE"]);
  });
});

describe("the provider protocol", () => {
  it("is described in valid OpenAPI 3.1 by the sandbox's server", async () => {
    const document = (await (await fetch(`${world.sandbox.url}/openapi.json`)).json()) as Record<
      string,
      unknown
    >;
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
    const paths = Object.keys(document["paths"] as object).sort();
    expect(paths).toEqual([...new Set(Object.values(OPERATIONS).map(({ path }) => path))].sort());
  });

  it("is refused without a signature, or with that of another request", async () => {
    const [provider] = SANDBOX_PROVIDERS;
    const { path = "", keyId = "", secret = "" } = provider ?? {};
    const target = `${path}/executions`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const request = { timestamp, method: "POST", target, idempotencyKey: "k", body: "{}" };
    const send = (signature: string, more: Record<string, string> = {}): Promise<number> =>
      fetch(world.sandbox.url + target, {
        method: "POST",
        body: "{}",
        headers: {
          "x-provider-key-id": keyId,
          "x-provider-timestamp": timestamp,
          "idempotency-key": "k",
          "x-provider-signature": signature,
          ...more,
        },
      }).then(({ status }) => status);
    const good = requestSignature(secret, request);
    expect(await send(good)).toBe(422);
    expect(await send("")).toBe(401);
    expect(await send(requestSignature("guessed", request))).toBe(401);
    expect(await send(requestSignature(secret, { ...request, body: "{ }" }))).toBe(401);
    expect(await send(requestSignature(secret, { ...request, target: `${path}/onboardings` }))).toBe(401);
    expect(await send(good, { "idempotency-key": "other" })).toBe(401);
    expect(await send(good, { "x-provider-timestamp": String(Number(timestamp) - 1000) })).toBe(401);
  });
});
