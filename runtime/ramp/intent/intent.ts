import type { Instruction, Rail } from "../provider/protocol.js";
import type { IntentStatus, RequirementStatus, TransactionStatus } from "./status.js";

/** One side of an intent as the caller gave it. */
export interface AccountSide {
  readonly currencyCode: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Requirement {
  readonly code: string;
  readonly status: RequirementStatus;
  readonly title: string;
  /** JSON Schema of what the hosted page asks for; null when nothing is to be filled in. */
  readonly form: Readonly<Record<string, unknown>> | null;
}

/** The movement of money of an intent; at most one per intent, for life. */
export interface Transaction {
  readonly id: string;
  readonly status: TransactionStatus;
  readonly providerReference: string | null;
  readonly instructions: readonly Instruction[];
  readonly failureReason: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface Intent {
  readonly id: string;
  readonly customerId: string;
  /** What providers know the customer by. */
  readonly customerReference: string;
  /** Wallets that the customer has proven to hold, as CAIP-10 accounts. */
  readonly wallets: readonly string[];
  readonly connectionId: string;
  /** The provider's name. */
  readonly provider: string;
  readonly type: "ONRAMP" | "OFFRAMP";
  readonly status: IntentStatus;
  readonly src: AccountSide;
  readonly dest: AccountSide;
  readonly srcAmount: string;
  readonly rail: Rail;
  readonly autoExecute: boolean;
  readonly onboardingRedirectUrl: string | null;
  readonly checkoutRedirectUrl: string | null;
  readonly failureReason: string | null;
  readonly expiresAt: Date;
  readonly attendedBy: string | null;
  readonly setbacks: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly requirements: readonly Requirement[];
  readonly transaction: Transaction | null;
}

/** The first requirement that is still to be met, by the provider's order; null when none is. */
export function outstandingRequirement({ requirements }: Intent): Requirement | null {
  return requirements.find(({ status }) => status === "PENDING" || status === "IN_PROGRESS") ?? null;
}
