/** The thread that renders: reading a large manifest would hold up every request on the event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { RenderJob, type RenderJobOptions } from "./render-job.js";

const job = new RenderJob(workerData as RenderJobOptions);

parentPort?.on("message", (inService: string | null) => {
  job.render(inService).then(
    (rendered) => parentPort?.postMessage(rendered),
    (error: unknown) => parentPort?.postMessage({ kind: "error", detail: String(error) }),
  );
});
