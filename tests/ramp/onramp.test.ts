import { expect, it } from "vitest";
import { eventually, newCustomer, onramp, ownWorld } from "./support/world.js";

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
