import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll } from "vitest";
import { eventually } from "./world.js";
import { startEmbeddedPostgres } from "../../../runtime/embedded/embedded-postgres.js";

export interface OwnPostgres {
  readonly url: string;
  /** Stops it as an operator would, sessions cut off; it is started again on the same port by who holds it. */
  restart(): Promise<void>;
  /** Kills the server's first process; it is started again and recovers from its log. */
  crash(): Promise<void>;
}

/** What `pg_ctl stop` sends. It would wait, as long as the next server runs under the name of the one it has ended. */
const FAST_SHUTDOWN = "SIGINT";

/** A PostgreSQL server of a test file's own, to be treated badly. Removed at the end. */
export async function ownPostgres(): Promise<OwnPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), "ramp-postgres-"));
  const embedded = await startEmbeddedPostgres({ dataDir });
  const data = join(dataDir, "postgres", "data");
  afterAll(async () => {
    await embedded.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return {
    url: embedded.url,
    async restart() {
      await end(data, FAST_SHUTDOWN);
      await isBack(embedded.url);
    },
    async crash() {
      await end(data, "SIGKILL");
      await isBack(embedded.url);
    },
  };
}

/** Resolves once another server has taken its place. */
async function end(data: string, signal: NodeJS.Signals): Promise<void> {
  const pid = await serverPid(data);
  process.kill(Number(pid), signal);
  await eventually(
    () => serverPid(data).catch(() => pid),
    (now) => now !== pid,
    30_000,
  );
}

async function serverPid(data: string): Promise<string | undefined> {
  return (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")[0];
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
