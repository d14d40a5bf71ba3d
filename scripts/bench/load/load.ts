import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Job, JobResult } from "./job.js";

/** The load generator, in a process of its own so that it and the server under test do not wait for each other. */
export class Load {
  readonly #child: ChildProcess;

  constructor() {
    const program = fileURLToPath(new URL("./generator.ts", import.meta.url));
    this.#child = fork(program, { execArgv: ["--import", "tsx"] });
  }

  /** Runs a job; rejects when a single answer was not the right one, since its figures would mean nothing. */
  async run(job: Job): Promise<JobResult> {
    this.#child.send(job);
    const [result] = (await once(this.#child, "message")) as [JobResult];
    if (result.failures > 0 || result.answers === 0) throw new Error(complaint(result));
    return result;
  }

  /** It ends by itself when this process does. */
  stop(): void {
    this.#child.disconnect();
  }
}

function complaint({ answers, failures, failure }: JobResult): string {
  return `${String(failures)} requests failed and ${String(answers)} were answered; the first failure: ${failure ?? "none"}.`;
}
