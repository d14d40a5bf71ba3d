import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { eventually } from "./world.js";
import { startEmbeddedPostgres } from "../../../runtime/embedded/embedded-postgres.js";

export interface OwnPostgres {
  readonly url: string;
  /** Stops it as an operator would, sessions cut off, and starts it again on the same port. */
  restart(): Promise<void>;
  /** Kills the server's first process and starts it again: it recovers from its log. */
  crash(): Promise<void>;
}

/** What `pg_ctl stop` sends. */
const FAST_SHUTDOWN = "SIGINT";

/** A PostgreSQL server of a test file's own, to be treated badly. Removed at the end. */
export async function ownPostgres(): Promise<OwnPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), "ramp-postgres-"));
  const uses = [await startEmbeddedPostgres({ dataDir })];
  const url = uses[0]?.url ?? "";
  const startAfter = async (signal: NodeJS.Signals): Promise<void> => {
    const pidFile = join(dataDir, "postgres", "data", "postmaster.pid");
    const pid = Number((await readFile(pidFile, "utf8")).split("\n")[0]);
    process.kill(pid, signal);
    await eventually(
      () => Promise.resolve(isAlive(pid)),
      (alive) => !alive,
      30_000,
    );
    uses.push(await startEmbeddedPostgres({ dataDir }));
    if (uses.at(-1)?.url !== url) throw new Error("The port was taken in between.");
  };
  afterAll(async () => {
    for (const use of uses) await use.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { url, restart: () => startAfter(FAST_SHUTDOWN), crash: () => startAfter("SIGKILL") };
}

/** Zombies excluded: their parent may never wait for them. */
function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${String(pid)}/stat`, "utf8").includes("(postgres) Z");
  } catch {
    return false;
  }
}
