import type { ProjectId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import { failed, type Outcome, succeeded } from "../../model/outcome.js";

/** Times that narrow a report; null: no bound. */
export interface Period {
  /** Inclusive, ISO 8601. */
  readonly from: string | null;
  /** Exclusive. */
  readonly until: string | null;
}

/** The postings of a day, a project, a provider and a currency. Amounts are decimal texts. */
interface ReportRow {
  readonly day: string;
  /** Whether the day is over: its row never changes again. */
  readonly closed: boolean;
  readonly projectId: string;
  readonly provider: string;
  /** False: no real money. */
  readonly livemode: boolean;
  readonly currency: string;
  /** Orders placed and payments received that day. */
  readonly orders: number;
  readonly payments: number;
  /** What customers owe for orders, and what they are owed; orders that ended without money take both back. */
  readonly ordered: string;
  readonly promised: string;
  /** By the provider's reports. */
  readonly received: string;
  readonly delivered: string;
  readonly fees: string;
  readonly refunded: string;
  readonly chargedBack: string;
  /** Amounts that came under attention, less those that were resolved. */
  readonly underAttention: string;
  /** What operators accepted as it was. */
  readonly writtenOff: string;
}

/** A provider's account, by what the amounts are about; what leaves the provider is negative there. */
const AT_PROVIDER = (sign: string, about: string): string =>
  `COALESCE(sum(${sign}p.amount) FILTER (WHERE p.account = 'provider' AND p.about LIKE '${about}'), 0)`;
const OF_ORDERS = "p.account = 'customer' AND p.kind IN ('order', 'void')";

/** A posting does not reach a report later than this: statements and transactions are shorter (database/ramp-database.ts). */
const CLOSES_AFTER = "interval '1 day 10 minutes'";

const REPORT = `SELECT to_char(p.posted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
    bool_and(date_trunc('day', p.posted_at, 'UTC') + ${CLOSES_AFTER} < now()) AS closed,
    p.project_id AS "projectId", c.code AS provider, NOT i.sandbox AS livemode, p.currency,
    (count(*) FILTER (WHERE p.kind = 'order' AND p.account = 'customer' AND p.currency = i.src_currency))::int AS orders,
    (count(*) FILTER (WHERE p.kind = 'receipt' AND p.account = 'provider'))::int AS payments,
    COALESCE(sum(p.amount) FILTER (WHERE ${OF_ORDERS} AND p.currency = i.src_currency), 0)::text AS ordered,
    COALESCE(sum(-p.amount) FILTER (WHERE ${OF_ORDERS} AND p.currency = i.dest_currency), 0)::text AS promised,
    ${AT_PROVIDER("", "payment")}::text AS received, ${AT_PROVIDER("-", "delivery")}::text AS delivered,
    ${AT_PROVIDER("-", "fee")}::text AS fees, ${AT_PROVIDER("-", "refund %")}::text AS refunded,
    ${AT_PROVIDER("-", "chargeback")}::text AS "chargedBack",
    COALESCE(sum(CASE p.about WHEN 'payment' THEN -p.amount ELSE p.amount END) FILTER (WHERE p.account = 'suspense'), 0)::text AS "underAttention",
    COALESCE(sum(p.amount) FILTER (WHERE p.account = 'write_off'), 0)::text AS "writtenOff"
  FROM ramp.postings p JOIN ramp.intents i ON i.project_id = p.project_id AND i.id = p.intent_id
  JOIN ramp.provider_connections c ON c.project_id = i.project_id AND c.id = i.connection_id
  WHERE ($1::uuid IS NULL OR p.project_id = $1) AND ($2::timestamptz IS NULL OR p.posted_at >= $2)
    AND ($3::timestamptz IS NULL OR p.posted_at < $3)
  GROUP BY 1, 3, 4, 5, 6 ORDER BY 1, 3, 4, 5, 6`;

export function periodProblem({ from, until }: Period): string | null {
  const invalid = [from, until].find(
    (time) => time !== null && !(/^\d{4}-\d\d-\d\d/.test(time) && !Number.isNaN(Date.parse(time))),
  );
  return invalid == null ? null : `${invalid} is not a time such as 2026-01-31 or 2026-01-31T12:00:00Z.`;
}

/** The journal by the day (UTC) of the postings (runtime/ramp/docs/finance.md). */
export async function reportPostings(
  database: RampDatabase,
  projectId: ProjectId | null,
  { from, until }: Period,
): Promise<Outcome<readonly ReportRow[]>> {
  const invalid = periodProblem({ from, until });
  if (invalid !== null) return failed(invalid);
  return succeeded(await database.asOperator((tx) => tx.rows<ReportRow>(REPORT, [projectId, from, until])));
}

/** What is on an account now. */
interface BalanceRow {
  readonly projectId: string;
  readonly provider: string;
  readonly livemode: boolean;
  readonly account: string;
  /** Why amounts are in suspense; empty for other accounts. */
  readonly reason: string;
  readonly currency: string;
  readonly amount: string;
  /** Intents whose balance is not zero. */
  readonly intents: number;
}

const BALANCES = `SELECT project_id AS "projectId", provider, livemode, account, reason, currency, sum(amount)::text AS amount, count(*)::int AS intents
  FROM (SELECT p.project_id, c.code AS provider, NOT i.sandbox AS livemode, p.account, COALESCE(p.reason, '') AS reason, p.currency, sum(p.amount) AS amount
    FROM ramp.postings p JOIN ramp.intents i ON i.project_id = p.project_id AND i.id = p.intent_id
    JOIN ramp.provider_connections c ON c.project_id = i.project_id AND c.id = i.connection_id
    WHERE $1::uuid IS NULL OR p.project_id = $1 GROUP BY 1, 2, 3, 4, 5, 6, p.intent_id HAVING sum(p.amount) <> 0) b
  GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6`;

export function listBalances(database: RampDatabase, projectId: ProjectId | null): Promise<BalanceRow[]> {
  return database.asOperator((tx) => tx.rows<BalanceRow>(BALANCES, [projectId]));
}
