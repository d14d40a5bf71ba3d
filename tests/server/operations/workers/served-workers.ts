import { expect } from "vitest";
import { databaseUrl } from "../../../support/database.js";
import { sendRequest } from "../../../support/http-client.js";
import { serve, type Served, start, type Running } from "../../../support/command.js";
import { KEYS, ownInstallation } from "../../../support/service.js";

/** Environment of every test here: the test database, and a tier3 key whose limit no load reaches. */
export const BASE = {
  DATABASE_URL: databaseUrl,
  API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
};

/** A folder with a generated one in it. */
export function project(manifest: unknown): string {
  const folder = ownInstallation(manifest);
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

interface Asked {
  readonly statuses: ReadonlySet<number>;
  readonly requests: number;
}

/** Sends requests on connections of their own until every worker has responded to some: the kernel chooses among the idle. */
export async function askAllWorkers(served: Served, path: string, key: string = KEYS.tier3): Promise<Asked> {
  const serving = servingPids(served);
  const workers = new Set(
    linesOf(served).flatMap(({ msg, pid = 0, worker }) =>
      msg === "worker serves" && serving.includes(pid) ? [worker] : [],
    ),
  );
  const statuses = new Set<number>();
  const ids = new Set<unknown>();
  while (workers.size > 0) {
    expect(ids.size, "no connection of so many is with one of the workers").toBeLessThan(1000);
    const eight = Array.from({ length: 8 }, () => sendRequest(served.url, path, { key }));
    for (const { status, headers } of await Promise.all(eight)) {
      statuses.add(status);
      ids.add(headers["x-request-id"]);
    }
    const logged = (): readonly LogLine[] => linesOf(served).filter(({ requestId }) => ids.has(requestId));
    await expect.poll(() => logged().length, { interval: 10 }).toBe(ids.size);
    for (const { worker } of logged()) workers.delete(worker);
  }
  return { statuses, requests: ids.size };
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
  await expect.poll(fresh, { timeout: 90_000, interval: 50 }).toBe(workers);
}
