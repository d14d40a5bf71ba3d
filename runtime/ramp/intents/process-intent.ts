import { isDeepStrictEqual } from "node:util";
import { ClaimWorker } from "@routewright/runtime/internal/core/http/claim-worker.js";
import { failpoint } from "../core/failpoints.js";
import { newId, projectId, type ProjectId } from "../database/id.js";
import {
  type OperatorTransaction,
  PreconditionFailed,
  type ProjectTransaction,
  refusedWrite,
} from "../database/transaction.js";
import { type Intent, isErased, nextStep, type Progress, type Step } from "./intent.js";
import { lockIntent, readIntent } from "./intent-rows.js";
import {
  acquireLease,
  assertLease,
  type IntentContext,
  type PollingPolicy,
  releaseLease,
  takeLease,
} from "./lease.js";
import { recordAnswer } from "./provider-answers.js";
import { callProvider, endSeries, type StepOutcome, unrecorded } from "./provider-steps.js";
import { prepareRefund } from "./apply-refunds.js";
import { recordAttention } from "./transitions.js";

/** Called in the transaction in which an intent becomes idle, for example to store the answer to a request. */
export type OnIdle<T> = (tx: ProjectTransaction, intent: Intent) => T | Promise<T>;

/**
 * Processes an intent until it can only wait: calls the provider with no transaction open and records the outcome, step by
 * step. Requests, callbacks, the scheduler and recovery after a crash all use this function: the recorded state decides where
 * to continue. `leased.leaseOwner` is the caller. When another process steals the lease, the outcome is dropped: that
 * process gets the same answer from the provider.
 */
export async function processLeased<T>(ramp: IntentContext, leased: Intent, onIdle: OnIdle<T>): Promise<T> {
  const { database, polling } = ramp;
  const { projectId } = leased;
  let intent = leased;
  let progress: Progress = "fresh";
  for (;;) {
    const before = intent;
    const step = nextStep(before, progress);
    const outcome = await performStep(ramp, before, step);
    progress = outcome.progress ?? progress;
    const record = (reported: StepOutcome): Promise<Recorded<T>> =>
      database.inProject(projectId, async (tx) => {
        // Only the lease owner writes, so the intent in memory is the current one.
        assertLease(tx, leased);
        const { after, isIdle } = recordOutcome(ramp, tx, before, {
          ...reported,
          progress: reported.progress ?? progress,
        });
        if (isIdle) {
          releaseLease(tx, after, polling);
          return idle(tx, after, onIdle);
        }
        takeLease(tx, after, polling);
        return { intent: after, idle: null };
      });
    const recorded = await record(outcome)
      .catch((error: unknown) => {
        const refusal = refusedWrite(error);
        if (refusal === null) throw error;
        return record(unrecorded(ramp, before, { step, outcome, refusal }));
      })
      .catch((error: unknown) => {
        if (!(error instanceof PreconditionFailed)) throw error;
        // Another process has the lease: the intent is as that process left it.
        return database.inProject(projectId, async (tx) => idle(tx, await lockIntent(tx, leased.id), onIdle));
      });
    await recordedFailpoint(step);
    if (recorded.idle) return recorded.idle.value;
    intent = recorded.intent;
  }
}

/** An intent as recorded, with the caller's value once it is idle. */
interface Recorded<T> {
  readonly intent: Intent;
  readonly idle: { readonly value: T } | null;
}

async function idle<T>(tx: ProjectTransaction, intent: Intent, onIdle: OnIdle<T>): Promise<Recorded<T>> {
  return { intent, idle: { value: await onIdle(tx, intent) } };
}

function recordOutcome(
  { vault }: IntentContext,
  tx: ProjectTransaction,
  before: Intent,
  { apply, answer, progress }: StepOutcome & { readonly progress: Progress },
): { readonly after: Intent; readonly isIdle: boolean } {
  // First: the changes of the intent and the end of its lease, which follows, are one statement then.
  if (answer && !isErased(before)) recordAnswer(tx, vault, before, answer);
  const applied = apply(tx, before);
  const isIdle = nextStep(applied, progress) === "wait";
  const after = isIdle && progress === "answered" ? endSeries(applied) : applied;
  if (!isDeepStrictEqual(after.attention, before.attention)) recordAttention(tx, after);
  return { after, isIdle };
}

async function performStep(ramp: IntentContext, intent: Intent, step: Step): Promise<StepOutcome> {
  if (step === "wait") return { apply: (_tx, current) => current, progress: null };
  if (step === "prepareRefund") return { apply: prepareRefund, progress: null };
  return callProvider(ramp, intent, step);
}

function recordedFailpoint(step: Step): Promise<void> | undefined {
  if (step === "startOnboarding") return failpoint("onboarding.recorded");
  if (step === "makePayment") return failpoint("execution.opened");
  if (step === "execute") return failpoint("execution.recorded");
  return undefined;
}

