import { ClaimWorker } from "@routewright/runtime/internal/core/http/claim-worker.js";
import { failpoint } from "../core/failpoints.js";
import { type ProjectId, projectId } from "../database/id.js";
import type { OperatorTransaction } from "../database/transaction.js";
import type { DepositAccount } from "../providers/deposit-messages.js";
import { type ProviderReply, reasonOf } from "../providers/provider.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import { readDepositAccount, type StoredDepositAccount } from "./deposit-account.js";
import type { IntentContext, PollingPolicy } from "./lease.js";
import { operationOf, recordDepositAccount } from "./record-deposit-account.js";

/**
 * Opens a deposit account at its provider, closes it, or reads the payments that have arrived: calls the provider with no transaction open and
 * records the answer. Requests, callbacks, the worker and recovery after a crash all use this function; two at once record the same.
 */
export async function processDepositAccount(
  ramp: IntentContext,
  project: ProjectId,
  id: string,
): Promise<void> {
  const { database, log } = ramp;
  for (;;) {
    const account = await database.inProject(project, (tx) => readDepositAccount(tx, id));
    if (account === null || account.status === "REFUSED") return;
    const reply = await ask(account, await ramp.providers.get(account));
    await failpoint("deposits.answered");
    if (reply.kind !== "answer")
      log.warn(
        { depositAccount: id, connection: account.connectionId, reason: reasonOf(reply) },
        "deposit account not answered",
      );
    const isDone = await recordDepositAccount(ramp, account, reply);
    await failpoint("deposits.recorded");
    if (isDone) return;
  }
}

/** What the provider is asked. An order that it refuses is looked up, as an onboarding is. */
async function ask(
  account: StoredDepositAccount,
  { provider }: ProviderConnection,
): Promise<ProviderReply<DepositAccount>> {
  const { id, orderBody, lastDeposit } = account;
  const operation = operationOf(account);
  if (operation === "closeDepositAccount") return provider.closeDepositAccount(id);
  if (operation !== "openDepositAccount" || orderBody === null)
    return provider.depositAccount(id, lastDeposit);
  const opened = await provider.openDepositAccount(id, orderBody);
  if (opened.kind !== "refused") return opened;
  const found = await provider.depositAccount(id, null);
  if (found.kind === "unknown") return opened;
  return found.kind === "answer" ? found : { kind: "unavailable", reason: reasonOf(found), isOutage: false };
}

/** How often due accounts are looked for. A callback to this process starts a look-up at once. */
const POLL_MS = 500;
/** Accounts of a process at a time, and of one connection: a slow provider delays its own. */
const MAX_IN_FLIGHT = 50;
const PER_CONNECTION = 5;

interface DueAccount {
  readonly projectId: string;
  readonly id: string;
  readonly connectionId: string;
}

export function startDepositAccountWorker(ramp: IntentContext): ClaimWorker<DueAccount> {
  return new ClaimWorker<DueAccount>(
    {
      name: "deposit accounts",
      pollMs: POLL_MS,
      maxInFlight: MAX_IN_FLIGHT,
      claim: (capacity, inUse) =>
        ramp.database.asOperator((tx) => claimDue(tx, inUse, capacity, ramp.polling)),
      holderOf: ({ connectionId }) => connectionId,
      run: ({ projectId: project, id }) => processDepositAccount(ramp, projectId(project), id),
    },
    ramp.log,
  );
}

/** Until the lease ends nobody else asks: after a crash the account is due again. */
function claimDue(
  tx: OperatorTransaction,
  inUse: ReadonlyMap<string, number>,
  capacity: number,
  { leaseMs }: PollingPolicy,
): Promise<DueAccount[]> {
  return tx.rows<DueAccount>(
    `WITH ranked AS (
       SELECT project_id, id, next_poll_at, row_number() OVER (PARTITION BY project_id, connection_id ORDER BY next_poll_at) AS place
       FROM ramp.deposit_accounts WHERE next_poll_at <= $2),
     due AS (
       SELECT a.project_id, a.id FROM ramp.deposit_accounts a JOIN ranked r USING (project_id, id)
       LEFT JOIN unnest($4::uuid[], $5::int[]) AS busy (id, used) ON busy.id = a.connection_id
       WHERE r.place <= ${String(PER_CONNECTION)} - COALESCE(busy.used, 0) AND a.next_poll_at <= $2 ORDER BY a.next_poll_at LIMIT $1 FOR NO KEY UPDATE OF a SKIP LOCKED)
     UPDATE ramp.deposit_accounts a SET poll_requested = false, next_poll_at = $2::timestamptz + make_interval(secs => $3)
     FROM due WHERE a.project_id = due.project_id AND a.id = due.id RETURNING a.project_id AS "projectId", a.id, a.connection_id AS "connectionId"`,
    [capacity, tx.now, leaseMs / 1_000, [...inUse.keys()], [...inUse.values()]],
  );
}
