/** A provider's check of the customer. */
export interface Requirement {
  readonly code: string;
  readonly status: RequirementStatus;
  readonly title: string;
  /** JSON Schema of what the hosted page asks for; null when nothing is to be filled in. */
  readonly form: Readonly<Record<string, unknown>> | null;
  /** The provider's own page, in place of the form. */
  readonly url: string | null;
  /** Why it failed, or what more is needed. */
  readonly reason: string | null;
  /** Grows whenever the provider needs more: an answer of an attempt before it is old. */
  readonly attempt: number;
}

/**
 * What moves a requirement (runtime/ramp/docs/intents.md, Checks and pages). The database refuses all other moves; tests compare this table
 * with the database's and with the page's.
 */
export const REQUIREMENT_MOVES = {
  PENDING: {
    IN_PROGRESS: "the provider has what it asked for",
    WITHDRAWN: "the provider no longer lists it",
  },
  IN_PROGRESS: {
    COMPLETED: "the provider lists it as `COMPLETED`",
    FAILED: "the provider lists it as `FAILED`",
    PENDING: "the provider needs more: what, is the `reason`",
    WITHDRAWN: "the provider no longer lists it",
  },
  COMPLETED: {},
  FAILED: {},
  WITHDRAWN: { PENDING: "the provider lists it again, before the payment is made" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export type RequirementStatus = keyof typeof REQUIREMENT_MOVES;

export const REQUIREMENT_STATUSES = Object.keys(REQUIREMENT_MOVES) as readonly RequirementStatus[];

export function canRequirementMove(from: RequirementStatus, to: RequirementStatus): boolean {
  return to in REQUIREMENT_MOVES[from];
}

/** Whether nothing more is needed for it. */
export function isMet({ status }: Requirement): boolean {
  return status === "COMPLETED" || status === "WITHDRAWN";
}
