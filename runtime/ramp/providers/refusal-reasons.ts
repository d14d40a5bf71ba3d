/** Why a provider refuses an onboarding. */
export const REFUSAL_REASONS = ["IDENTITY", "PRICE", "MAINTENANCE", "LIMIT", "COUNTRY", "ACCOUNT"] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** A provider's refusal before the payment. */
export interface Refusal {
  readonly reason: RefusalReason;
  /** The provider's words. */
  readonly message: string;
}

/** Error codes of providers that say no `reason` and mean the price. */
const PRICE_ERRORS: ReadonlySet<string> = new Set(["QUOTE_EXPIRED", "QUOTE_USED"]);

export function refusalOf({
  code,
  message,
  reason,
}: {
  readonly code: string;
  readonly message: string;
  readonly reason?: RefusalReason;
}): Refusal {
  return { reason: reason ?? (PRICE_ERRORS.has(code) ? "PRICE" : "IDENTITY"), message };
}
