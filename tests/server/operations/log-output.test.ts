import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { databaseUrl } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { childrenOf, isAlive } from "../../support/processes.js";
import { freePort } from "../../support/port.js";
import { generateInto, ownFolder } from "../../support/service.js";

const BIN = join(import.meta.dirname, "../../../generator/bin/routewright.js");
const MODELS = [{ name: "api_a", tags: ["production", "s", "api:a"], columns: { id: "int" } }];
const STARTED = { timeout: 90_000, interval: 100 };

interface Served {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Serves with a standard output that accepts nothing: a pipe without a reader, or a file on a full disk. */
async function serveTo(output: "pipe" | number, workers: number): Promise<Served> {
  const cwd = ownFolder();
  generateInto(join(cwd, "generated"), manifestOf(MODELS));
  const port = await freePort();
  const args = [BIN, "serve", "--only", "data", "--port", String(port), "--workers", String(workers)];
  const env = { PATH: process.env["PATH"], HOME: cwd, DATABASE_URL: databaseUrl, USAGE_ENABLED: "false" };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", output, "inherit"] });
  atEnd(() => void child.kill("SIGKILL"));
  const url = `http://127.0.0.1:${String(port)}`;
  await expect.poll(() => statusOf(`${url}/health`), STARTED).toBe(200);
  return { child, url };
}

const statusOf = (url: string, headers: Record<string, string> = {}): Promise<number> =>
  fetch(url, { headers }).then(
    ({ status, body }) => body?.cancel().then(() => status) ?? status,
    () => 0,
  );

async function droppedLines(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^routewright_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
}

/** The log has the paths that no endpoint has. */
const LONG = "n".repeat(4000);

/** Sends requests, each of which is logged, until lines are dropped. */
async function requestUntilDropped(url: string): Promise<void> {
  for (let rounds = 0; rounds < 1000; rounds++) {
    await Promise.all(Array.from({ length: 50 }, () => statusOf(`${url}/v1/${LONG}`)));
    if (rounds % 20 === 0 && (await droppedLines(url)) > 0) return;
  }
  throw new Error("No line was dropped.");
}

describe.skipIf(process.platform !== "linux")("a blocked standard output", () => {
  it.each([
    ["a full disk, one process", () => openSync("/dev/full", "w"), 1],
    ["a full disk, two workers", () => openSync("/dev/full", "w"), 2],
    ["a reader that stopped, one process", () => "pipe" as const, 1],
    ["a reader that stopped, two workers", () => "pipe" as const, 2],
  ])("costs lines, which are counted, and neither requests nor the end: %s", async (_, output, workers) => {
    const { child, url } = await serveTo(output(), workers);
    await requestUntilDropped(url);
    expect(await statusOf(`${url}/health`)).toBe(200);
    const children = childrenOf(child.pid);
    // The compiler of generated modules may be among them.
    expect(children.length).toBeGreaterThanOrEqual(workers > 1 ? workers : 0);
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    expect(await exit).toEqual([0, null]);
    await expect.poll(() => children.filter(isAlive), STARTED).toEqual([]);
  });
});

it("the log line of a request says why a request was refused, by its request id, without any value", async () => {
  const file = join(ownFolder(), "log");
  const { child, url } = await serveTo(openSync(file, "w"), 1);
  const send = (path: string, id: string, key?: string) =>
    statusOf(`${url}${path}`, { "X-Request-Id": id, ...(key !== undefined && { "X-API-Key": key }) });
  expect(await send("/v1/s/a?secretive=value", "undeclared")).toBe(400);
  expect(await send("/v1/none/s%6B%5flive_abc?x=1", "unknown-path")).toBe(404);
  expect(await send("/v1/s/a", "unknown-key", "sk_live_unknown")).toBe(403);
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await exit;
  const text = readFileSync(file, "utf8");
  const lineOf = (id: string): unknown => {
    const line = text.split("\n").find((each) => each.includes(`"requestId":"${id}"`));
    return JSON.parse(line ?? "null");
  };
  const caller = "ip:127.0.0.1";
  expect(lineOf("undeclared")).toMatchObject({ status: 400, error: "legacyParameters", caller });
  expect(lineOf("unknown-path")).toMatchObject({
    status: 404,
    error: "notFound",
    path: "/v1/none/sk_live_…",
    caller,
  });
  expect(lineOf("unknown-key")).toMatchObject({ status: 403, error: "unknownKey", key: null, caller });
  expect(text).not.toMatch(/secretive=|value|sk_live_[a-z]/);
});
