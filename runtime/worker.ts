/** The script of a worker process of `serve --workers`: it serves what the primary assigns, and ends with the primary. */
import cluster from "node:cluster";
import type { Socket } from "node:net";
import { type StartRamp, startWorkerService, type WorkerService, PrimaryLink } from "./worker-service.js";
import type { Assignment, ToWorker } from "./operations/workers/messages.js";
import { setV8Flags } from "./data-service.js";
import { flushLog } from "./server/logger.js";
import { messageOf } from "./model/error-message.js";

setV8Flags();
const primary = new PrimaryLink();
let service: WorkerService | null = null;
/** Messages that arrived before the service has started. */
const pending: ToWorker[] = [];

// A terminal sends these signals to all processes; the primary stops its workers.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
process.on("SIGTERM", () => primary.send({ kind: "leaving" }));

process.on("message", (message: ToWorker, socket?: Socket) => {
  if (message.kind === "start") void start(message.assignment);
  else if (service === null) enqueue(message);
  else handle(service, message, socket);
});

// Messages sent before this file has run are lost: the primary waits for this one.
primary.send({ kind: "listening" });

/** Loaded only where the ramp is served: it has many dependencies. */
const startRamp: StartRamp = async (options, connections) => {
  const { startRampService } = await import("./ramp.js");
  return startRampService(options, connections);
};

async function start(assignment: Assignment): Promise<void> {
  try {
    service = await startWorkerService(assignment, cluster.worker?.id ?? 0, primary, startRamp);
  } catch (error) {
    const detail = messageOf(error);
    return primary.send({ kind: "failed", detail }, () => process.exit(1));
  }
  for (const message of pending) handle(service, message);
  primary.send({ kind: "ready" });
}

function enqueue(message: ToWorker): void {
  if (message.kind === "stop") process.exit(0);
  pending.push(message);
}

/** Messages are handled in order: a connection that arrives after a release is served from it. */
function handle(running: WorkerService, message: ToWorker, socket?: Socket): void {
  switch (message.kind) {
    case "connection":
      return primary.accept(message.id, socket);
    case "response":
      return primary.responded(message);
    case "stop":
      return void stop(running);
    case "activate":
      if (running.role === "data")
        void running.activate(message.release).then((activation) => respond(message.id, activation));
      return;
    case "built":
      if (running.role === "data") running.recordBuilds(message.builds, message.tests);
      return;
    case "metrics":
      if (running.role === "data") void running.metrics().then((snapshot) => respond(message.id, snapshot));
      return;
    case "ping":
      return respond(message.id, true);
    case "start":
      return;
  }
}

function respond(id: number, value: unknown): void {
  primary.send({ kind: "response", id, value });
}

async function stop(running: WorkerService): Promise<void> {
  await running.stop();
  await flushLog();
  const end = (): void => process.exit(0);
  if (running.role === "data") primary.send({ kind: "metrics", snapshot: await running.metrics() }, end);
  else end();
}
