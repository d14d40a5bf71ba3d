import { execFile } from "node:child_process";
import { mkdtemp, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll } from "vitest";
import { startEmbeddedPostgres } from "../../../runtime/warehouse/embedded/embedded-postgres.js";

export interface OwnPostgres {
  readonly url: string;
  /** Stops it as an operator would, sessions cut off; it is started again on the same port by who holds it. */
  restart(): Promise<void>;
  /** Kills the server's first process; it is started again and recovers from its log. */
  crash(): Promise<void>;
}

/** A PostgreSQL server of a test file's own, to be treated badly. Removed at the end. */
export async function ownPostgres(): Promise<OwnPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), "ramp-postgres-"));
  const embedded = await startEmbeddedPostgres({ dataDir });
  const data = join(dataDir, "postgres", "data");
  const first = await serverPid(data);
  const program = join(dirname(await readlink(`/proc/${String(first)}/exe`)), "pg_ctl");
  const { uid, gid } = await stat(data);
  // As root the server runs under an account that may have no way down to the folder: it works in it all the same.
  const directory = process.geteuid?.() === 0 ? "/proc/self/cwd" : data;
  const pgCtl = async (...args: readonly string[]): Promise<void> => {
    const all = [...args, "-D", directory, "-s", "-w"];
    const account = process.geteuid?.() === 0 ? { uid, gid } : {};
    await promisify(execFile)(program, all, { cwd: data, ...account });
  };
  afterAll(async () => {
    await pgCtl("stop", "-m", "immediate").catch(() => undefined);
    await embedded.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return {
    url: embedded.url,
    async restart() {
      await pgCtl("stop", "-m", "fast");
      await isBack(embedded.url);
    },
    async crash() {
      process.kill(await serverPid(data), "SIGKILL");
      await isBack(embedded.url);
    },
  };
}

async function serverPid(data: string): Promise<number> {
  return Number((await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")[0]);
}

/** Resolves once the server takes connections again. */
async function isBack(url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    const failure = await client.connect().then(
      () => null,
      (error: unknown) => error,
    );
    if (failure === null) return client.end();
    if (tries === 150) throw asError(failure);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
