import type { Outcome } from "../commands/outcome.js";

/** What a command's action does with its outcome: tells it, and keeps the exit code. */
export type Then = (outcome: Promise<Outcome>) => Promise<void>;
