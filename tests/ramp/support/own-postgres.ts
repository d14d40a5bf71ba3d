import { execFile } from "node:child_process";
import { mkdtemp, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll } from "vitest";
import { startEmbeddedPostgres } from "../../../runtime/warehouse/embedded/embedded-postgres.js";

export interface OwnPostgres {
  readonly url: string;
  /** Stops it as an operator would, sessions cut off, and starts it again on the same port. */
  restart(): Promise<void>;
  /** Kills the server's first process, and starts it again: it recovers from its log. */
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
  const port = new URL(embedded.url).port;
  // As root the server runs under an account that may have no way down to the folder: it works in it all the same.
  const directory = process.geteuid?.() === 0 ? "/proc/self/cwd" : data;
  const pgCtl = async (...args: readonly string[]): Promise<void> => {
    const all = [...args, "-D", directory, "-s", "-w"];
    const account = process.geteuid?.() === 0 ? { uid, gid } : {};
    await promisify(execFile)(program, all, { cwd: data, ...account });
  };
  const start = (): Promise<void> => pgCtl("start", "-l", "/dev/null", "-o", `-p ${port}`);
  afterAll(async () => {
    await pgCtl("stop", "-m", "immediate").catch(() => undefined);
    await embedded.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return {
    url: embedded.url,
    async restart() {
      await pgCtl("stop", "-m", "fast");
      await start();
    },
    async crash() {
      process.kill(await serverPid(data), "SIGKILL");
      // Its children notice by themselves, and until they are gone their memory is in the way.
      for (let tries = 0; ; tries++) {
        const failure = await start().then(() => null, asError);
        if (failure === null) return;
        if (tries === 20) throw failure;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    },
  };
}

async function serverPid(data: string): Promise<number> {
  return Number((await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")[0]);
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
