import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { PeriodicCheck } from "../../../runtime/core/warehouse/periodic-check.js";

/** A check of so many things, one of which is done each time. */
function checkOf(left: number) {
  const state = { left, checks: 0 };
  const check = new PeriodicCheck(1, () => {
    state.checks++;
    return --state.left > 0;
  });
  return { state, check };
}

it("a check runs from its start until nothing is left, and again from its next start", async () => {
  const { state, check } = checkOf(3);
  await sleep(20);
  expect(state.checks).toBe(0);
  check.start();
  check.start();
  await expect.poll(() => state.checks).toBe(3);
  await sleep(20);
  expect(state.checks).toBe(3);
  state.left = 2;
  check.start();
  await expect.poll(() => state.checks).toBe(5);
});

it("a check that is closed does not start again", async () => {
  const { state, check } = checkOf(Infinity);
  check.start();
  await expect.poll(() => state.checks).toBeGreaterThan(0);
  check.close();
  const { checks } = state;
  check.start();
  await sleep(20);
  expect(state.checks).toBe(checks);
});
