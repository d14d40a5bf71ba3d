import { orderIdOf, projectId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import { readIntent } from "../intents/intent-rows.js";
import type { Intent } from "../intents/intent.js";
import { Providers, type ProviderConnection } from "../providers/provider-connections.js";
import type { Vault } from "../core/vault.js";

/** An order whose state at its provider is not that of the database. */
export interface RestoredOrder {
  readonly check: "order";
  readonly ok: false;
  readonly intentId: string;
  readonly orderId: string;
  readonly detail: string;
}

/** Intents that can have an order that the database has lost: open ones, and those that ended in the time that providers are followed up. */
const CANDIDATES = `SELECT i.project_id AS "projectId", i.id FROM ramp.intents i
  WHERE NOT i.is_ended OR i.updated_at > now() - interval '60 days' ORDER BY i.created_at`;

/**
 * Compares open and recent orders with their providers after a restore (runtime/ramp/docs/operations.md, Backups). The id of an order is derived from
 * its intent, so an order that the database has lost is found by it. Changes nothing.
 */
export async function compareOrders(
  database: RampDatabase,
  vault: Vault,
): Promise<
  readonly (RestoredOrder | { readonly check: "order"; readonly ok: true; readonly detail: string })[]
> {
  const providers = new Providers({ database, vault, publicUrl: "" });
  const intents = await database.asOperator((tx) =>
    tx.rows<{ readonly projectId: string; readonly id: string }>(CANDIDATES),
  );
  const found: RestoredOrder[] = [];
  for (const { projectId: project, id } of intents) {
    const intent = await database.inProject(projectId(project), (tx) => readIntent(tx, id));
    if (intent === null) continue;
    const detail = await difference(intent, await providers.get(projectId(project), intent));
    if (detail !== null)
      found.push({ check: "order", ok: false, intentId: id, orderId: orderIdOf(id), detail });
  }
  if (found.length > 0) return found;
  return [
    {
      check: "order",
      ok: true,
      detail: `${String(intents.length)} orders are at their providers as in the database.`,
    },
  ];
}

/** What only one side knows; null: nothing. */
export async function difference(
  intent: Intent,
  { code, provider }: Pick<ProviderConnection, "code" | "provider">,
): Promise<string | null> {
  const { transaction } = intent;
  const reply = await provider.execution(orderIdOf(intent.id));
  if (reply.kind === "refused" || reply.kind === "unavailable")
    return `${code} does not answer: compare again.`;
  const recorded = transaction?.status ?? null;
  if (reply.kind === "unknown") {
    const isExpected =
      recorded === null || recorded === "PENDING" || recorded === "FAILED" || recorded === "CANCELLED";
    return isExpected ? null : `Recorded as ${recorded}; ${code} knows no such order.`;
  }
  const { status } = reply.value;
  if (recorded === null)
    return `Only ${code} knows the order: it is ${status} there. Do not order it again at another provider.`;
  return recorded === "PENDING"
    ? `Not recorded as sent; it is ${status} at ${code}. The next look-up records it.`
    : null;
}
