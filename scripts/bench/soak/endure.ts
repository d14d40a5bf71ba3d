import { readdirSync } from "node:fs";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Server } from "../children.js";
import { residentBytes } from "../resident-memory.js";
import { ask, type Asked } from "./mix.js";
import { refresh } from "./scene.js";
import type { Sample } from "./slope.js";

const CALIBRATION_MS = 10_000;
const CONNECTIONS = 50;
const REFRESH_MS = 10_000;
const SAMPLE_MS = 1000;
const TICK_MS = 5;

/** Requests of the mix that are answered in a second when as many as the connections are under way all the time. */
export async function carried({ port }: Server): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const ends = performance.now() + CALIBRATION_MS;
  let sent = 0;
  const converse = async (): Promise<void> => {
    while (performance.now() < ends) await ask(port, sent++, agent);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, converse));
  agent.destroy();
  return (sent * 1000) / CALIBRATION_MS;
}

/** What a long time under load has shown. */
export interface Endured {
  readonly asked: ReadonlyMap<string, { count: number; faults: number; slowest: number }>;
  readonly faults: readonly string[];
  readonly memory: readonly Sample[];
  readonly descriptors: readonly Sample[];
  readonly refreshes: number;
}

/** Keeps the rate up for a time, with a refresh every ten seconds. */
export async function endure(
  server: Server,
  api: string,
  rate: number,
  milliseconds: number,
  progress: (line: string) => void,
): Promise<Endured> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 * CONNECTIONS });
  const asked = new Map<string, { count: number; faults: number; slowest: number }>();
  const faults: string[] = [];
  const note = ({ kind, fault, milliseconds: took }: Asked): void => {
    const of = asked.get(kind) ?? { count: 0, faults: 0, slowest: 0 };
    asked.set(kind, {
      count: of.count + 1,
      faults: of.faults + (fault === null ? 0 : 1),
      slowest: Math.max(of.slowest, took),
    });
    if (fault !== null && faults.length < 20) faults.push(fault);
  };
  const samples = { memory: [] as Sample[], descriptors: [] as Sample[] };
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  const isOver = (): boolean => elapsed() > milliseconds;
  const watch = setInterval(() => {
    const at = elapsed() / 1000;
    samples.memory.push({ at, value: residentBytes(server.pid) / 1024 / 1024 });
    samples.descriptors.push({ at, value: descriptorsOf(server.pid) });
  }, SAMPLE_MS);
  const tell = setInterval(() => {
    const last = samples.memory.at(-1)?.value.toFixed(0) ?? "?";
    progress(`soak: ${(elapsed() / 60_000).toFixed(0)} min, ${last} MiB, ${String(faults.length)} faults`);
  }, 60_000);
  const refreshing = (async () => {
    let round = 1;
    for (; !isOver(); round++) {
      await refresh(server, api, round);
      await sleep(Math.min(REFRESH_MS, Math.max(0, milliseconds - elapsed())));
    }
    return round;
  })();
  const pending = new Set<Promise<void>>();
  for (let sent = 0; !isOver(); await sleep(TICK_MS)) {
    for (const due = (elapsed() / 1000) * rate; sent < due; sent++) {
      const call = ask(server.port, sent, agent).then(note);
      pending.add(call);
      void call.finally(() => pending.delete(call));
    }
  }
  await Promise.all(pending);
  const refreshes = await refreshing;
  clearInterval(watch);
  clearInterval(tell);
  agent.destroy();
  return { asked, faults, ...samples, refreshes };
}

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${String(pid)}/fd`).length;
}
