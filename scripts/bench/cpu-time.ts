import { readFileSync } from "node:fs";

/** Linux counts a process's time in hundredths of a second, on every machine. */
const TICKS_PER_SECOND = 100;

/**
 * Seconds of processor time that a process has used, its threads included; NaN where the system does not tell in this
 * way. Other programs on the machine change it far less than they change requests per second.
 */
export function cpuSeconds(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
    // The second field, the program's name, is the only one that may hold spaces: what follows it is counted from there.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [user, system] = [fields[11], fields[12]].map(Number);
    return ((user ?? NaN) + (system ?? NaN)) / TICKS_PER_SECOND;
  } catch {
    return NaN;
  }
}
