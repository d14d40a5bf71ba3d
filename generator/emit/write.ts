import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Drift } from "./folder.js";
import type { FileSet } from "./render.js";

/**
 * Brings a folder up to date: writes what is missing or changed, deletes what is stale, leaves the rest alone. All new
 * text is on disk under other names before the first file changes, so a full disk or a missing permission changes
 * nothing.
 */
export function writeDrift(path: string, fresh: FileSet, drift: readonly Drift[]): void {
  const staged: { from: string; to: string }[] = [];
  try {
    for (const { file, kind } of drift) {
      if (kind !== "missing" && kind !== "changed") continue;
      const to = join(path, file);
      const from = `${to}.${String(process.pid)}.tmp`;
      mkdirSync(dirname(to), { recursive: true });
      staged.push({ from, to });
      writeFileSync(from, fresh.get(file) ?? "");
    }
  } catch (error) {
    for (const { from } of staged) rmSync(from, { force: true });
    throw error;
  }
  for (const { from, to } of staged) renameSync(from, to);
  for (const { file, kind } of drift) if (kind === "stale") remove(path, file);
}

/** Deletes a file, and the folders that it leaves empty. */
function remove(path: string, file: string): void {
  rmSync(join(path, file));
  for (let parent = dirname(file); parent !== "."; parent = dirname(parent)) {
    if (readdirSync(join(path, parent)).length > 0) return;
    rmdirSync(join(path, parent));
  }
}
