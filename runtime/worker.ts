/** What a worker process of `serve --workers` runs: it does what the primary tells it, and ends with it. */
import cluster from "node:cluster";
import type { Socket } from "node:net";
import { type StartRamp, startWorkerService, type WorkerService } from "./cluster/worker-service.js";
import type { Assignment, ToWorker } from "./cluster/messages.js";
import { setV8Flags } from "./v8-flags.js";
import { flushLog } from "./http/logger.js";
import { PrimaryLink } from "./cluster/primary-link.js";

setV8Flags();
const primary = new PrimaryLink();
let duty: WorkerService | null = null;
/** What is told before there is a duty. */
const early: ToWorker[] = [];

// From a terminal they reach all processes at once: it is the primary that decides.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
process.on("SIGTERM", () => primary.tell({ kind: "leaving" }));

process.on("message", (message: ToWorker, socket?: Socket) => {
  if (message.kind === "start") void start(message.assignment);
  else if (duty === null) wait(message);
  else follow(duty, message, socket);
});

// Before this file has run, what is told would be lost.
primary.tell({ kind: "listening" });

/** Loaded only where it is served: it brings a queue, signatures and more. */
const startRamp: StartRamp = async (options, connections) => {
  const { startRampService } = await import("./ramp.js");
  return startRampService(options, connections);
};

async function start(assignment: Assignment): Promise<void> {
  try {
    duty = await startWorkerService(assignment, cluster.worker?.id ?? 0, primary, startRamp);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return primary.tell({ kind: "failed", detail }, () => process.exit(1));
  }
  for (const message of early) follow(duty, message);
  primary.tell({ kind: "ready" });
}

function wait(message: ToWorker): void {
  if (message.kind === "drain") process.exit(0);
  early.push(message);
}

/** Messages are followed in their order: a connection that comes behind an edition is answered from that one. */
function follow(own: WorkerService, message: ToWorker, socket?: Socket): void {
  switch (message.kind) {
    case "connection":
      return primary.take(message.id, socket);
    case "answer":
      return primary.answered(message);
    case "drain":
      return void leave(own);
    case "adopt":
      if (own.role === "data")
        void own.adopt(message.edition).then((adoption) => answer(message.id, adoption));
      return;
    case "built":
      if (own.role === "data") own.built(message.builds, message.tests);
      return;
    case "metrics":
      if (own.role === "data") void own.metrics().then((snapshot) => answer(message.id, snapshot));
      return;
    case "ping":
      return answer(message.id, true);
    case "start":
      return;
  }
}

function answer(id: number, value: unknown): void {
  primary.tell({ kind: "answer", id, value });
}

async function leave(own: WorkerService): Promise<void> {
  await own.stop();
  await flushLog();
  const end = (): void => process.exit(0);
  if (own.role === "data") primary.tell({ kind: "metrics", snapshot: await own.metrics() }, end);
  else end();
}
