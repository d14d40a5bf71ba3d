/** The load generator's process: takes jobs from its parent, one at a time, and answers with what came of each. */
import { converse } from "./connection.js";
import type { Job, JobResult } from "./job.js";
import { Tally } from "./tally.js";

/** What goes wrong is counted, never thrown. */
async function run(job: Job): Promise<JobResult> {
  const tally = new Tally(job);
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: job.connections }, (_, i) => converse(job.port, tally, i)));
  const { user, system } = process.cpuUsage(before);
  return tally.result((user + system) / 1000);
}

process.on("message", (job: Job) => void run(job).then((result) => process.send?.(result)));
process.on("disconnect", () => process.exit());
