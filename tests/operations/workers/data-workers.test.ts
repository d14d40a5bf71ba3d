import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import pino from "pino";
import { DataWorkers } from "../../../runtime/operations/workers/data-workers.js";
import type { DataAssignment, WorkerFunctions } from "../../../runtime/operations/workers/messages.js";
import type { Release } from "../../../runtime/release/release.js";
import { BuildRecords } from "../../../runtime/warehouse/data-versions.js";
import { FakeWorker } from "./fake-worker.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A release of the generated folder, or of a manifest with this hash. */
function releaseOf(hash: string | null): Release {
  const manifest =
    hash === null
      ? null
      : { hash, loadedAt: 0, models: 1, skipped: [], heldBack: [], defaultTier: "tier0" as const };
  return {
    openApi: new Uint8Array(),
    documentation: { catalogue: "", lineage: "" },
    modules: [],
    skippedModels: 0,
    adapter: null,
    manifest,
  };
}

const FOLDER = releaseOf(null);
const CONFIG = {
  variables: {},
  port: 1,
  keys: new Map(),
  databaseUrl: "",
  title: "",
  release: FOLDER,
};

async function started(size: number, ...functions: readonly Partial<WorkerFunctions>[]) {
  const fakes: FakeWorker[] = [];
  const builds = new BuildRecords();
  const data = new DataWorkers({
    fork: () => {
      const fake = new FakeWorker(fakes.length + 1, functions[fakes.length]);
      fakes.push(fake);
      return fake.worker;
    },
    size,
    config: CONFIG,
    builds,
    refresh: () => Promise.reject(new Error("not used")),
    onUnrecoverable: () => false,
    log: pino({ level: "silent" }),
  });
  await data.pool.start();
  return { data, fakes, builds, assigned: (i: number) => fakes[i]!.assignment as DataAssignment };
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe("a release", () => {
  it("reaches all workers, and those that start later", async () => {
    const { data, fakes, assigned } = await started(2);
    const release = releaseOf("1");
    await data.activate(release);
    expect(fakes.map(({ activated }) => activated)).toEqual([[release], [release]]);
    fakes[0]!.end(null, "SIGKILL");
    await settle();
    expect(assigned(2).release).toBe(release);
    expect(data.status.manifest?.hash).toBe("1");
  });

  it("also reaches a worker that is starting with the old one, before the refresh ends", async () => {
    let serve: () => void = () => undefined;
    const slow = { start: () => new Promise<void>((resolve) => (serve = resolve)) };
    const { data, fakes } = await started(2, {}, {}, slow);
    fakes[0]!.end(null, "SIGKILL");
    await settle();
    const release = releaseOf("1");
    let isDone = false;
    const activated = data.activate(release).then(() => (isDone = true));
    await vi.advanceTimersByTimeAsync(1000);
    expect([fakes[1]!.activated, fakes[2]!.activated, isDone]).toEqual([[release], [], false]);
    serve();
    await activated;
    expect(fakes[2]!.activated).toEqual([release]);
  });

  it("ends a worker that cannot activate it, or does not respond; the replacements serve it", async () => {
    const fails = { activate: () => Promise.reject(new Error("no memory")) };
    const { data, fakes, assigned } = await started(3, {}, fails);
    fakes[2]!.isFrozen = true;
    const release = releaseOf("1");
    const activated = data.activate(release);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await activated).toMatchObject({ status: "reloaded" });
    expect(fakes.map(({ hasEnded }) => hasEnded)).toEqual([false, true, true, false, false]);
    expect([assigned(3).release, assigned(4).release]).toEqual([release, release]);
  });

  it("that no worker can activate changes nothing", async () => {
    const fails = { activate: () => Promise.reject(new Error("first.ts: spoiled")) };
    const { data, fakes, assigned } = await started(2, fails, fails);
    await expect(data.activate(releaseOf("1"))).rejects.toThrow("first.ts: spoiled");
    expect(fakes.map(({ hasEnded }) => hasEnded)).toEqual([false, false]);
    fakes[0]!.end(null, "SIGKILL");
    await settle();
    expect(assigned(2).release).toBe(FOLDER);
  });
});

describe("API keys", () => {
  it("reach all workers, and a worker that starts later gets those in force", async () => {
    const { data, fakes, assigned } = await started(2);
    const keys = new Map([
      ["digest", { id: "1", tier: "tier1", user: "u", org: "", expiresAt: null, allowed: null } as const],
    ]);
    await data.setKeys(keys);
    expect(fakes.map((fake) => fake.keys)).toEqual([[keys], [keys]]);
    fakes[0]!.end(null, "SIGKILL");
    await settle();
    expect(assigned(2).keys).toBe(keys);
  });

  it("end a worker that cannot replace them: it would accept revoked keys", async () => {
    const { data, fakes } = await started(2, { setKeys: () => Promise.reject(new Error("no memory")) });
    await data.setKeys(new Map());
    await settle();
    expect(fakes.map(({ hasEnded }) => hasEnded)).toEqual([true, false, false]);
  });
});

describe("what dbt has built", () => {
  it("reaches all workers, and those that start later", async () => {
    const seen: unknown[] = [];
    const recordBuilds = (...builds: unknown[]): Promise<void> => Promise.resolve(void seen.push(builds));
    const { data, fakes, builds, assigned } = await started(1, { recordBuilds });
    const build = { node: "model.one", completedAt: 1 };
    builds.record([build], []);
    data.recordBuilds([build], []);
    await settle();
    expect(seen).toEqual([[[build], []]]);
    fakes[0]!.end(null, "SIGKILL");
    await settle();
    expect(assigned(1).builds).toEqual([build]);
  });
});

describe("a reload", () => {
  it("serves the new folder, or keeps the release that is served", async () => {
    const { data, assigned } = await started(1);
    const folder = releaseOf(null);
    expect(await data.reload({ ...CONFIG, title: "New", release: folder }, false)).toBeNull();
    expect(assigned(1)).toMatchObject({ title: "New" });
    expect(assigned(1).release).toBe(folder);
    const refreshed = releaseOf("1");
    await data.activate(refreshed);
    await data.reload({ ...CONFIG, title: "Newer", release: releaseOf(null) }, true);
    expect(assigned(2)).toMatchObject({ title: "Newer" });
    expect(assigned(2).release).toBe(refreshed);
  });

  it("with which no worker starts changes nothing but the keys", async () => {
    const fails = { start: () => Promise.reject(new Error("out of connections")) };
    const { data, fakes, assigned } = await started(1, {}, fails);
    const keys = new Map();
    expect(await data.reload({ ...CONFIG, keys, title: "New" }, true)).toBe("out of connections");
    expect(fakes[0]!.hasEnded).toBe(false);
    fakes[0]!.end(null, "SIGKILL");
    await settle();
    expect(assigned(2)).toMatchObject({ title: "" });
    expect(assigned(2).keys).toBe(keys);
  });
});

describe("/metrics", () => {
  it("show a worker that does not respond with what it had counted before, or without", async () => {
    const { data, fakes } = await started(2);
    fakes[1]!.isFrozen = true;
    const text = fakes[0]!.metricsText();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await text).toMatch(/^routewright_workers 2$/m);
    expect(data.pool.serving).toHaveLength(2);
  });
});
