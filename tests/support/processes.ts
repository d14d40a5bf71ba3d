import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";

/** State and parent of a process, from `/proc/<pid>/stat`; null for one that is gone. Linux only. */
function statOf(pid: number): { readonly state: string; readonly parent: number } | null {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
    const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}

/** Whether a process runs; one that has ended is gone, or a zombie until its parent reads its exit code. */
export function isAlive(pid: number): boolean {
  return (statOf(pid)?.state ?? "Z") !== "Z";
}

export function childrenOf(pid: number | undefined): readonly number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((each) => statOf(each)?.parent === pid);
}

/** Ends a program, also one that has ended by then. For `beforeAll` to return: `atEnd` cannot be used within it. */
export function stopOf(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): () => Promise<void> {
  const exited = once(child, "exit");
  return async () => {
    child.kill(signal);
    await exited;
  };
}

/** Resident memory of a process, in bytes. Linux only. */
export function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${String(pid)}/statm`, "utf8").split(" ")[1]) * 4096;
}

/** Resident memory of a process before some work, and at most during it, in bytes. Linux only. */
export async function mostMemory(pid: number, work: () => Promise<void>) {
  const idle = residentBytes(pid);
  let most = idle;
  const watch = setInterval(() => (most = Math.max(most, residentBytes(pid))), 20);
  await work().finally(() => clearInterval(watch));
  return { idle, above: most - idle };
}
