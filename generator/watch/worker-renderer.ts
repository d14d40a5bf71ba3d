import { Worker } from "node:worker_threads";
import type { ActiveManifest, RenderResult } from "@routewright/runtime/compile";
import type { ManifestRenderer } from "@routewright/runtime/server";
import type { RenderJobOptions, RenderWarning } from "./render-worker.js";

/** The bundled worker in the package's `dist/`: seen from the sources, or from a folder of the bundle. */
const WORKER = new URL(
  import.meta.url.endsWith(".ts") ? "../dist/render-worker.js" : "../render-worker.js",
  import.meta.url,
);

/** Renders in a worker thread that the first refresh starts. After a crash the next refresh starts another. */
export function workerRenderer(
  options: RenderJobOptions,
  onWarning: (detail: string) => void = () => undefined,
): ManifestRenderer {
  let worker: Worker | null = null;
  const start = (): Worker => {
    const started = new Worker(WORKER, { workerData: options });
    // A request in progress rejects (`requestFrom`); between requests an error only ends the thread.
    started.on("error", () => undefined);
    started.on("message", (message: RenderResult | RenderWarning) => {
      if (message.kind === "warning") onWarning(message.detail);
    });
    started.once("exit", () => (worker = worker === started ? null : worker));
    return started;
  };
  return {
    async render(active) {
      worker ??= start();
      return requestFrom(worker, active);
    },
    async close() {
      await worker?.terminate();
    },
  };
}

/**
 * Sends a request to the thread; rejects when the thread fails or ends. The listeners are removed afterwards: they would
 * keep every rendering in memory.
 */
function requestFrom(worker: Worker, active: ActiveManifest | null): Promise<RenderResult> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      worker.off("message", responded).off("error", failed).off("exit", ended);
      settle();
    };
    const responded = (message: RenderResult | RenderWarning): void => {
      if (message.kind !== "warning") finish(() => resolve(message));
    };
    const failed = (error: Error): void => finish(() => reject(error));
    const ended = (code: number): void =>
      finish(() => reject(new Error(`The rendering thread ended with code ${String(code)}.`)));
    worker.on("message", responded).on("error", failed).on("exit", ended);
    worker.postMessage(active);
  });
}
