/** Entry of the rendering thread: on the main thread a large manifest would block the event loop. */
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import type { Rendered } from "@routewright/runtime/server";
import { RenderJob, type RenderJobOptions } from "./render-job.js";

// Requests have priority. On Linux a thread has its own priority, which esbuild inherits; elsewhere the process has.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_LOW);

const job = new RenderJob(workerData as RenderJobOptions);

parentPort?.on("message", (activeHash: string | null) => {
  job.render(activeHash).then(
    // The document of a large API takes long to copy: its memory moves to the main thread.
    (rendered) => parentPort?.postMessage(rendered, memoryOf(rendered)),
    (error: unknown) => parentPort?.postMessage({ kind: "error", detail: String(error) }),
  );
});

function memoryOf(rendered: Rendered): ArrayBuffer[] {
  return rendered.kind === "rendered" ? [rendered.rendering.openApi.buffer as ArrayBuffer] : [];
}
