import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { Refresher } from "../../../runtime/server/release/refresh.js";

it("renders one manifest at a time, however its callers follow each other", async () => {
  let [running, most, runs] = [0, 0, 0];
  const refresher = new Refresher(
    { status: { manifest: null, endpoints: 0 }, activate: () => Promise.reject(new Error("nothing")) },
    {
      async render() {
        runs++;
        most = Math.max(most, ++running);
        await nextTurn();
        running--;
        return { kind: "unchanged" };
      },
      close: () => Promise.resolve(),
    },
  );
  const callAgain = async (): Promise<void> => {
    for (let n = 0; n < 10; n++) expect((await refresher.refresh()).status).toBe("unchanged");
  };
  await Promise.all([callAgain(), callAgain(), callAgain()]);
  expect(most).toBe(1);
  // Those that call during a run share the next one.
  expect(runs).toBeLessThan(30);
});
