import { Worker } from "node:worker_threads";
import type { Rendered, Renderer } from "@routewright/runtime/server";
import type { RenderJobOptions } from "./render-job.js";

/** The bundled worker, in the package's `dist/`, for the sources and the bundle alike. */
const WORKER = new URL(import.meta.url.replace(/^(.*\/generator\/).*$/, "$1dist/render-worker.js"));

/** Renders in a thread of its own, started at the first refresh. A thread that dies is replaced at the next one. */
export function workerRenderer(options: RenderJobOptions): Renderer {
  let worker: Worker | null = null;
  const start = (): Worker => {
    const started = new Worker(WORKER, { workerData: options });
    // Whoever waits for an answer is told; between two of them nobody is, and the thread ends.
    started.on("error", () => undefined);
    started.once("exit", () => (worker = worker === started ? null : worker));
    return started;
  };
  return {
    async render(inService) {
      worker ??= start();
      return askedOf(worker, inService);
    },
    async close() {
      await worker?.terminate();
    },
  };
}

/**
 * What the thread answers; rejects when it fails or ends instead. Nothing stays behind on the thread: it lives on, and would
 * keep every rendering that it ever gave.
 */
function askedOf(worker: Worker, inService: string | null): Promise<Rendered> {
  return new Promise((resolve, reject) => {
    const settled = (settle: () => void): void => {
      worker.off("message", answered).off("error", failed).off("exit", ended);
      settle();
    };
    const answered = (rendered: Rendered): void => settled(() => resolve(rendered));
    const failed = (error: Error): void => settled(() => reject(error));
    const ended = (code: number): void =>
      settled(() => reject(new Error(`The rendering thread ended with code ${String(code)}.`)));
    worker.on("message", answered).on("error", failed).on("exit", ended);
    worker.postMessage(inService);
  });
}
