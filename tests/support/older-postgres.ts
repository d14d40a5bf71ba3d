import { execFile, spawn } from "node:child_process";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { atEnd } from "./at-end.js";
import { queryAt } from "./database.js";
import { freePort } from "./port.js";
import { needs, programPath } from "./needs.js";
import { stopOf } from "./processes.js";

export const hasOlderPostgres = needs("initdb");

/** The account `nobody`: PostgreSQL refuses to run as root. */
const ACCOUNT = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Starts a PostgreSQL of Debian, ended with the test file, and returns its address. `more`: settings of the server. */
export async function startOlderPostgres(more: readonly string[] = []): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "postgres-"));
  const password = join(folder, "password");
  writeFileSync(password, "secret");
  if (ACCOUNT.uid !== undefined)
    for (const path of [folder, password]) chownSync(path, ACCOUNT.uid, ACCOUNT.gid);
  const data = join(folder, "data");
  const options = [
    "-U",
    "postgres",
    "-E",
    "UTF8",
    "--locale=C.UTF-8",
    "-A",
    "scram-sha-256",
    `--pwfile=${password}`,
  ];
  await promisify(execFile)(programPath("initdb"), ["-D", data, "-N", ...options], {
    ...ACCOUNT,
    cwd: folder,
  });
  const port = await freePort();
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", ...more];
  const server = spawn(
    join(dirname(programPath("initdb")), "postgres"),
    ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
    { ...ACCOUNT, cwd: folder, stdio: "ignore" },
  );
  const stop = stopOf(server, "SIGINT");
  atEnd(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `postgres://postgres:secret@127.0.0.1:${String(port)}/postgres`;
  for (let attempts = 0; ; attempts++)
    try {
      await queryAt(url, "SELECT 1");
      return url;
    } catch (error) {
      if (attempts === 900) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
}
