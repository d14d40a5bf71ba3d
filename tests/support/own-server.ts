import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { appendFile, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { stopped } from "../../scripts/clickhouse/start-clickhouse.js";
import { atEnd } from "./at-end.js";
import { queryAt } from "./database.js";
import { childrenOf, isAlive } from "./processes.js";
import { freePort } from "./port.js";
import { findBinaries, program } from "../../runtime/postgres/embedded/binaries.js";
import {
  type Cluster,
  createCluster,
  dataArguments,
  SUPERUSER,
} from "../../runtime/postgres/embedded/cluster.js";

/** Signals of PostgreSQL's first process that ask it to end. */
const STOP = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

/**
 * A PostgreSQL server of a test file's own, to be treated badly: a child of this process, so that no signal can meet
 * another's. Linux only, where `/proc` lists its processes.
 */
export class OwnServer {
  readonly port: number;
  readonly url: string;
  readonly #cluster: Cluster;
  #process: ChildProcess | null = null;

  private constructor(cluster: Cluster, port: number) {
    this.#cluster = cluster;
    this.port = port;
    const password = readFileSync(join(cluster.directory, "password"), "utf8");
    this.url = `postgres://${SUPERUSER}:${password}@127.0.0.1:${String(port)}/postgres?sslmode=disable`;
  }

  /** A new and empty server, running; it is gone at the end of the test, or of the file. `parent`: a folder for it. */
  static async create(parent = tmpdir()): Promise<OwnServer> {
    const folder = await mkdtemp(join(parent, "own-server-"));
    const directory = join(folder, "postgres");
    const cluster = { directory, binaries: await findBinaries(directory) };
    await createCluster(cluster);
    return OwnServer.#run(cluster, folder);
  }

  static async #run(cluster: Cluster, folder: string): Promise<OwnServer> {
    const server = new OwnServer(cluster, await freePort());
    atEnd(async () => {
      await server.kill();
      await rm(folder, { recursive: true, force: true });
    });
    await server.start();
    return server;
  }

  /** A replica of it, which follows it. It is stopped for a moment. */
  async standby(parent = tmpdir()): Promise<OwnServer> {
    const folder = await mkdtemp(join(parent, "own-standby-"));
    const directory = join(folder, "postgres");
    await this.stop("fast");
    await promisify(execFile)("cp", ["-a", this.#cluster.directory, directory]);
    await this.start();
    const { username, password } = new URL(this.url);
    const source = `host=127.0.0.1 port=${String(this.port)} user=${username} password=${password} sslmode=disable`;
    await appendFile(
      join(directory, "data", "postgresql.auto.conf"),
      `primary_conninfo = '${source}'\nmax_standby_streaming_delay = 0\n`,
    );
    await writeFile(join(directory, "data", "standby.signal"), "");
    return OwnServer.#run({ ...this.#cluster, directory }, folder);
  }

  /** Runs SQL and returns the rows of the last statement. */
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]> {
    return queryAt(this.url, sql, values);
  }

  /** Also the folder of its Unix socket. */
  get dataFolder(): string {
    return join(this.#cluster.directory, "data");
  }

  get #log(): string {
    return join(this.#cluster.directory, "postgres.log");
  }

  /** How often its log says something. */
  logged(text: string): number {
    return readFileSync(this.#log, "utf8").split(text).length - 1;
  }

  /** Starts it unless it runs, and waits until it answers. */
  async start(): Promise<void> {
    if (this.#process !== null) return;
    const { binaries } = this.#cluster;
    const output = await open(this.#log, "a");
    // What a server that is there to be broken holds is never worth keeping.
    const settings = [`port=${String(this.port)}`, "fsync=off", "unix_socket_directories=."].flatMap(
      (setting) => ["-c", setting],
    );
    const child = spawn(program(binaries, "postgres"), [...dataArguments(this.#cluster), ...settings], {
      ...binaries.account,
      cwd: this.dataFolder,
      env: { LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", output.fd, output.fd],
      detached: true,
    });
    await output.close();
    this.#process = child;
    for (let tries = 0; child.exitCode === null && child.signalCode === null; tries++) {
      const failure = await this.query("SELECT 1").then(() => null, asError);
      if (failure === null) return;
      if (tries === 300) throw failure;
      await sleep(100);
    }
    throw new Error(`PostgreSQL did not start: ${readFileSync(this.#log, "utf8").slice(-1000)}`);
  }

  /** Ends it as its operator would: `fast` cuts sessions off, `immediate` recovers at the next start. */
  async stop(mode: keyof typeof STOP): Promise<void> {
    this.#process?.kill(STOP[mode]);
    await this.#gone();
  }

  /** Ends all of its processes as a power failure would. May be called again, or when it does not run. */
  async kill(): Promise<void> {
    const children = this.#children();
    this.#process?.kill("SIGKILL");
    for (const pid of children) signal(pid, "SIGKILL");
    await this.#gone();
    // Until they are gone their shared memory is in the way of the next start.
    for (let tries = 0; children.some(isAlive) && tries < 100; tries++) await sleep(20);
  }

  /** Stops all of its processes in their tracks: it neither answers nor closes a connection. */
  async freeze(): Promise<void> {
    const own = this.#process?.pid;
    const pids = [...(own === undefined ? [] : [own]), ...this.#children()];
    for (const pid of pids) signal(pid, "SIGSTOP");
    await stopped(pids);
  }

  thaw(): void {
    for (const pid of this.#children()) signal(pid, "SIGCONT");
    this.#process?.kill("SIGCONT");
  }

  async #gone(): Promise<void> {
    const child = this.#process;
    if (child !== null && child.exitCode === null && child.signalCode === null) await once(child, "exit");
    this.#process = null;
  }

  #children(): readonly number[] {
    const parent = this.#process?.pid;
    return parent === undefined ? [] : childrenOf(parent);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
