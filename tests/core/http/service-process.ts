/**
 * The data API in a process of its own, which reports to its parent how requests affect it: `reset` begins a measurement, and
 * `read` is answered with a `Reading`. The environment is the service's; `GENERATED` and `DATA` are its folders.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { readEnvironment } from "../../../runtime/server/operations/environment.js";
import { startService } from "../../../runtime/server/server.js";

/** What has happened since the last `reset`. */
export interface Reading {
  /** Milliseconds of processor time. */
  readonly processorMs: number;
  /** Longest time for which nothing else could be done, in milliseconds. */
  readonly blockedMs: number;
  /** Bytes of memory in use after a collection, beside those in use before. */
  readonly keptBytes: number;
}

const reading = readEnvironment(process.env);
if (!reading.ok) throw new Error(reading.problems.join("\n"));
const { GENERATED: generated = "", DATA: dataDir = "" } = process.env;
const service = await startService({ environment: reading.value.environment, generated, dataDir });

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let before = { cpu: process.cpuUsage(), bytes: 0 };

/** What a collection finds dead outside of the heap, buffers and handles of Node, is counted as free after the next one. */
function usedBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function reset(): void {
  const bytes = usedBytes();
  before = { cpu: process.cpuUsage(), bytes };
  delay.reset();
}

function read(): Reading {
  const { user, system } = process.cpuUsage(before.cpu);
  const blockedMs = delay.max / 1e6;
  return { processorMs: (user + system) / 1000, blockedMs, keptBytes: usedBytes() - before.bytes };
}

process.on("message", (message) => {
  if (message === "reset") reset();
  process.send?.(message === "read" ? read() : "done");
});
process.on("disconnect", () => process.exit(0));
reset();
process.send?.(service.url);
