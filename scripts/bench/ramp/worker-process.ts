import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Job, JobResult } from "./job.js";

/** The process that makes the load, so that it and the server under test do not wait for each other. */
export class Worker {
  readonly #child: ChildProcess;

  constructor() {
    const program = fileURLToPath(new URL("./worker.ts", import.meta.url));
    this.#child = fork(program, { execArgv: ["--import", "tsx"] });
  }

  /** Rejects when a single intent was not made. */
  async run(job: Job): Promise<JobResult> {
    this.#child.send(job);
    const [result] = (await once(this.#child, "message")) as [JobResult];
    if (result.failure !== null) throw new Error(`${job.kind}: ${result.failure}`);
    return result;
  }

  stop(): void {
    this.#child.disconnect();
  }
}
