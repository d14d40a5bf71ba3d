import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { Budget, SpooledRows } from "../../../runtime/core/warehouse/spool.js";
import { atEnd } from "../../support/at-end.js";

/**
 * A folder with a file system of 8 MB in memory, which takes root or a `sudo` that does not ask, as on the usual CI runners;
 * null where it cannot be mounted.
 */
function smallDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), "small-disk-"));
  const asRoot = process.geteuid?.() === 0 ? [] : ["sudo", "-n"];
  const run = (...command: readonly string[]): void => {
    const [file = "", ...args] = [...asRoot, ...command];
    execFileSync(file, args, { stdio: "pipe" });
  };
  try {
    run("mount", "-t", "tmpfs", "-o", `size=8m,mode=755,uid=${String(process.geteuid?.())}`, "tmpfs", folder);
  } catch (error) {
    rmSync(folder, { recursive: true });
    console.warn("NOT TESTED: a spool on a full disk. A small file system could not be mounted here:", error);
    return null;
  }
  atEnd(() => {
    run("umount", "-l", folder);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

const disk = smallDisk();

afterEach(() => void vi.unstubAllEnvs());

/** Files of spools that this process has open. */
function openFiles(): number {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });
  return links.filter((link) => link.includes("routewright-spool-")).length;
}

const END = { returned: 0, hasMore: false, milliseconds: 0 };

function openSpool(diskBytes: number): SpooledRows {
  const stop = (): void => spool.finish(END, null);
  const budget = { memory: new Budget(0), disk: new Budget(diskBytes) };
  const spool = new SpooledRows(budget, { stop, release: () => undefined });
  return spool;
}

const chunk = (i: number): Buffer => Buffer.alloc(300_000, i % 10);

it.skipIf(process.platform !== "linux")(
  "closes its file also when it is closed while that is opened",
  async () => {
    const before = openFiles();
    const spool = openSpool(10_000_000);
    await spool.push(chunk(0));
    const stored = spool.push(chunk(1));
    await spool.return();
    await stored;
    expect(openFiles()).toBe(before);
  },
);

it.skipIf(disk === null)(
  "waits for its reader while the disk is full, and returns exactly what it stored",
  async () => {
    vi.stubEnv("TMPDIR", disk ?? "");
    const spool = openSpool(100_000_000);
    let count = 0;
    const fill = async (): Promise<void> => {
      for (; count < 100; count++) await spool.push(chunk(count));
    };
    const filled = fill().then(() => spool.finish(END, null));
    // 8 MB hold 27 chunks; one more is in memory.
    await expect.poll(() => count).toBeGreaterThan(20);
    for (let i = 0; i < 100; i++) {
      const { value } = await spool.next();
      expect(chunk(i).equals(value as Buffer), `chunk ${String(i)}`).toBe(true);
    }
    await filled;
    expect(await spool.next()).toEqual({ done: true, value: END });
  },
);
