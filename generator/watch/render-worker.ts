/** The thread that renders: reading a large manifest would hold up every request on the event loop. */
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { RenderJob, type RenderJobOptions } from "./render-job.js";

// Requests go first. On Linux the priority is the thread's own, and its compiler inherits it; elsewhere it would be the
// whole process's.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_LOW);

const job = new RenderJob(workerData as RenderJobOptions);

parentPort?.on("message", (inService: string | null) => {
  job.render(inService).then(
    (rendered) => parentPort?.postMessage(rendered),
    (error: unknown) => parentPort?.postMessage({ kind: "error", detail: String(error) }),
  );
});
