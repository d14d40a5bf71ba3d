/** A process that makes load on the ramp, or writes without it: takes jobs from its parent, one at a time. */
import { writeBare } from "./bare.js";
import { createIntents } from "./create.js";
import type { Job, JobResult } from "./job.js";

function run(job: Job): Promise<JobResult> {
  switch (job.kind) {
    case "create":
      return createIntents(job);
    case "bare":
      return writeBare(job);
  }
}

process.on("message", (job: Job) => void run(job).then((result) => process.send?.(result)));
process.on("disconnect", () => process.exit());
