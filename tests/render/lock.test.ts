import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { expect, it } from "vitest";
import { withLock } from "../../generator/output/lock.js";
import { atEnd } from "../support/at-end.js";
import { ownFolder } from "../support/service.js";

const FOLDERS = 60;
const INTERVAL_MS = 80;

const IMPORTS = `
  import { appendFileSync } from "node:fs";
  import { withLock } from ${JSON.stringify(resolve("generator/output/lock.ts"))};
  const [root, start] = process.argv.slice(1);`;

/** Acquires the lock of every folder, and is killed. */
const KILLED = `${IMPORTS}
  const acquire = (i) => i === ${String(FOLDERS)} ? process.kill(process.pid, "SIGKILL") : withLock(root + "/" + i, () => acquire(i + 1));
  acquire(0);`;

/** Writes into each folder, at the same time as the other writers. */
const WRITER = `${IMPORTS}
  const pause = (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(0, ms));
  for (let i = 0; i < ${String(FOLDERS)}; i++) {
    const log = root + "/" + i + "/log";
    pause(Number(start) + i * ${String(INTERVAL_MS)} - Date.now());
    withLock(root + "/" + i, () => {
      appendFileSync(log, "begin ");
      pause(2);
      appendFileSync(log, "end ");
    });
  }`;

function startScript(script: string, args: readonly string[]): ChildProcessByStdio<null, Readable, null> {
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  atEnd(() => void child.kill("SIGKILL"));
  return child;
}

async function runScript(script: string, args: readonly string[]): Promise<unknown> {
  const [code, signal] = (await once(startScript(script, args), "exit")) as [number | null, string | null];
  return signal ?? code;
}

it("processes that find the lock of a killed one write one after the other", async () => {
  const root = ownFolder();
  const folders = Array.from({ length: FOLDERS }, (_, i) => join(root, String(i)));
  for (const folder of folders) mkdirSync(folder);
  expect(await runScript(KILLED, [root])).toBe("SIGKILL");
  const start = String(Date.now() + 2000);
  const writers = Array.from({ length: 8 }, () => runScript(WRITER, [root, start]));
  expect(new Set(await Promise.all(writers))).toEqual(new Set([0]));
  for (const folder of folders)
    expect(readFileSync(join(folder, "log"), "utf8")).toBe("begin end ".repeat(writers.length));
});

/** Holds the lock of a folder until it is killed. */
const HOLDER = `${IMPORTS}
  withLock(root, () => { console.log("held"); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); });`;

it("a process that waits too long names the lock to delete", async () => {
  const root = ownFolder();
  const holder = startScript(HOLDER, [root]);
  await once(holder.stdout, "data");
  expect(() => withLock(root, () => "written", 50)).toThrow(
    /^Another process is writing .*\. If there is none, delete .*routewright-.*\.lock and try again\.$/,
  );
  holder.kill("SIGKILL");
  await once(holder, "exit");
  expect(withLock(root, () => "written", 50)).toBe("written");
});
