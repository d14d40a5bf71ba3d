import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { openRunResults } from "../../generator/watch/poll-run-results.js";
import { BuildRecords } from "../../runtime/core/warehouse/data-versions.js";
import { putJson, putText } from "../support/files.js";
import { ownFolder } from "../support/service.js";
import { manifestServer, serving } from "./manifest-server.js";

/** What dbt writes after having built these nodes, each at a second of one minute. */
function runResults(seconds: Readonly<Record<string, number>>, which = "build"): object {
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
      generated_at: "2026-05-21T03:01:00.000000Z",
    },
    results: Object.entries(seconds).map(([name, second]) => ({
      unique_id: `model.shop.${name}`,
      status: "success",
      timing: [{ name: "execute", completed_at: at(second) }],
    })),
    args: { which },
  };
}

const at = (second: number): string => `2026-05-21T03:00:${String(second).padStart(2, "0")}.000000Z`;

/** Follows a source and keeps what it has reported; stopped with the test. */
async function following(
  source: string,
  intervalSeconds = 60,
  memory = join(ownFolder(), ".data/builds.json"),
) {
  const builds = new BuildRecords();
  const problems: string[] = [];
  const notKept: string[] = [];
  const runResults = await openRunResults({
    source,
    intervalSeconds,
    onProblem: (problem) => problems.push(problem),
    storeFile: memory,
    onSaveFailed: (problem) => notKept.push(problem),
  });
  const { stop: end } = runResults.follow((news) => builds.record(news));
  atEnd(end);
  const secondOf = (name: string): number | null => {
    const time = builds.completedAt(`model.shop.${name}`);
    return time === null ? null : new Date(time).getUTCSeconds();
  };
  return { builds, problems, notKept, secondOf, end };
}

describe("a run_results.json on this machine", () => {
  it("is read before the server listens, and again as soon as dbt writes it", async () => {
    const file = join(ownFolder(), "run_results.json");
    putJson(file, runResults({ a: 1, b: 2 }));
    const { secondOf, problems } = await following(file);
    expect([secondOf("a"), secondOf("b"), secondOf("c")]).toEqual([1, 2, null]);
    putJson(file, runResults({ b: 12, c: 13 }));
    await expect.poll(() => secondOf("c")).toBe(13);
    // A run of a part of the project: what others have built stays known.
    expect([secondOf("a"), secondOf("b")]).toEqual([1, 12]);
    expect(problems).toEqual([]);
  });

  it("may appear later: its absence is reported once", async () => {
    const file = join(ownFolder(), "run_results.json");
    const { secondOf, problems } = await following(file, 0.05);
    await sleep(300);
    putJson(file, runResults({ a: 1 }));
    await expect.poll(() => secondOf("a")).toBe(1);
    expect(problems).toEqual([
      `Cannot read ${file}: there is no such file. \`dbt build\` writes it to target/.`,
    ]);
  });

  it("that is half written, then deleted, changes nothing", async () => {
    const file = join(ownFolder(), "run_results.json");
    putJson(file, runResults({ a: 1 }));
    const { secondOf, problems } = await following(file, 0.05);
    const next = JSON.stringify(runResults({ a: 11 }));
    putText(file, next.slice(0, 100));
    await expect.poll(() => problems).toHaveLength(1);
    expect(problems[0]).toContain("is not JSON");
    rmSync(file);
    await expect.poll(() => problems).toHaveLength(2);
    expect(secondOf("a")).toBe(1);
    putText(file, next);
    await expect.poll(() => secondOf("a")).toBe(11);
    // A problem that comes back is reported again.
    rmSync(file);
    await expect.poll(() => problems).toHaveLength(3);
  });

  it("of a compilation only is reported, unless a build's has been read", async () => {
    const file = join(ownFolder(), "run_results.json");
    putJson(file, runResults({ a: 1 }, "compile"));
    const { secondOf, problems } = await following(file);
    expect(problems).toEqual([
      `${file} reports no successful build (\`dbt compile\` wrote it): give the one that \`dbt build\` writes.`,
    ]);
    putJson(file, runResults({ a: 2 }));
    await expect.poll(() => secondOf("a")).toBe(2);
    putJson(file, runResults({ a: 3, b: 3 }, "generate"));
    await sleep(500);
    expect([secondOf("a"), secondOf("b"), problems.length]).toEqual([2, null, 1]);
  });

  it("is remembered by the next server, after a test has overwritten it and whatever it says", async () => {
    const [file, memory] = [join(ownFolder(), "run_results.json"), join(ownFolder(), "new/builds.json")];
    putJson(file, runResults({ a: 1, b: 1 }));
    await (await following(file, 60, memory)).end();
    putJson(file, runResults({ a: 9 }, "test"));
    const second = await following(file, 60, memory);
    expect([second.secondOf("a"), second.secondOf("b"), second.problems]).toEqual([1, 1, []]);
    await second.end();
    putJson(file, runResults({ b: 12 }));
    const third = await following(file, 60, memory);
    expect([third.secondOf("a"), third.secondOf("b")]).toEqual([1, 12]);
    await third.end();
    // Run results of another project say nothing of these.
    const other = join(ownFolder(), "run_results.json");
    putJson(other, runResults({ c: 1 }));
    const fourth = await following(other, 60, memory);
    expect([fourth.secondOf("a"), fourth.secondOf("c")]).toEqual([null, 1]);
  });

  it("is read as without a memory where that cannot be written or is damaged; one line says so", async () => {
    const [file, folder] = [join(ownFolder(), "run_results.json"), ownFolder()];
    putJson(file, runResults({ a: 1 }));
    writeFileSync(join(folder, "file"), "");
    const { secondOf, notKept } = await following(file, 60, join(folder, "file/builds.json"));
    expect([secondOf("a"), notKept]).toEqual([
      1,
      [expect.stringMatching(/^E(NOTDIR|EXIST).*After a restart/)],
    ]);
    putJson(file, runResults({ a: 2 }));
    await expect.poll(() => secondOf("a")).toBe(2);
    expect(notKept).toHaveLength(1);
    for (const text of ["", "{", "7", '{"builds":7}', '{"source":"x","hash":7,"builds":[{}]}']) {
      writeFileSync(join(folder, "damaged.json"), text);
      const { end, secondOf: again } = await following(file, 60, join(folder, "damaged.json"));
      expect(again("a")).toBe(2);
      await end();
    }
  });

  it("is left alone once the following has ended", async () => {
    const file = join(ownFolder(), "run_results.json");
    putJson(file, runResults({ a: 1 }));
    const { secondOf, end } = await following(file, 0.05);
    await end();
    putJson(file, runResults({ a: 11 }));
    await sleep(500);
    expect(secondOf("a")).toBe(1);
  });
});

