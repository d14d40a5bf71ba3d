import { InvalidArgumentError } from "commander";
import { EXAMPLE_ID, type Flags, type Group, integerBetween, text } from "./group.js";

const INTENT = ["--intent <id>", "the intent's id"] as const;
const NOTE = ["--note <text>", "why; recorded with your name"] as const;

/** What operators can do about an intent; each action is recorded (runtime/ramp/docs/operations.md). */
export function addIntentActions({ add }: Group): void {
  const example = `--intent ${EXAMPLE_ID} --note "ticket 4711"`;
  add(
    "poll",
    "look an intent up at its provider now; a running server does it",
    example,
    ({ ramp, database }, flags) => ramp.pollIntent(database, text(flags, "intent")),
  )
    .requiredOption(...INTENT)
    .option(...NOTE);
  add("cancel", "cancel an intent, at its provider too", example, ({ ramp, database }, flags) =>
    ramp.cancelIntent(database, text(flags, "intent")),
  )
    .requiredOption(...INTENT)
    .requiredOption(...NOTE);
  add(
    "resolve",
    "record how an intent ended that needs attention",
    `${example} --as completed`,
    ({ ramp, database }, flags) =>
      ramp.resolveIntent(database, text(flags, "intent"), {
        as: flags["as"] as "completed" | "failed",
        note: text(flags, "note"),
      }),
  )
    .requiredOption(...INTENT)
    .requiredOption("--as <end>", "completed or failed", endOf)
    .requiredOption(...NOTE);
  add(
    "refund",
    "refund a payment, where the provider offers it; a running server does it",
    `${example} --amount 10.00`,
    ({ ramp, database }, flags) =>
      ramp.refundIntent(database, text(flags, "intent"), {
        amount: (flags["amount"] as string | undefined) ?? null,
        reason: text(flags, "note"),
      }),
  )
    .requiredOption(...INTENT)
    .option("--amount <amount>", "in the source currency; default: what is left")
    .requiredOption("--note <text>", "why; a repeated note is the same refund");
}

function endOf(given: string): string {
  if (given !== "completed" && given !== "failed") throw new InvalidArgumentError("completed or failed.");
  return given;
}

/** `routewright ramp audit`: who changed what, when and why. */
export function addAudit({ add }: Group): void {
  add(
    "audit",
    "list what operators changed, newest first",
    "--limit 20",
    ({ ramp, database }, flags: Flags) =>
      ramp.listAudit(database, { intentId: text(flags, "intent") || null, limit: Number(flags["limit"]) }),
  )
    .option("--intent <id>", "actions on this intent")
    .option("--limit <number>", "at most so many", integerBetween(1, 1_000), 50);
}
