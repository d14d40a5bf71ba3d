import type { Execution, Onboarding, ProviderRequirement } from "../providers/protocol.js";
import type { ProjectTransaction } from "../database/ramp-database.js";
import {
  type Intent,
  type Transaction,
  canMove,
  isTerminal,
  REQUIREMENT_MOVES,
  type RequirementStatus,
  TRANSACTION_MOVES,
} from "./intent.js";
import { addRequirement, moveIntent, moveRequirement, updateTransaction } from "./transitions.js";

/**
 * What a provider's answer changes. The intent is locked and as it is now; an answer that is older than what is known moves
 * nothing, so answers may come twice and in any order.
 */
export function applyOnboarding(
  tx: ProjectTransaction,
  intent: Intent,
  { requirements }: Onboarding,
): Intent {
  if (intent.status !== "PENDING" && intent.status !== "COMPLIANCE_IN_PROGRESS") return intent;
  let now = intent;
  for (const requirement of requirements) now = applyRequirement(tx, now, requirement);
  return conclude(tx, now, requirements);
}

/** The way a requirement takes: what the provider skipped over is passed through. */
const REQUIREMENT_PATH: Readonly<Record<RequirementStatus, readonly RequirementStatus[]>> = {
  PENDING: [],
  IN_PROGRESS: ["IN_PROGRESS"],
  COMPLETED: ["IN_PROGRESS", "COMPLETED"],
  FAILED: ["IN_PROGRESS", "FAILED"],
};

function applyRequirement(tx: ProjectTransaction, intent: Intent, told: ProviderRequirement): Intent {
  const { code, title, form } = told;
  const known = intent.requirements.find((requirement) => requirement.code === code);
  if (!known) return addRequirement(tx, intent, { code, title, form, status: told.status });
  let now = intent;
  let status = known.status;
  for (const next of REQUIREMENT_PATH[told.status]) {
    if (!canMove(REQUIREMENT_MOVES, status, next)) continue;
    now = moveRequirement(tx, now, code, next);
    status = next;
  }
  return now;
}

function conclude(tx: ProjectTransaction, intent: Intent, told: readonly ProviderRequirement[]): Intent {
  const failed = intent.requirements.find(({ status }) => status === "FAILED");
  if (failed) {
    const reason = told.find(({ code }) => code === failed.code)?.failureReason;
    return moveIntent(tx, intent, "COMPLIANCE_FAILED", reason ?? `${failed.title} failed.`);
  }
  if (intent.requirements.every(({ status }) => status === "COMPLETED")) {
    const approved = moveIntent(tx, intent, "COMPLIANCE_APPROVED");
    return moveIntent(tx, approved, "PENDING_PAYMENT");
  }
  return intent.status === "PENDING" ? moveIntent(tx, intent, "COMPLIANCE_IN_PROGRESS") : intent;
}

/** The statuses that lead to what the provider tells. */
const EXECUTION_PATH = {
  AWAITING_FUNDS: ["IN_PROGRESS"],
  PROCESSING: ["IN_PROGRESS"],
  SUCCESS: ["IN_PROGRESS", "SUCCESS"],
  FAILED: ["FAILED"],
  CANCELLED: ["CANCELLED"],
} as const satisfies Readonly<Record<Execution["status"], readonly Transaction["status"][]>>;

/** The same for an execution. SUCCESS completes the intent, FAILED fails it. */
export function applyExecution(tx: ProjectTransaction, intent: Intent, told: Execution): Intent {
  let now = intent;
  for (const status of EXECUTION_PATH[told.status]) {
    const transaction = now.transaction;
    if (
      transaction === null ||
      isTerminal(now.status) ||
      !canMove(TRANSACTION_MOVES, transaction.status, status)
    )
      continue;
    const failureReason =
      status === "FAILED" ? (told.failureReason ?? "The provider did not say why.") : null;
    const { reference: providerReference, instructions } = told;
    now = updateTransaction(tx, now, transaction, { status, failureReason, providerReference, instructions });
    now = followTransaction(tx, now, status, failureReason);
  }
  return now;
}

function followTransaction(
  tx: ProjectTransaction,
  intent: Intent,
  status: "IN_PROGRESS" | "SUCCESS" | "FAILED" | "CANCELLED",
  failureReason: string | null,
): Intent {
  switch (status) {
    case "IN_PROGRESS":
      return moveIntent(tx, intent, "TRANSACTION_IN_PROGRESS");
    case "SUCCESS":
      return moveIntent(tx, intent, "COMPLETED");
    case "FAILED":
      return moveIntent(tx, intent, "TRANSACTION_FAILED", failureReason);
    case "CANCELLED":
      return moveIntent(tx, intent, intent.expiresAt <= new Date() ? "EXPIRED" : "CANCELLED");
  }
}

/** A refusal ends the intent: the provider will not do what it was asked to. */
export function applyRefusal(tx: ProjectTransaction, intent: Intent, reason: string): Intent {
  const { transaction } = intent;
  if (isTerminal(intent.status)) return intent;
  if (transaction === null) return moveIntent(tx, intent, "COMPLIANCE_FAILED", reason);
  const failed = updateTransaction(tx, intent, transaction, { status: "FAILED", failureReason: reason });
  return moveIntent(tx, failed, "TRANSACTION_FAILED", reason);
}

/** Ends an intent that nobody has paid for in time. */
export function applyExpiry(tx: ProjectTransaction, intent: Intent): Intent {
  return moveIntent(tx, intent, "EXPIRED");
}
