import { Amount, type AmountText } from "../accounts/amount.js";
import { newId } from "../database/id.js";
import type { ProjectTransaction } from "../database/transaction.js";

/**
 * The journal: every amount that a customer or a provider owes, moves or takes back, as postings that are never changed. An
 * entry's postings add up to zero per currency, which the database checks (database/migrations/0001_schema.sql). Everything else that
 * speaks of money (reports, balances, reconciliation, attention) is a view of it (runtime/ramp/docs/finance.md, The journal).
 */

/**
 * `customer`: what the customer owes (negative: is owed). `provider`: what the provider holds of the payment, as it reports.
 * `suspense`: amounts that need the operator's attention, until they are resolved. `write_off`: what an operator accepted.
 */
export const ACCOUNTS = [
  "customer",
  "provider",
  "exchange",
  "fees",
  "returned",
  "suspense",
  "write_off",
] as const;
export type Account = (typeof ACCOUNTS)[number];

export type PostingKind =
  | "order"
  | "void"
  | "receipt"
  | "delivery"
  | "fee"
  | "refund"
  | "refund_reversal"
  | "goodwill"
  | "chargeback"
  | "correction"
  | "resolution";

/** Why an amount is in suspense. */
export const SUSPENSE_REASONS = [
  "AMOUNT_MISMATCH",
  "FEE_MISMATCH",
  "RECEIPT_CHANGED",
  "REFUND_MISMATCH",
  "CHARGEBACK",
  "LATE_PAYMENT",
] as const;
export type SuspenseReason = (typeof SUSPENSE_REASONS)[number];

/** What an amount is about: `order`, `payment`, `delivery`, `fee`, `chargeback`, or `refund <id>`. */
export type About = string;

export interface Posting {
  readonly account: Account;
  readonly currency: string;
  /** A decimal text, never zero. */
  readonly amount: AmountText;
  /** Of `suspense` only. */
  readonly reason: SuspenseReason | null;
}

/** The sum of an intent's postings about one thing. */
export interface Balance extends Posting {
  readonly about: About;
}

/** The postings of an intent, summed. */
export type Balances = readonly Balance[];

export interface JournalEntry {
  readonly kind: PostingKind;
  readonly about: About;
  /** The provider's own date, if it named one. */
  readonly providerDate?: string | null;
  readonly postings: readonly Posting[];
}

/** Sums the balances that match. */
export function total(
  balances: Balances,
  matches: Partial<Balance> & { readonly aboutStartsWith?: string },
): Amount {
  const { aboutStartsWith = "", ...exact } = matches;
  return balances
    .filter(
      (balance) =>
        balance.about.startsWith(aboutStartsWith) &&
        (Object.keys(exact) as (keyof Balance)[]).every((key) => balance[key] === exact[key]),
    )
    .reduce((sum, { amount }) => sum.plus(amount), Amount.ZERO);
}

/** A posting; none for a zero. */
export function posting(
  account: Account,
  currency: string,
  amount: Amount,
  reason: SuspenseReason | null = null,
): readonly Posting[] {
  return amount.isZero() ? [] : [{ account, currency, amount: amount.text(), reason }];
}

/** Writes an entry, and returns the balances with it. */
export function post(
  tx: ProjectTransaction,
  intentId: string,
  balances: Balances,
  entry: JournalEntry,
): Balances {
  const { kind, about, providerDate = null, postings } = entry;
  if (postings.length === 0) return balances;
  const column = (name: keyof Posting): readonly (string | null)[] => postings.map((item) => item[name]);
  tx.write(
    `INSERT INTO ramp.postings (entry_id, line, intent_id, kind, about, provider_date, account, currency, amount, reason)
     SELECT $1, line, $2, $3, $4, $5, account, currency, amount, reason
     FROM unnest($6::text[], $7::text[], $8::numeric[], $9::text[]) WITH ORDINALITY AS p (account, currency, amount, reason, line)`,
    [
      newId(),
      intentId,
      kind,
      about,
      providerDate,
      column("account"),
      column("currency"),
      column("amount"),
      column("reason"),
    ],
  );
  return postings.reduce((sums, item) => added(sums, { ...item, about }), balances);
}

function added(balances: Balances, item: Balance): Balances {
  const isSame = (other: Balance): boolean =>
    other.account === item.account &&
    other.about === item.about &&
    other.currency === item.currency &&
    other.reason === item.reason;
  const sum = balances
    .filter(isSame)
    .reduce((before, { amount }) => before.plus(amount), Amount.of(item.amount));
  const others = balances.filter((other) => !isSame(other));
  return sum.isZero() ? others : [...others, { ...item, amount: sum.text() }];
}

/** The sums of an intent's postings, for the query that reads intents as `i`. */
export const BALANCES = `(SELECT jsonb_agg(b) FROM (SELECT account, about, currency, reason, trim_scale(sum(amount))::text AS amount FROM ramp.postings p
    WHERE p.project_id = i.project_id AND p.intent_id = i.id GROUP BY 1, 2, 3, 4 HAVING sum(amount) <> 0) b)`;
