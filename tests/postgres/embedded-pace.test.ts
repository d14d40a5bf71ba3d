import { expect, it } from "vitest";

import { Pace } from "../../runtime/embedded/pace.js";

it("starts a server that ends again and again at once, and then after pauses of up to 15 s", () => {
  const pace = new Pace();
  let now = 1000;
  const pauses: number[] = [];
  for (let start = 0; start < 8; start++) {
    const from = now;
    while (!pace.isDue(now)) now += 50;
    pauses.push(now - from);
    pace.started(now);
    pace.cameUp(now);
    pace.ended(now);
  }
  expect(pauses).toEqual([0, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
  pace.cameUp(now);
  pace.ended(now + 60_000);
  expect(pace.isDue(now + 60_000)).toBe(true);
});
