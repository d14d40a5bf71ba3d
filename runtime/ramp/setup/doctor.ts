import { projectId } from "../database/id.js";
import type { OperatorTransaction, RampDatabase } from "../database/ramp-database.js";
import { listAttention } from "../intents/intent-rows.js";
import { Providers } from "../providers/provider-connections.js";
import type { Vault } from "../vault.js";
import { unreadableSecrets } from "./vault-rotation.js";

/** One check of `routewright ramp doctor` (runtime/ramp/README.md, Operations). */
export interface Finding {
  readonly check: "master-key" | "provider" | "queue" | "webhooks" | "intents";
  readonly ok: boolean;
  /** What was found, and what to do where it is not ok. */
  readonly detail: string;
}

/** A due row that no server has taken up for this long means that none runs or that all are stuck. */
const OVERDUE = "interval '1 minute'";
const RECENT = "interval '7 days'";

/** Checks the installation: keys, providers, queues, and what needs the operator. */
export async function diagnose(database: RampDatabase, vault: Vault): Promise<readonly Finding[]> {
  const key = await checkMasterKey(database, vault);
  const providers = key.ok ? await checkProviders(database, vault) : [];
  return [
    key,
    ...providers,
    ...(await database.asOperator(checkQueues)),
    await database.asOperator(checkIntents),
  ];
}

async function checkMasterKey(database: RampDatabase, vault: Vault): Promise<Finding> {
  const unreadable = await unreadableSecrets(database, vault);
  const where = unreadable.map(({ column, rows }) => `${column} (${String(rows)})`).join(", ");
  const detail =
    unreadable.length === 0
      ? "The keys open every secret in the database."
      : `The keys do not open: ${where}. Set RAMP_SECRETS_KEY to the key of this database, or name the key of before in RAMP_OTHER_SECRETS_KEYS.`;
  return { check: "master-key", ok: unreadable.length === 0, detail };
}

async function checkProviders(database: RampDatabase, vault: Vault): Promise<readonly Finding[]> {
  const providers = new Providers(database, vault, "");
  const projects = await database.asOperator((tx) =>
    tx.rows<{ id: string }>("SELECT id FROM ramp.projects ORDER BY id"),
  );
  const findings: Finding[] = [];
  for (const { id } of projects)
    for (const { code, provider } of await providers.list(projectId(id))) {
      const startedAt = performance.now();
      const { kind } = await provider.capabilities();
      const took = `${String(Math.round(performance.now() - startedAt))} ms`;
      const answer = kind === "answer" ? `answered in ${took}` : `does not answer as it should (${kind})`;
      findings.push({
        check: "provider",
        ok: kind === "answer",
        detail: `${code} of project ${id} ${answer}.`,
      });
    }
  return findings;
}

async function checkQueues(tx: OperatorTransaction): Promise<readonly Finding[]> {
  const row = await tx.row<{ intents: number; deliveries: number; exhausted: number }>(
    `SELECT (SELECT count(*)::int FROM ramp.intents WHERE next_poll_at < now() - ${OVERDUE}) AS intents,
       (SELECT count(*)::int FROM ramp.webhook_deliveries WHERE status = 'PENDING' AND attempt_at < now() - ${OVERDUE}) AS deliveries,
       (SELECT count(*)::int FROM ramp.webhook_deliveries WHERE status = 'EXHAUSTED' AND updated_at > now() - ${RECENT}) AS exhausted`,
  );
  const { intents = 0, deliveries = 0, exhausted = 0 } = row ?? {};
  const isMoving = intents + deliveries === 0;
  return [
    {
      check: "queue",
      ok: isMoving,
      detail: isMoving
        ? "No intent and no delivery is overdue."
        : `Overdue for more than a minute: ${String(intents)} intents, ${String(deliveries)} deliveries. Check that a ramp server runs on this database.`,
    },
    {
      check: "webhooks",
      ok: exhausted === 0,
      detail:
        exhausted === 0
          ? "No delivery was given up in the last 7 days."
          : `${String(exhausted)} deliveries were given up in the last 7 days. Repair the receiver, then run \`routewright ramp webhook replay\`.`,
    },
  ];
}

async function checkIntents(tx: OperatorTransaction): Promise<Finding> {
  const count = (await listAttention(tx)).length;
  const detail =
    count === 0
      ? "No intent needs attention."
      : `${String(count)} intents need attention: see \`routewright ramp intents --stuck\`.`;
  return { check: "intents", ok: count === 0, detail };
}
