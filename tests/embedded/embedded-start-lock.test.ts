import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { withStartLock } from "../../runtime/embedded/embedded-postgres.js";

const MODULE = new URL("../../runtime/embedded/embedded-postgres.ts", import.meta.url).href;

vi.setConfig({ testTimeout: 30_000 });

afterEach(() => vi.restoreAllMocks());

const someCluster = () => ({ data: `/${randomUUID()}`, password: "secret" });
const isFree = async (cluster: ReturnType<typeof someCluster>): Promise<boolean> =>
  (await withStartLock(cluster, () => Promise.resolve("ran"))) === "ran";

/** A process of its own that holds the lock until it is killed. */
async function holder(cluster: ReturnType<typeof someCluster>, platform: NodeJS.Platform) {
  const script = `
    import { withStartLock } from ${JSON.stringify(MODULE)};
    Object.defineProperty(process, "platform", { value: ${JSON.stringify(platform)} });
    setInterval(() => {}, 1000);
    await withStartLock(${JSON.stringify(cluster)}, () => {
      console.log("held");
      return new Promise(() => {});
    });`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return async (): Promise<void> => {
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  };
}

/** Both kinds of address that a POSIX system may have for it. */
describe.each(["linux", "darwin"] as const)("the start lock (%s)", (platform) => {
  const itHere = it.skipIf(platform === "linux" && process.platform !== "linux");

  itHere("is held by one start at a time, for each cluster", async () => {
    vi.spyOn(process, "platform", "get").mockReturnValue(platform);
    const cluster = someCluster();
    const seen = await withStartLock(cluster, async () => [
      await isFree(cluster),
      await isFree(someCluster()),
    ]);
    expect(seen).toEqual([false, true]);
    expect(await isFree(cluster)).toBe(true);
  });

  itHere("is kept from other processes, and gone with the process that holds it", async () => {
    const cluster = someCluster();
    const kill = await holder(cluster, platform);
    vi.spyOn(process, "platform", "get").mockReturnValue(platform);
    expect(await isFree(cluster)).toBe(false);
    await kill();
    expect(await isFree(cluster)).toBe(true);
  });
});
