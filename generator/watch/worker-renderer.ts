import { once } from "node:events";
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
    started.once("exit", () => (worker = worker === started ? null : worker));
    return started;
  };
  return {
    async render(inService) {
      worker ??= start();
      const answer = once(worker, "message") as Promise<[Rendered]>;
      worker.postMessage(inService);
      const [rendered] = await Promise.race([answer, died(worker)]);
      return rendered;
    },
    async close() {
      await worker?.terminate();
    },
  };
}

/** `once` rejects with the error of a thread that fails; one that just ends has no error of its own. */
async function died(worker: Worker): Promise<never> {
  const [code] = (await once(worker, "exit")) as [number];
  throw new Error(`The rendering thread ended with code ${String(code)}.`);
}
