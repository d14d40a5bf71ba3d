import { join } from "node:path";
import { expect } from "vitest";
import { databaseUrl } from "../../support/database.js";
import { serve, type Served, start, type Running } from "../../support/command.js";
import { generateInto, KEYS, ownFolder } from "../../support/service.js";

/** Environment of every test here: the test database, and a tier3 key whose limit no load reaches. */
export const BASE = {
  DATABASE_URL: databaseUrl,
  API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
};

/** A folder with a generated one in it. */
export function project(manifest: unknown): string {
  const folder = ownFolder();
  generateInto(join(folder, "generated"), manifest);
  return folder;
}

/** Starts `routewright serve --workers` on a free port and waits until it listens. */
export function serveWorkers(
  folder: string,
  workers: number,
  variables: Readonly<Record<string, string>> = {},
): Promise<Served> {
  return serve(folder, ["--only", "data", "--workers", String(workers)], { ...BASE, ...variables });
}

/** Starts it and waits for nothing. */
export function startWorkers(
  folder: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Running {
  return start(folder, ["serve", "--only", "data", ...args], { PORT: "0", ...BASE, ...variables });
}

export interface LogLine {
  readonly msg: string;
  readonly worker?: number;
  readonly pid?: number;
  readonly role?: string;
  readonly requestId?: string;
  readonly [field: string]: unknown;
}

/** All whole lines of the log so far; each must be JSON. */
export function linesOf(running: Running): readonly LogLine[] {
  const { stdout } = running.printed();
  const lines = stdout.slice(0, stdout.lastIndexOf("\n") + 1).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as LogLine);
}

/** Process ids of the workers of a role that serve now, the oldest first. */
export function servingPids(running: Running, role = "data"): readonly number[] {
  const pids = new Set<number>();
  for (const { msg, pid = 0, role: own } of linesOf(running)) {
    if (own !== role) continue;
    if (msg === "worker serves") pids.add(pid);
    if (msg === "worker ended" || msg === "worker died") pids.delete(pid);
  }
  return [...pids];
}

/** How often a line was logged. */
export function countOf(running: Running, message: string): number {
  return linesOf(running).filter(({ msg }) => msg === message).length;
}

/** Waits until so many workers of a role serve that are none of `gone`. */
export async function until(
  running: Running,
  workers: number,
  gone: readonly number[] = [],
  role = "data",
): Promise<void> {
  const fresh = (): number => servingPids(running, role).filter((pid) => !gone.includes(pid)).length;
  await expect.poll(fresh, { timeout: 30_000, interval: 50 }).toBe(workers);
}
