import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile, open } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const inRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Installs the server: `npm install --prefix .data/clickhouse chdb@3.4.0`. Its entry point is internal: the version is pinned. */
export const CLICKHOUSE_INSTALL = "npm install --prefix .data/clickhouse chdb@3.4.0";

/** Where that puts the library with the server. */
export const CLICKHOUSE_LIBRARY = inRoot(".data/clickhouse/node_modules/@chdb/lib-linux-x64-gnu/libchdb.so");

/** The library, or the one that `LIBCHDB_SO_PATH` names; null where it is not installed. */
export function clickhouseLibrary(): string | null {
  const path = process.env["LIBCHDB_SO_PATH"] ?? CLICKHOUSE_LIBRARY;
  return existsSync(path) ? path : null;
}

export interface ClickhouseOptions {
  /** Data of the server; one server per folder. */
  readonly folder: string;
  readonly httpPort?: number;
  readonly tcpPort?: number;
  /** TCP ports of the servers of the cluster `shards`. */
  readonly shards?: readonly number[];
  /** Settings of all of its users that no profile sets. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A ClickHouse server of the npm package chdb: a child of this process, on the loopback address. Linux only. */
export class ClickhouseServer {
  readonly httpPort: number;
  readonly tcpPort: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, httpPort: number, tcpPort: number) {
    this.#child = child;
    this.httpPort = httpPort;
    this.tcpPort = tcpPort;
  }

  static async start(options: ClickhouseOptions): Promise<ClickhouseServer> {
    const library = clickhouseLibrary();
    if (library === null) throw new Error(`ClickHouse is not installed: run ${CLICKHOUSE_INSTALL}.`);
    const { folder, httpPort = await freePort(), tcpPort = await freePort(), shards = [] } = options;
    const own = Object.entries(options.settings ?? {}).map(([name, value]) => `--${name}=${value}`);
    await mkdir(folder, { recursive: true });
    const config = join(folder, "config.xml");
    await writeFile(config, configOf(shards));
    const log = await open(join(folder, "server.log"), "a");
    const args = [
      `--path=${join(folder, "data")}`,
      "--listen_host=127.0.0.1",
      `--http_port=${String(httpPort)}`,
      `--tcp_port=${String(tcpPort)}`,
      `--config-file=${config}`,
      `--query=${SERVE}`,
      ...own,
    ];
    const child = spawn("python3", [inRoot("scripts/clickhouse/server.py"), library, ...args], {
      stdio: ["ignore", log.fd, log.fd],
      detached: true,
    });
    await log.close();
    const server = new ClickhouseServer(child, httpPort, tcpPort);
    await server.#waitUntilReady(join(folder, "server.log"));
    return server;
  }

  /** Address of a user; by default of the one that owns everything. */
  url(database = "default", user = "default:"): string {
    return `clickhouse://${user}@127.0.0.1:${String(this.httpPort)}/${database}`;
  }

  /** Runs SQL as the owner. Resolves with the text of the result. */
  query(sql: string, settings: Readonly<Record<string, string>> = {}): Promise<string> {
    return queryClickhouse(this.url(), sql, settings);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Stops its threads: it neither answers nor closes a connection. */
  async freeze(): Promise<void> {
    this.#child.kill("SIGSTOP");
    await stopped([Number(this.#child.pid)]);
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  /** Ends it as a power failure does. May be called again. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  async #waitUntilReady(log: string): Promise<void> {
    for (let tries = 0; this.#child.exitCode === null && tries < 600; tries++) {
      if ((await this.query("SELECT 1").catch(() => null)) !== null) return;
      await pause(50);
    }
    await this.kill();
    throw new Error(`ClickHouse did not start: ${(await readFile(log, "utf8")).slice(-1000)}`);
  }
}

/** Runs SQL through the HTTP interface. Rejects with the server's message. */
export async function queryClickhouse(
  url: string,
  sql: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { protocol, hostname, port, pathname, username, password } = new URL(url);
  const parameters = new URLSearchParams({ database: pathname.slice(1) || "default", ...settings });
  const [scheme, usual] = protocol === "clickhouses:" ? ["https", "8443"] : ["http", "8123"];
  const response = await fetch(`${scheme}://${hostname}:${port || usual}/?${parameters.toString()}`, {
    method: "POST",
    body: sql,
    headers: {
      "X-ClickHouse-User": decodeURIComponent(username),
      "X-ClickHouse-Key": decodeURIComponent(password),
    },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${text.trim()} in ${sql.slice(0, 500)}`);
  return text;
}

/** The server runs until this query ends: chdb's entry point is the one of `clickhouse-local`. */
const SERVE =
  "SYSTEM START LISTEN HTTP; SYSTEM START LISTEN TCP; SELECT sleepEachRow(1) FROM numbers(31536000) SETTINGS max_block_size=1 FORMAT Null";

/** Each time that the log is written takes 20 ms of a processor. Who reads it asks for it (`SYSTEM FLUSH LOGS`). */
const LOG_MS = 60_000;

function configOf(shards: readonly number[]): string {
  const replicas = shards.map(
    (port) => `<shard><replica><host>127.0.0.1</host><port>${String(port)}</port></replica></shard>`,
  );
  const cluster =
    shards.length > 0 ? `<remote_servers><shards>${replicas.join("")}</shards></remote_servers>` : "";
  return `<clickhouse>
  <logger><level>warning</level><console>0</console></logger>
  <users_config>${inRoot("scripts/clickhouse/users.xml")}</users_config>
  ${cluster}
  <access_control_improvements><select_from_system_db_requires_grant>true</select_from_system_db_requires_grant></access_control_improvements>
  <query_log><database>system</database><table>query_log</table><flush_interval_milliseconds>${String(LOG_MS)}</flush_interval_milliseconds></query_log>
</clickhouse>`;
}

/**
 * A port that nobody listens on, below those that the system gives to sockets without a wish: none of them takes it before its
 * server listens, or while that is started again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
        return false;
      },
    );
    if (isFree) await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
  }
}

/**
 * Waits until all threads of processes have stopped: after SIGSTOP a thread runs on until it takes notice. One that has ended stays
 * (`Z`) while its parent is stopped.
 */
export async function stopped(pids: readonly number[]): Promise<void> {
  const isStopped = (pid: number): boolean =>
    readdirSync(`/proc/${String(pid)}/task`).every((thread) =>
      /^State:\s+[TZ]/m.test(readFileSync(`/proc/${String(pid)}/task/${thread}/status`, "utf8")),
    );
  while (!pids.every(isStopped)) await pause(1);
}
