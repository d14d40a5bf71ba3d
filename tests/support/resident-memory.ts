import { readFileSync } from "node:fs";

/** Resident memory of a process, in bytes. Linux only. */
export function residentBytes(pid: number): number {
  const pages = Number(readFileSync(`/proc/${String(pid)}/statm`, "utf8").split(" ")[1]);
  return pages * 4096;
}