/** Processes an intent if its lease is free; calls `onIdle` with its present state otherwise. */
export async function processIfFree<T>(
  ramp: IntentContext,
  projectId: ProjectId,
  { id, owner }: { readonly id: string; readonly owner: string },
  onIdle: OnIdle<T>,
): Promise<T> {
  const leased = await ramp.database.inProject(projectId, async (tx) => {
    const isLeased = await acquireLease(tx, id, owner, ramp.polling);
    const intent = await readIntent(tx, id);
    if (intent === null) throw new Error(`The intent ${id} does not exist.`);
    return isLeased ? { intent } : { settled: await onIdle(tx, intent) };
  });
  return "settled" in leased ? leased.settled : processLeased(ramp, leased.intent, onIdle);
}

/** Records a change of an intent and processes it. `record` returns null when the intent has moved on. */
export async function changeIntent(
  ramp: IntentContext,
  { id, projectId }: Intent,
  record: (tx: ProjectTransaction, intent: Intent) => Intent | null,
): Promise<void> {
  const leaseOwner = newId();
  const changed = await ramp.database.inProject(projectId, async (tx) => {
    const recorded = record(tx, await lockIntent(tx, id));
    if (recorded === null) return null;
    const intent = { ...recorded, leaseOwner };
    // The lease owner has not seen this change: this request carries it out.
    takeLease(tx, intent, ramp.polling);
    return intent;
  });
  if (changed) await processLeased(ramp, changed, () => undefined);
}

/** How often due intents are looked for; a callback to this process starts a look-up at once. */
const POLL_MS = 500;

interface DueIntent {
  readonly projectId: string;
  readonly id: string;
  readonly connectionId: string;
  readonly owner: string;
}

/**
 * Processes due intents: expiry, look-ups at a provider that sent no callback, and what a crash left undone. Each connection
 * of a project has slots of its own, so that a provider that answers slowly delays its own intents and no others.
 */
export function startIntentWorker(ramp: IntentContext): ClaimWorker<DueIntent> {
  const { database, polling, log } = ramp;
  return new ClaimWorker<DueIntent>(
    {
      name: "intents",
      pollMs: POLL_MS,
      maxInFlight: polling.maxInFlight,
      claim: (capacity, inUse) => database.asOperator((tx) => claimDue(tx, inUse, capacity, polling)),
      holderOf: ({ connectionId }) => connectionId,
      async run({ projectId: project, id, owner }) {
        const intent = await database.inProject(projectId(project), (tx) => readIntent(tx, id));
        // Unless another process has taken the lease meanwhile.
        if (intent?.leaseOwner === owner) await processLeased(ramp, intent, () => undefined);
      },
    },
    log,
  );
}

/**
 * Leases due intents, open ones first: a payment never waits for look-ups of orders that have ended. The recursion reads one
 * index entry per connection with planned polls, however many intents it has.
 */
function claimDue(
  tx: OperatorTransaction,
  used: ReadonlyMap<string, number>,
  capacity: number,
  { perConnection, leaseMs }: PollingPolicy,
): Promise<DueIntent[]> {
  return tx.rows<DueIntent>(
    `WITH RECURSIVE connection AS (
       (SELECT project_id, connection_id FROM ramp.intents WHERE next_poll_at IS NOT NULL ORDER BY project_id, connection_id LIMIT 1)
       UNION ALL
       SELECT n.project_id, n.connection_id FROM connection c CROSS JOIN LATERAL (
         SELECT i.project_id, i.connection_id FROM ramp.intents i
         WHERE next_poll_at IS NOT NULL AND (i.project_id, i.connection_id) > (c.project_id, c.connection_id)
         ORDER BY i.project_id, i.connection_id LIMIT 1) n),
     due AS (
       SELECT d.project_id, d.id FROM connection c
       LEFT JOIN unnest($1::uuid[], $2::int[]) AS busy (id, used) ON busy.id = c.connection_id
       CROSS JOIN LATERAL (
         SELECT i.* FROM (VALUES (false), (true)) AS kind (is_ended) CROSS JOIN LATERAL (
           SELECT i.project_id, i.id, i.is_ended, i.next_poll_at FROM ramp.intents i
           WHERE i.project_id = c.project_id AND i.connection_id = c.connection_id AND i.is_ended = kind.is_ended AND i.next_poll_at <= $6
           ORDER BY i.next_poll_at LIMIT GREATEST($3 - COALESCE(busy.used, 0), 0) FOR NO KEY UPDATE SKIP LOCKED) i
         ORDER BY i.is_ended, i.next_poll_at LIMIT GREATEST($3 - COALESCE(busy.used, 0), 0)) d
       ORDER BY d.is_ended, d.next_poll_at LIMIT $4)
     UPDATE ramp.intents i SET lease_owner = gen_random_uuid(), lease_expires_at = $6::timestamptz + make_interval(secs => $5),
       next_poll_at = $6::timestamptz + make_interval(secs => $5), poll_requested = false
     FROM due WHERE i.project_id = due.project_id AND i.id = due.id
     RETURNING i.project_id AS "projectId", i.id, i.connection_id AS "connectionId", i.lease_owner AS owner`,
    [[...used.keys()], [...used.values()], perConnection, capacity, leaseMs / 1_000, tx.now],
  );
}
