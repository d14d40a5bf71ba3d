import { exec, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { databaseUrl } from "../support/database.js";
import { atEnd, ownFolder } from "../support/service.js";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "README.md"), "utf8");

/** The commands of a section, as they are written. */
function commandsOf(section: string): string[] {
  const [, body = ""] = text.split(`\n## ${section}\n`);
  const blocks = (body.split("\n## ")[0] ?? "").matchAll(/^```sh\n([\s\S]*?)^```/gm);
  return [...blocks].flatMap(([, block = ""]) => block.trim().split("\n"));
}

/** Starts a command that does not end and resolves once its output matches. It ends with the test. */
function startUntil(
  command: string,
  cwd: string,
  variables: NodeJS.ProcessEnv,
  pattern: RegExp,
): Promise<RegExpExecArray> {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...variables };
  const child = spawn(command, { cwd, env, shell: true, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close");
  atEnd(async () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, "SIGTERM");
    await closed;
  });
  let output = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        const match = pattern.exec(output);
        if (match) resolve(match);
      });
    void closed.then(() => reject(new Error(`${command} ended: ${output}`)));
  });
}

describe("the commands of README.md", () => {
  it("try it: `npm start` serves what the call after it asks for", async () => {
    const [start = "", curl = "", ...others] = commandsOf("Try it");
    expect(others).toEqual([]);
    const ports = { PORT: "0", RAMP_PORT: "0" };
    const match = await startUntil(start, root, ports, /The data API is at (\S+)[\s\S]*Ctrl-C/);
    expect(curl).toContain("http://127.0.0.1:8000/");
    const call = curl.replace("http://127.0.0.1:8000", match[1] ?? "");
    const { stdout } = await promisify(exec)(call);
    expect(stdout).toMatch(/^HTTP\/1\.1 200 OK/);
    const body = /```\nHTTP[\s\S]*?\n(\[.*\])\n```/.exec(text)?.[1];
    expect(stdout).toContain(`\r\n\r\n${body ?? "no response in README.md"}`);
  });

  it("use it in your repository: each does what it says in a new folder with a manifest", async () => {
    const [install, ...commands] = commandsOf("Use it in your repository");
    // tests/packaging installs the packages; here they are those of the clone.
    expect(install).toBe("npm install routewright @routewright/runtime");
    const folder = ownFolder();
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ name: "shop", private: true, type: "module" }),
    );
    mkdirSync(join(folder, "target"));
    copyFileSync(join(root, "templates/starter/manifest.json"), join(folder, "target/manifest.json"));
    const env = { HOME: folder, DATABASE_URL: databaseUrl, USAGE_ENABLED: "false" };
    for (const command of commands) {
      if (command.includes("routewright serve")) {
        const match = await startUntil(command, folder, { ...env, PORT: "0" }, /"url":"(http:[^"]+)"/);
        const response = await fetch(`${match[1] ?? ""}/v1/bridges/volume/last_7d`);
        expect([response.status, await response.json()]).toEqual([200, [expect.any(Object)]]);
      } else {
        const { stdout } = await promisify(exec)(command, {
          cwd: folder,
          env: { PATH: process.env["PATH"], ...env },
        });
        if (command.includes("keys create")) expect(stdout).toContain("sk_live_");
      }
    }
    expect(commands.length).toBeGreaterThan(4);
  });
});
