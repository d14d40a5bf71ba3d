import { setTimeout as sleep } from "node:timers/promises";
import { type ProviderReply, reasonOf } from "./provider.js";
import { refusalOf } from "./refusal-reasons.js";

/** One check of the provider protocol. */
export interface ProviderCheck {
  readonly check: string;
  readonly ok: boolean;
  /** What was expected and what came; of a check that passes what it sent, else `ok`. */
  readonly detail: string;
}

/** What was expected and what came; false: the check passes. */
export type CheckProblem = string | false;

/** Later checks depend on the failed one. */
class CheckFailed extends Error {}

/** How long orders of the sandbox may take. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 250;

/** The checks of a run, and the parts of it that are still to come. */
export class CheckList {
  readonly checks: ProviderCheck[] = [];
  readonly #planned: string[] = [];
  #prefix = "";

  constructor(readonly patienceMs: number = PATIENCE_MS) {}

  /** Runs the checks; one that later ones need ends the run, with the parts that were not run. */
  async run(all: () => Promise<void>): Promise<void> {
    try {
      await all();
    } catch (error) {
      if (!(error instanceof CheckFailed)) throw error;
      this.#prefix = "";
      if (this.#planned.length > 0)
        this.check("all parts are run", `not run, since they need what failed: ${this.#planned.join(", ")}`);
    }
  }

  plan(...parts: readonly string[]): void {
    this.#planned.push(...parts);
  }

  /** @param prefix before the names of the part's checks */
  begin(part: string, prefix = ""): void {
    this.#planned.splice(this.#planned.indexOf(part), 1);
    this.#prefix = prefix;
  }

  /** @param note what a check that passes has to say */
  check(check: string, problem: CheckProblem, note = "ok"): void {
    this.checks.push({ check: this.#prefix + check, ok: problem === false, detail: problem || note });
  }

  /** A check without which the others cannot be. */
  need(check: string, problem: CheckProblem, note?: string): void {
    if (problem !== false) this.fail(check, problem);
    this.check(check, false, note);
  }

  fail(check: string, problem: string): never {
    this.check(check, problem);
    throw new CheckFailed();
  }

  /** The answer; what comes after needs it. */
  answer<T>(check: string, reply: ProviderReply<T>, hint = ""): T {
    if (reply.kind !== "answer") return this.fail(check, `no valid answer: ${describe(reply)}${hint}`);
    this.check(check, false);
    return reply.value;
  }

  /** Asks until a check passes; what it found last where it does not. */
  async until(check: () => Promise<CheckProblem>): Promise<CheckProblem> {
    const deadline = Date.now() + this.patienceMs;
    for (;;) {
      const found = await check();
      if (found === false || Date.now() + PAUSE_MS >= deadline) return found;
      await sleep(PAUSE_MS);
    }
  }
}

export function notForPrice(reply: ProviderReply<unknown>): CheckProblem {
  if (reply.kind !== "refused") return describe(reply);
  const { reason } = refusalOf(reply);
  return reason !== "PRICE" && `the reason is ${reason}`;
}

export function isOther(
  reply: ProviderReply<unknown>,
  expected: ProviderReply<unknown>["kind"],
): CheckProblem {
  return reply.kind !== expected && describe(reply);
}

/** With the provider's words: they are for its author. */
export function describe(reply: ProviderReply<unknown>): string {
  if (reply.kind === "answer") return "it was answered";
  const message = reply.kind === "refused" && reply.message !== "" ? `, ${reply.message}` : "";
  return reasonOf(reply) + message;
}
