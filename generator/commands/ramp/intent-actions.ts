import { randomUUID } from "node:crypto";
import { InvalidArgumentError } from "commander";
import { EXAMPLE_ID, type Flags, type Group, integerBetween, text } from "./group.js";

const INTENT = ["--intent <id>", "the intent's id"] as const;
const NOTE = ["--note <text>", "why; recorded with your name"] as const;

/** What operators can do about an intent; each action is recorded (runtime/ramp/README.md, Operations). */
export function addIntentActions({ add, addForProject }: Group): void {
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
    "refund a payment, where the provider offers it",
    `${example} --amount 10.00`,
    ({ ramp, ...session }, flags) =>
      ramp.refundIntent(session, text(flags, "intent"), {
        amount: text(flags, "amount") || null,
        reason: text(flags, "note"),
        refundId: text(flags, "id") || randomUUID(),
      }),
  )
    .requiredOption(...INTENT)
    .option("--amount <amount>", "in the source currency; default: what is left")
    .option("--id <id>", "id of an earlier attempt whose outcome is unclear")
    .requiredOption(...NOTE);
  addForProject(
    "repoint",
    "move open intents to other credentials of the same provider",
    `--provider coinway --key-id key_2 --note "key_1 was leaked"`,
    ({ ramp, database }, project, flags) =>
      ramp.repointIntents(database, project, {
        provider: text(flags, "provider"),
        keyId: text(flags, "keyId"),
        intentId: text(flags, "intent") || null,
      }),
  )
    .requiredOption("--provider <code>", "the provider's code")
    .requiredOption("--key-id <id>", "key id of the credentials; `provider connect` adds them")
    .option("--intent <id>", "one intent; default: all that are still polled")
    .requiredOption(...NOTE);
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
