import { readdirSync, readlinkSync } from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import { Spool, SpoolBudget } from "../../runtime/warehouse/spool.js";
import { smallDisk } from "./postgres/small-disk.js";

const disk = smallDisk(8);
if (typeof disk === "string")
  console.warn(`NOT TESTED: a spool on a full disk. A small file system could not be mounted here: ${disk}`);

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

const chunk = (i: number): Buffer => Buffer.alloc(300_000, i % 10);

it.skipIf(process.platform !== "linux")(
  "closes its file also when it is closed while that is opened",
  async () => {
    const before = openFiles();
    const spool = new Spool(new SpoolBudget(0, 10_000_000));
    await spool.push(chunk(0));
    const stored = spool.push(chunk(1));
    await spool.close();
    await stored;
    expect(openFiles()).toBe(before);
  },
);

it.skipIf(typeof disk === "string")(
  "waits for its reader while the disk is full, and returns exactly what it stored",
  async () => {
    if (typeof disk === "string") return;
    vi.stubEnv("TMPDIR", disk.folder);
    const spool = new Spool(new SpoolBudget(0, 100_000_000));
    let count = 0;
    const fill = async (): Promise<void> => {
      for (; count < 100; count++) await spool.push(chunk(count));
    };
    const filled = fill();
    // 8 MB hold 27 chunks; one more is in memory.
    await vi.waitFor(() => expect(count).toBeGreaterThan(20));
    for (let i = 0; i < 100; i++) {
      const bytes = await vi.waitUntil(() => spool.shift());
      expect(bytes.equals(chunk(i)), `chunk ${String(i)}`).toBe(true);
    }
    await filled;
    expect(await spool.shift()).toBeNull();
    await spool.close();
  },
);
