/**
 * The moves that an intent can make (decisions.md §B, States). The database refuses all others by itself
 * (migrations/0001_base.sql); a test holds the two tables against each other.
 */
export const INTENT_MOVES = {
  PENDING: ["COMPLIANCE_IN_PROGRESS", "COMPLIANCE_APPROVED", "COMPLIANCE_FAILED", "EXPIRED", "CANCELLED"],
  COMPLIANCE_IN_PROGRESS: ["COMPLIANCE_APPROVED", "COMPLIANCE_FAILED", "EXPIRED", "CANCELLED"],
  COMPLIANCE_APPROVED: ["PENDING_PAYMENT", "EXPIRED", "CANCELLED"],
  PENDING_PAYMENT: ["TRANSACTION_IN_PROGRESS", "TRANSACTION_FAILED", "EXPIRED", "CANCELLED"],
  TRANSACTION_IN_PROGRESS: ["COMPLETED", "TRANSACTION_FAILED", "EXPIRED", "CANCELLED"],
  COMPLETED: [],
  COMPLIANCE_FAILED: [],
  TRANSACTION_FAILED: [],
  EXPIRED: [],
  CANCELLED: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type IntentStatus = keyof typeof INTENT_MOVES;

export const INTENT_STATUSES = Object.keys(INTENT_MOVES) as readonly IntentStatus[];

export const TRANSACTION_MOVES = {
  PENDING: ["IN_PROGRESS", "FAILED", "CANCELLED"],
  IN_PROGRESS: ["SUCCESS", "FAILED", "CANCELLED"],
  SUCCESS: [],
  FAILED: [],
  CANCELLED: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type TransactionStatus = keyof typeof TRANSACTION_MOVES;

export const TRANSACTION_STATUSES = Object.keys(TRANSACTION_MOVES) as readonly TransactionStatus[];

export const REQUIREMENT_MOVES = {
  PENDING: ["IN_PROGRESS"],
  IN_PROGRESS: ["COMPLETED", "FAILED"],
  COMPLETED: [],
  FAILED: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type RequirementStatus = keyof typeof REQUIREMENT_MOVES;

export function isTerminal(status: IntentStatus): boolean {
  return INTENT_MOVES[status].length === 0;
}

/** Whether `to` comes later than `from`: news that does not is old and is left alone. */
export function canMove<S extends string>(
  moves: Readonly<Record<S, readonly string[]>>,
  from: S,
  to: S,
): boolean {
  return moves[from].includes(to);
}

/** Whether compliance is still to be completed (`COMPLIANCE_NOT_COMPLETE`). */
export function awaitsCompliance(status: IntentStatus): boolean {
  return status === "PENDING" || status === "COMPLIANCE_IN_PROGRESS" || status === "COMPLIANCE_APPROVED";
}
