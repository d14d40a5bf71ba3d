import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "../../support/at-end.js";

/** A file system of its own that is small enough to fill. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all the room that is left. */
  fill(): void;
  /** Gives it back. */
  free(): void;
}

/**
 * Mounts one in memory, which takes root or a `sudo` that does not ask, as on the usual CI runners. Tells why when that
 * cannot be done.
 */
export function smallDisk(megabytes: number): SmallDisk | string {
  const folder = mkdtempSync(join(tmpdir(), "small-disk-"));
  const { geteuid = () => -1, getegid = () => -1 } = process;
  const options = `size=${String(megabytes)}m,mode=755,uid=${String(geteuid())},gid=${String(getegid())}`;
  const asRoot = geteuid() === 0 ? [] : ["sudo", "-n"];
  const run = (...command: readonly string[]): void => {
    const [file = "", ...args] = [...asRoot, ...command];
    execFileSync(file, args, { stdio: "pipe" });
  };
  try {
    run("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder);
  } catch (error) {
    rmSync(folder, { recursive: true });
    return error instanceof Error ? error.message : String(error);
  }
  atEnd(() => {
    run("umount", "-l", folder);
    rmSync(folder, { recursive: true });
  });
  const filler = join(folder, "filler");
  return { folder, fill: () => fill(filler), free: () => rmSync(filler, { force: true }) };
}

/** Writes until there is no room for another byte. */
function fill(file: string): void {
  const descriptor = openSync(file, "w");
  for (const length of [1024 * 1024, 4096, 1]) {
    const bytes = Buffer.alloc(length);
    try {
      for (;;) writeSync(descriptor, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }
  closeSync(descriptor);
}
