import { readFileSync } from "node:fs";

const PAGE_BYTES = 4096;

/** Bytes of memory that a process holds; NaN where the system does not tell in this way. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${String(pid)}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES;
  } catch {
    return NaN;
  }
}
