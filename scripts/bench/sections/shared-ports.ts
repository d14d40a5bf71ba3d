import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stopped } from "../../clickhouse/start-clickhouse.js";
import { createEndpoints, generateEndpoints, openDatabase, serveApi } from "../api.js";
import { type Figures, figureText, type Findings, type Setting } from "../figures.js";
import { generate, KEYS } from "../load.js";
import {
  childrenOf,
  connectionsOf,
  cpuSeconds,
  cpuSecondsWithChildren,
  type Server,
  startServer,
} from "../process.js";

/** Opened so many, so far apart: as callers that come one after the other. */
const OPENED = 24;
const APART_MS = 50;
const LOAD_MS = 4000;
const ENDPOINTS = 60;

/** A frozen worker is replaced after some seconds: the connections are counted before. */
const FROZEN_MS = 1000;

/** Ways to give connections to two workers: of Node with a server that does nothing, then Routewright's. */
export async function sharedPorts({ folder, keep, progress }: Setting): Promise<Findings> {
  const database = keep(await openDatabase(folder));
  await createEndpoints(database, ENDPOINTS);
  const api = await generateEndpoints(folder, ENDPOINTS);
  const bare = async (way: string): Promise<Server> => {
    const args = [resolve("scripts/bench/baselines/workers.js"), way];
    return keep(await startServer({ name: `workers, ${way}`, args, folder }));
  };
  const starts: Readonly<Record<string, () => Promise<Server>>> = {
    "one port, the kernel chooses": () => bare("shared"),
    "round robin of the first process": () => bare("robin"),
    ...(hasReusePort() && { "a port of each (`reusePort`)": () => bare("reuse") }),
    "`serve --workers 2`": async () => keep(await serveApi(api, database.url, {}, ["--workers", "2"])),
  };
  const rows: Record<string, Figures> = {};
  for (const [name, start] of Object.entries(starts)) {
    progress(`ports: connections, ${name}`);
    const server = await start();
    rows[name] = { ...(await distribution(server)), ...(await cost(server)) };
    await server.stop();
  }
  const head = [
    "way",
    "most of 24 kept connections",
    "of 24 new ones with a frozen worker",
    "first process, of the processor time of a new connection with its request",
  ];
  const cells = Object.entries(rows).map(([name, figures]) => [
    name,
    figureText(figures["most"]),
    figureText(figures["frozen"]),
    figureText(figures["first %"], "%"),
  ]);
  const title = "### Which worker gets a connection";
  return { tables: [{ title: "ports: two workers", rows }], page: [{ title, head, rows: cells }], bars: [] };
}

/** Node has it from 22.12 and 23.1 on. */
function hasReusePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 23 || (major === 22 && minor >= 12) || (major === 23 && minor >= 1);
}

async function distribution({ pid, port }: Server): Promise<Figures> {
  const workers = childrenOf(pid);
  const kept = await open(port);
  const most = Math.max(...workers.map((worker) => connectionsOf(worker, port)));
  for (const socket of kept) socket.destroy();
  await sleep(FROZEN_MS);
  const [frozen = 0] = workers;
  process.kill(frozen, "SIGSTOP");
  try {
    await stopped([frozen]);
    const sockets = await open(port);
    await sleep(APART_MS);
    const others = workers.slice(1).map((worker) => connectionsOf(worker, port));
    for (const socket of sockets) socket.destroy();
    return { most, frozen: Math.max(0, OPENED - others.reduce((sum, count) => sum + count, 0)) };
  } finally {
    process.kill(frozen, "SIGCONT");
  }
}

/** Kept connections, each with a request that may stay without a response. */
async function open(port: number): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < OPENED; i++) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    sockets.push(socket);
    await once(socket, "connect");
    socket.resume().write("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    await sleep(APART_MS);
  }
  return sockets;
}

/** A connection for each request. */
async function cost({ pid, port }: Server): Promise<Figures> {
  await sleep(FROZEN_MS);
  const read = () => ({ first: cpuSeconds(pid), all: cpuSecondsWithChildren(pid) });
  const before = read();
  const text = `GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${KEYS[0] ?? ""}\r\nConnection: close\r\n\r\n`;
  const { requests } = await generate(port, { requests: [text], connections: 32, milliseconds: LOAD_MS });
  const after = read();
  const all = after.all - before.all;
  return { "first %": (100 * (after.first - before.first)) / all, "CPU µs": (all * 1e6) / requests };
}
