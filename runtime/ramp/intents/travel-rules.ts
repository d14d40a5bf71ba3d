import type { Vault } from "../core/vault.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { TRAVEL_RULE, type TravelRule } from "../providers/travel-rule.js";
import type { Intent } from "./intent.js";
import { changeRequirement } from "./transitions.js";

/** Originator and beneficiary as `POST /v1/intent` gave them, until their provider has them (runtime/ramp/docs/travel-rule.md). */

const purposeOf = ({ projectId, id }: Pick<Intent, "projectId" | "id">) =>
  `travel-rule:${projectId}:${id}` as const;

export function storeTravelRule(
  tx: ProjectTransaction,
  vault: Vault,
  intent: Intent,
  travelRule: TravelRule,
): Intent {
  const content = vault.seal(purposeOf(intent), JSON.stringify(travelRule));
  tx.insert("travel_rules", { intentId: intent.id, content });
  return { ...intent, hasTravelRule: true };
}

/** Null: it has been sent, or deleted. */
export async function readTravelRule(
  tx: ProjectTransaction,
  vault: Vault,
  intent: Intent,
): Promise<TravelRule | null> {
  const row = await tx.row<{ readonly content: Buffer }>(
    `SELECT content FROM ramp.travel_rules WHERE ${OF_PROJECT} AND intent_id = $1 AND sent_at IS NULL`,
    [intent.id],
  );
  return row && (JSON.parse(vault.open(purposeOf(intent), row.content)) as TravelRule);
}

/** The provider refuses it: the page asks the customer, and says why. */
export function recordTravelRuleRefusal(tx: ProjectTransaction, intent: Intent, reason: string): Intent {
  const asked = intent.requirements.find(({ code }) => code === TRAVEL_RULE);
  const told = asked?.status === "PENDING" ? changeRequirement(tx, intent, { ...asked, reason }) : intent;
  return recordSent(tx, told);
}

/** The provider has it, or has refused it: the customer is asked the next time. */
export function recordSent(tx: ProjectTransaction, intent: Intent): Intent {
  tx.write(`UPDATE ramp.travel_rules SET sent_at = now() WHERE ${OF_PROJECT} AND intent_id = $1`, [
    intent.id,
  ]);
  return { ...intent, hasTravelRule: false };
}