describe("a run_results.json at an address", () => {
  it("is requested with the validators of the known one", async () => {
    const server = await manifestServer(serving(runResults({ a: 1 }), '"1"'));
    const { secondOf, builds, problems } = await following(server.url, 0.05);
    await expect.poll(() => server.conditions.length).toBeGreaterThan(3);
    expect(server.conditions.slice(0, 3)).toEqual([undefined, '"1"', '"1"']);
    expect([secondOf("a"), builds.changes]).toEqual([1, 1]);
    server.behave(serving(runResults({ a: 11 }), '"2"'));
    await expect.poll(() => secondOf("a")).toBe(11);
    expect(problems).toEqual([]);
  });

  it("keeps what is known while the server fails, and tells it once", async () => {
    const server = await manifestServer(serving(runResults({ a: 1 }), '"1"'));
    const { secondOf, problems } = await following(server.url, 0.05);
    await expect.poll(() => secondOf("a")).toBe(1);
    server.behave((_, response) => void response.writeHead(500).end());
    const asked = server.conditions.length;
    await expect.poll(() => server.conditions.length).toBeGreaterThan(asked + 3);
    expect(secondOf("a")).toBe(1);
    expect(problems).toEqual([expect.stringContaining("answered 500")]);
    server.behave(serving(runResults({ a: 11 }), '"2"'));
    await expect.poll(() => secondOf("a")).toBe(11);
  });

  it("delays nothing when it is slow, and is not requested twice at a time", async () => {
    const behaviour = serving(runResults({ a: 1 }), '"1"');
    let answer = (): void => undefined;
    const server = await manifestServer((...asked) => (answer = () => behaviour(...asked)));
    const { secondOf } = await following(server.url, 0.05);
    expect(secondOf("a")).toBeNull();
    await expect.poll(() => server.conditions).toHaveLength(1);
    await sleep(200);
    expect(server.conditions).toHaveLength(1);
    server.behave(behaviour);
    answer();
    await expect.poll(() => secondOf("a")).toBe(1);
  });
});
