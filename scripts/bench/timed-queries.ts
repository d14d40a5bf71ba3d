import { readdirSync, readFileSync } from "node:fs";
import type { Figures } from "./figures.js";
import { KEYS } from "./load.js";
import { cpuSecondsWithChildren, type Server } from "./process.js";

/** The text of a response of `shop`. */
export async function ask({ port }: Server, path: string): Promise<string> {
  const headers = { "X-API-Key": KEYS[0] ?? "" };
  const response = await fetch(`http://127.0.0.1:${String(port)}/v1/shop/${path}`, { headers });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${String(response.status)} ${text}`);
  return text;
}

/** Seconds, processor time and memory of the database; memory is looked at 50 times a second, without pages that processes share. */
export async function timed(pid: number, run: () => Promise<unknown>): Promise<Figures> {
  const idle = privateMiB(pid);
  let peak = idle;
  const look = setInterval(() => (peak = Math.max(peak, privateMiB(pid))), 20);
  const [began, cpu] = [performance.now(), cpuSecondsWithChildren(pid)];
  await run();
  clearInterval(look);
  return {
    seconds: (performance.now() - began) / 1000,
    "processor s": cpuSecondsWithChildren(pid) - cpu,
    "MiB above idle": peak - idle,
  };
}

/** Memory of a process and its children that no file or other process has. */
function privateMiB(pid: number): number {
  const own = readdirSync("/proc").filter((name) => name === String(pid) || parentOf(name) === String(pid));
  return own.reduce(
    (sum, name) => sum + Number(/^RssAnon:\s*(\d+)/m.exec(read(name, "status"))?.[1] ?? 0) / 1024,
    0,
  );
}

const parentOf = (name: string): string | undefined =>
  /^\d+$/.test(name) ? /^PPid:\s*(\d+)/m.exec(read(name, "status"))?.[1] : undefined;

function read(name: string, file: string): string {
  try {
    return readFileSync(`/proc/${name}/${file}`, "utf8");
  } catch {
    return "";
  }
}
