/** The script of a worker process of `serve --workers`: it serves what the primary assigns, and ends with it. */
import cluster from "node:cluster";
import type { Socket } from "node:net";
import {
  type StartRamp,
  startWorkerService,
  type WorkerService,
  PrimaryLink,
} from "./cluster/worker-service.js";
import type { Assignment, ToWorker } from "./cluster/messages.js";
import { setV8Flags } from "./data-api/service.js";
import { flushLog } from "./http/logger.js";
setV8Flags();
const primary = new PrimaryLink();
let service: WorkerService | null = null;
/** Messages from before the service has started. */
const early: ToWorker[] = [];

// A terminal sends them to all processes at once; the primary decides.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
process.on("SIGTERM", () => primary.send({ kind: "leaving" }));

process.on("message", (message: ToWorker, socket?: Socket) => {
  if (message.kind === "start") void start(message.assignment);
  else if (service === null) wait(message);
  else follow(service, message, socket);
});

// Messages from before this file has run would be lost.
primary.send({ kind: "listening" });

/** Loaded only where it is served: it brings a queue, signatures and more. */
const startRamp: StartRamp = async (options, connections) => {
  const { startRampService } = await import("./ramp.js");
  return startRampService(options, connections);
};

async function start(assignment: Assignment): Promise<void> {
  try {
    service = await startWorkerService(assignment, cluster.worker?.id ?? 0, primary, startRamp);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return primary.send({ kind: "failed", detail }, () => process.exit(1));
  }
  for (const message of early) follow(service, message);
  primary.send({ kind: "ready" });
}

function wait(message: ToWorker): void {
  if (message.kind === "stop") process.exit(0);
  early.push(message);
}

/** In order: a connection that comes after a release is served from that release. */
function follow(own: WorkerService, message: ToWorker, socket?: Socket): void {
  switch (message.kind) {
    case "connection":
      return primary.take(message.id, socket);
    case "answer":
      return primary.responded(message);
    case "stop":
      return void leave(own);
    case "activate":
      if (own.role === "data")
        void own.activate(message.release).then((activation) => answer(message.id, activation));
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
  primary.send({ kind: "answer", id, value });
}

async function leave(own: WorkerService): Promise<void> {
  await own.stop();
  await flushLog();
  const end = (): void => process.exit(0);
  if (own.role === "data") primary.send({ kind: "metrics", snapshot: await own.metrics() }, end);
  else end();
}
