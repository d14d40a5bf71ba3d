import { expect, it } from "vitest";
import { OwnServer } from "../support/own-server.js";
import { startLoad } from "./load.js";
import { health, RELATIONS, serveFrom, someKey } from "./world.js";

const server = await OwnServer.create();
await server.query(RELATIONS);
const base = await serveFrom({ DATABASE_URL: server.url });

const SECONDS = { timeout: 90_000, interval: 50 };

/** Breaks the database under load, expects refusals, repairs it, and expects answers. */
async function outage(name: string, breakIt: () => Promise<void>, mendIt: () => Promise<void>) {
  const load = startLoad(base);
  await load.settled();
  await breakIt();
  await expect.poll(() => health(base), SECONDS).toBe(503);
  const before = load.refused();
  await expect.poll(load.refused, SECONDS).toBeGreaterThan(before + 10);
  await mendIt();
  await expect.poll(() => health(base), SECONDS).toBe(200);
  await load.settled();
  const tally = await load.stop();
  console.log(`${name}:`, JSON.stringify(tally));
  expect(tally.wrong).toEqual([]);
}

it.each(["fast", "immediate"] as const)(
  "refuses all while PostgreSQL is stopped (%s), and answers again once it is there",
  (mode) =>
    outage(
      `stopped, ${mode}`,
      () => server.stop(mode),
      () => server.start(),
    ),
);

it("fails while PostgreSQL is down after a crash, and answers again once it has recovered", () =>
  outage(
    "killed",
    () => server.kill(),
    () => server.start(),
  ));

it("fails fast while PostgreSQL hangs, long before the time limit of its queries", async () => {
  const patient = await serveFrom({ DATABASE_URL: server.url });
  const ask = async (): Promise<string> => {
    const started = performance.now();
    const { status } = await fetch(`${patient}/v1/faults/pages?offset=${String(asked++)}`, {
      headers: { "X-API-Key": someKey() },
    });
    waits.push(Math.round(performance.now() - started));
    return String(status);
  };
  const waits: number[] = [];
  let asked = 0;
  expect(await ask()).toBe("200");
  await server.freeze();
  const refused = await Promise.all(Array.from({ length: 20 }, ask));
  refused.push(await ask());
  console.log("waits while the database hangs, in ms:", JSON.stringify(waits));
  server.thaw();
  expect(new Set(refused)).toEqual(new Set(["503"]));
  await expect.poll(ask, SECONDS).toBe("200");
});
