/** Why a provider refuses an onboarding. */
export const REFUSAL_REASONS = ["IDENTITY", "PRICE", "MAINTENANCE", "LIMIT", "COUNTRY", "ACCOUNT"] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** A provider's refusal before the payment. */
export interface Refusal {
  readonly reason: RefusalReason;
  /** The provider's words. */
  readonly message: string;
}
