import type { Logger } from "../http/logger.js";
import type { RefreshResult } from "./refresh.js";

/** Logs what comes of refreshes; a problem that lasts is told once, not every time. */
export class RefreshLog {
  readonly #log: Logger;
  #told = "";

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Returns the answer as it is. */
  tell(answer: RefreshResult): RefreshResult {
    const problem = answer.status === "error" ? answer.detail : "";
    if (problem !== "" && problem !== this.#told)
      this.#log.warn({ detail: problem }, "manifest not refreshed");
    this.#told = problem;
    if (answer.status === "reloaded") this.#log.info(countsOf(answer), "manifest refreshed");
    return answer;
  }
}

function countsOf(answer: Exclude<RefreshResult, { status: "error" }>) {
  const { endpoints, added, removed, changed, skipped, manifest_hash } = answer;
  const counts = {
    added: added.length,
    removed: removed.length,
    changed: changed.length,
    skipped: skipped.length,
  };
  return { endpoints, ...counts, manifest_hash };
}
