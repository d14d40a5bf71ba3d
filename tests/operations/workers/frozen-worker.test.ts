import { expect, it } from "vitest";
import { sendRequest } from "../../data-api/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { linesOf, project, servingPids, serveWorkers, until } from "./cluster.js";

const manifest = manifestOf([
  { name: "one", tags: ["production", "flows", "api:first"], columns: { n: "bigint" } },
]);

it("replaces a worker that is frozen, and cuts off the requests that it holds", async () => {
  const served = await serveWorkers(project(manifest), 2);
  const before = servingPids(served);
  process.kill(before[0]!, "SIGSTOP");
  // Each on a connection of its own: some are held by the frozen worker.
  const held = Array.from({ length: 10 }, () =>
    sendRequest(served.url, "/").then(
      ({ status }) => status,
      () => "cut off",
    ),
  );
  await until(served, 2, before.slice(0, 1));
  const outcomes = new Set(await Promise.all(held));
  expect([...outcomes].filter((outcome) => outcome !== 200 && outcome !== "cut off")).toEqual([]);
  const died = linesOf(served).find(({ msg }) => msg === "worker died");
  expect(died).toMatchObject({ pid: before[0], detail: "it did not respond to two pings and was killed" });
  expect(servingPids(served)).toContain(before[1]);
  expect((await served.stop()).code).toBe(0);
}, 60_000);
