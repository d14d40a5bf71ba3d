import { readdir, readFile, stat } from "node:fs/promises";

import { run } from "./run.js";

/** What Linux tells everybody about a process. */
interface Facts {
  readonly name: string;
  readonly isZombie: boolean;
  readonly parent: number;
}

/** Whether there is such a process, of whatever account. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Whether a process that is alive is a server on the data directory. On Linux exact, since a server works in its data
 * directory, unless we may not look: root in a container may lack the right to. Elsewhere, and then, by its name; when
 * in doubt, yes.
 */
export async function isServerOn(data: string, pid: number): Promise<boolean> {
  if (process.platform === "linux") {
    const facts = await factsOf(pid);
    if (!facts || facts.isZombie) return false;
    return (await worksIn(data, pid)) ?? facts.name === "postgres";
  }
  const { code, output } = await run("ps", ["-p", String(pid), "-o", "comm="]);
  return code !== 0 || output.includes("postgres");
}

/**
 * Sessions and helpers of a server on the data directory that has died and left them behind. Each ends by itself as
 * soon as it rests; in the middle of a long statement that can take as long as the statement. Linux only.
 */
export async function orphansOf(data: string): Promise<readonly number[]> {
  if (process.platform !== "linux") return [];
  const pids = (await readdir("/proc")).map(Number).filter(Number.isInteger);
  const orphans = await Promise.all(pids.map((pid) => isOrphan(data, pid)));
  return pids.filter((_, index) => orphans[index]);
}

/** A child of a living server has a parent that works in the same place; the server itself has another title. */
async function isOrphan(data: string, pid: number): Promise<boolean> {
  if ((await worksIn(data, pid)) !== true) return false;
  const title = await readFile(`/proc/${String(pid)}/cmdline`, "utf8").catch(() => "");
  const facts = await factsOf(pid);
  if (!facts || !title.startsWith("postgres: ")) return false;
  return (await worksIn(data, facts.parent)) !== true;
}

/** `undefined`: we may not know. */
async function worksIn(data: string, pid: number): Promise<boolean | undefined> {
  try {
    const [cwd, there] = await Promise.all([stat(`/proc/${String(pid)}/cwd`), stat(data)]);
    return cwd.dev === there.dev && cwd.ino === there.ino;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? undefined : false;
  }
}

/** From `/proc/<pid>/stat`: id, name in brackets, state, parent's id, … */
async function factsOf(pid: number): Promise<Facts | undefined> {
  const text = await readFile(`/proc/${String(pid)}/stat`, "utf8").catch(() => "");
  const end = text.lastIndexOf(")");
  if (end < 0) return undefined;
  const [state, parent] = text.slice(end + 2).split(" ");
  return { name: text.slice(text.indexOf("(") + 1, end), isZombie: state === "Z", parent: Number(parent) };
}
