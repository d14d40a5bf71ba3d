/** What a server is measured with: PgBouncer, Redis, a replica of PostgreSQL and a TCP balancer. Each is null where its program is not installed. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { findBinaries, program } from "../../runtime/postgres/embedded/binaries.js";
import { dataArguments } from "../../runtime/postgres/embedded/cluster.js";
import { freePort } from "../clickhouse/start-clickhouse.js";

/** A running program. */
export interface Service {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const isInstalled = (name: string): boolean => spawnSync(name, ["--version"]).error === undefined;

async function stopOf(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

function serviceOf(child: ChildProcess, url: string, signal: NodeJS.Signals): Service {
  process.once("exit", () => child.kill("SIGKILL"));
  return { url, pid: child.pid ?? 0, stop: () => stopOf(child, signal) };
}

export async function startRedis(): Promise<Service | null> {
  if (!isInstalled("redis-server")) return null;
  const port = String(await freePort());
  const args = ["--port", port, "--bind", "127.0.0.1", "--save", ""];
  const child = spawn("redis-server", args, { stdio: "ignore" });
  return serviceOf(child, `redis://127.0.0.1:${port}`, "SIGTERM");
}

/** PgBouncer in transaction mode in front of a database, with the sessions that a server opens by itself. */
export async function startPgBouncer(folder: string, databaseUrl: string): Promise<Service | null> {
  if (!isInstalled("pgbouncer")) return null;
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o777);
  const { port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const port = String(await freePort());
  const users = join(folder, "users.txt");
  writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`);
  const settings = {
    ...{ listen_addr: "127.0.0.1", listen_port: port, unix_socket_dir: "", auth_type: "plain" },
    ...{ auth_file: users, pool_mode: "transaction", default_pool_size: "20", max_client_conn: "200" },
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]\n* = host=127.0.0.1 port=${databasePort}\n[pgbouncer]\n${lines.join("\n")}\n`,
  );
  // It refuses to run as root.
  const account = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn("pgbouncer", [...account, file], { stdio: "ignore" });
  const url = `postgres://${username}:${password}@127.0.0.1:${port}${pathname}?sslmode=disable`;
  const service = serviceOf(child, url, "SIGQUIT");
  await answers(url);
  return service;
}

async function answers(url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const client = new pg.Client({ connectionString: url });
    const failure = await client
      .connect()
      .then(() => client.query("SELECT 1"))
      .then(
        () => null,
        (error: unknown) => error,
      );
    await client.end().catch(() => null);
    if (failure === null) return;
    if (tries === 200) throw failure as Error;
    await sleep(100);
  }
}

/** A replica that follows the PostgreSQL at `primaryUrl`, from a copy of its cluster (`copyCluster`), with settings of its own. */
export async function startReplica(
  folder: string,
  primaryUrl: string,
  settings: Readonly<Record<string, string>>,
): Promise<Service> {
  const directory = join(folder, "postgres");
  const { port: primaryPort, username, password } = new URL(primaryUrl);
  const source = `host=127.0.0.1 port=${primaryPort} user=${username} password=${password} sslmode=disable application_name=replica`;
  const port = String(await freePort());
  const data = join(directory, "data");
  appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${source}'\n`);
  writeFileSync(join(data, "standby.signal"), "");
  rmSync(join(data, "postmaster.pid"), { force: true });
  const binaries = await findBinaries(directory);
  const { account } = binaries;
  if (account) chownSync(join(data, "standby.signal"), account.uid, account.gid);
  const all = { port, unix_socket_directories: "", ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = spawn(program(binaries, "postgres"), [...dataArguments({ directory, binaries }), ...flags], {
    ...account,
    cwd: data,
    env: { LC_ALL: "C", TZ: "UTC" },
    stdio: "ignore",
  });
  const url = Object.assign(new URL(primaryUrl), { port }).href;
  const service = serviceOf(child, url, "SIGINT");
  await answers(url);
  return service;
}

/** Copies the folder of a PostgreSQL that does not run. */
export function copyCluster(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  // With owners and modes: PostgreSQL refuses a folder of another account.
  const { status } = spawnSync("cp", ["-a", join(from, "postgres"), join(to, "postgres")]);
  if (status !== 0) throw new Error(`${from} was not copied.`);
}

/** A TCP balancer: each connection goes to the next port that accepts it. `first`: always to the first that does. */
export async function startBalancer(ports: readonly number[], first = false) {
  let count = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const start = first ? 0 : count++;
    const open = (tries: number): void => {
      const node = connect(ports[(start + tries) % ports.length] ?? 0, "127.0.0.1");
      const next = (): void => {
        if (tries + 1 < ports.length) open(tries + 1);
        else client.destroy();
      };
      node.once("error", next).once("connect", () => {
        node.off("error", next);
        joinSockets(client, node);
      });
    };
    client.on("error", () => undefined);
    open(0);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { readonly port: number };
  return { port, stop: () => Promise.resolve(void server.close()) };
}

function joinSockets(client: Socket, node: Socket): void {
  node.on("error", () => client.destroy()).on("close", () => client.destroy());
  client.on("error", () => node.destroy()).on("close", () => node.destroy());
  client.pipe(node).pipe(client);
}
