import { expect, it } from "vitest";
import { DEFAULT_CALL_POLICY } from "../../runtime/ramp/providers/provider.js";
import { callbackHeaders } from "../../runtime/ramp/providers/signature.js";
import { cardOnramp, ownCardProvider } from "./support/card-provider.js";
import { eventually, FAST, made, newCustomer, ownWorld, type Reply } from "./support/world.js";

/** Only a callback leads to a look-up within the time of a test. */
const HOUR_MS = 60 * 60_000;
const world = await ownWorld({
  polling: { ...FAST, leaseMs: 60_000, executionPollMs: HOUR_MS },
  providerCalls: { ...DEFAULT_CALL_POLICY, timeoutMs: 30_000 },
});
const project = await world.project({ providers: [] });
const provider = await ownCardProvider();
const { providerId } = made(await provider.connect(world, project));

it("a callback that arrives while a look-up is still under way leads to another one", async () => {
  const auth = await newCustomer(world, project);
  const created = await world.call("POST", "/v1/intent", { auth, body: cardOnramp() });
  expect(created.json.intent.status, created.text).toBe("TRANSACTION_IN_PROGRESS");
  const { id } = created.json.intent as { id: string };
  const callBack = async (): Promise<void> => {
    const text = JSON.stringify({ type: "execution.updated", onboardingId: id });
    const headers = { ...callbackHeaders("secret", "cb", new Date(), text) };
    const path = `/v1/provider-callbacks/${project.id}/${providerId}`;
    expect((await world.call("POST", path, { text, headers })).status).toBe(200);
  };

  // The first look-up reads the old state; its answer is held back.
  let answer = (): void => undefined;
  let lookUps = 0;
  const held = new Promise<void>((resolve) => (answer = resolve));
  provider.answerLookUp = () => (++lookUps === 1 ? held : Promise.resolve());
  await callBack();
  await eventually(
    () => Promise.resolve(lookUps),
    (count) => count === 1,
  );
  provider.status = "SUCCESS";
  await callBack();
  answer();

  await eventually<Reply>(
    () => world.call("GET", `/v1/intent/${id}`, { auth }),
    ({ json }) => json.intent.status === "COMPLETED",
    20_000,
  );
});
