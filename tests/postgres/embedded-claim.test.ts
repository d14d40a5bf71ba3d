import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";

import { afterEach, describe, expect, it, vi } from "vitest";

import { claimStart } from "../../runtime/embedded/claim.js";
import type { Cluster } from "../../runtime/embedded/cluster.js";

const MODULE = new URL("../../runtime/embedded/claim.ts", import.meta.url).href;

vi.setConfig({ testTimeout: 30_000 });

afterEach(() => vi.restoreAllMocks());

function someCluster(): Cluster {
  const tree = { directory: "/nowhere", version: "18.0.0" };
  return { data: `/${randomUUID()}`, log: "", password: "secret", tree, account: undefined };
}

/** A process of its own that has the claim until it's killed. */
async function holder(cluster: Cluster, platform: NodeJS.Platform) {
  const script = `
    import { claimStart } from ${JSON.stringify(MODULE)};
    Object.defineProperty(process, "platform", { value: ${JSON.stringify(platform)} });
    console.log((await claimStart(${JSON.stringify(cluster)})) !== undefined);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  expect(line.toString().trim()).toBe("true");
  return async (): Promise<void> => {
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  };
}

/** The kinds of names that a POSIX system may have for it. */
describe.each(["linux", "darwin"] as const)("the right to start a server (%s)", (platform) => {
  it.skipIf(platform === "linux" && process.platform !== "linux")(
    "is had by one at a time, for each cluster",
    async () => {
      vi.spyOn(process, "platform", "get").mockReturnValue(platform);
      const cluster = someCluster();
      const claim = await claimStart(cluster);
      expect(await claimStart(cluster)).toBeUndefined();
      const other = await claimStart(someCluster());
      await other!.release();
      await claim!.release();
      const next = await claimStart(cluster);
      expect(next).toBeDefined();
      await next!.release();
    },
  );

  it.skipIf(platform === "linux" && process.platform !== "linux")(
    "is kept from other processes, and goes with the process that has it",
    async () => {
      const cluster = someCluster();
      const kill = await holder(cluster, platform);
      vi.spyOn(process, "platform", "get").mockReturnValue(platform);
      expect(await claimStart(cluster)).toBeUndefined();
      await kill();
      const claim = await claimStart(cluster);
      expect(claim).toBeDefined();
      expect(await claimStart(cluster)).toBeUndefined();
      await claim!.release();
    },
  );
});
