import { Amount } from "../accounts/amount.js";
import type { ProjectId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { DatabaseRow } from "../database/transaction.js";
import { failed, type Outcome, succeeded } from "@routewright/runtime/internal/core/model/outcome.js";

/** A difference between a provider's statement and the ramp's records. */
export interface StatementDifference {
  readonly id: string;
  readonly difference:
    "missing in statement" | "missing in ramp" | "twice in statement" | "livemode" | StatementField;
  readonly ramp: string | null;
  readonly statement: string | null;
}

/** Columns of a statement beside `id`; each is optional. Amounts are compared as numbers. */
const STATEMENT_FIELDS = [
  "status",
  "currency",
  "srcAmount",
  "amountReceived",
  "totalFee",
  "refunded",
] as const;
type StatementField = (typeof STATEMENT_FIELDS)[number];
type Line = Readonly<Record<string, string>>;

/** What an order moved, by the postings on the provider's account, and when it was paid: by the provider's date where it names one. */
const MOVED = `CROSS JOIN LATERAL (SELECT COALESCE(min(provider_date) FILTER (WHERE about = 'payment'), min(posted_at) FILTER (WHERE about = 'payment')) AS paid_at,
    sum(amount) FILTER (WHERE about = 'payment') AS paid, -sum(amount) FILTER (WHERE about = 'delivery') AS delivered,
    -sum(amount) FILTER (WHERE about = 'fee') AS fees, -sum(amount) FILTER (WHERE about LIKE 'refund%') AS refunded
  FROM ramp.postings p WHERE p.project_id = i.project_id AND p.intent_id = i.id AND p.account = 'provider') m`;

/**
 * Compares the transactions of a provider with its statement, a CSV with a header: `id` (the transaction's id or the provider's
 * reference) and any of `status`, `srcAmount`, `amountReceived`, `totalFee`, `refunded`, `currency` (of the source), in any letter
 * case. Other columns are the provider's own and are not read. The statement has to list what was paid in the period, and may list
 * other orders.
 */
export async function reconcile(
  database: RampDatabase,
  projectId: ProjectId,
  {
    provider,
    statement,
    ...period
  }: ReportPeriod & { readonly provider: string; readonly statement: string },
): Promise<Outcome<readonly StatementDifference[]>> {
  const invalid = periodProblem(period);
  if (invalid !== null) return failed(invalid);
  const lines = readCsv(statement);
  if (!lines.ok) return lines;
  const rows = await database.operator.rows<StatementOrder>(
    `SELECT t.id::text AS id, t.provider_reference AS reference, t.status, COALESCE(m.paid, i.src_amount)::text AS "srcAmount",
         i.src_currency AS currency, m.delivered::text AS "amountReceived", m.fees::text AS "totalFee", COALESCE(m.refunded, 0)::text AS refunded,
         NOT i.sandbox AS livemode, p.at IS NULL OR COALESCE(p.at >= $3, true) AND COALESCE(p.at < $4, true) AS "isInPeriod"
       FROM ramp.transactions t JOIN ramp.intents i ON i.project_id = t.project_id AND i.id = t.intent_id
       ${MOVED}
       CROSS JOIN LATERAL (SELECT COALESCE(m.paid_at, t.updated_at) AS at) p
       JOIN ramp.provider_connections c ON c.project_id = i.project_id AND c.id = i.connection_id
       WHERE t.project_id = $1 AND c.code = $2 ORDER BY i.created_at, t.id`,
    [projectId, provider, period.from, period.until],
  );
  return succeeded(differences(rows, lines.value));
}

/** An order as the ramp knows it, with the fields of a statement. */
type StatementOrder = {
  readonly id: string;
  readonly reference: string | null;
  readonly livemode: boolean;
  /** Whether it was paid in the period. */
  readonly isInPeriod: boolean;
} & Readonly<Record<StatementField, string | null>>;

function differences(
  rows: readonly StatementOrder[],
  lines: readonly Line[],
): readonly StatementDifference[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const byReference = new Map(rows.map((row) => [row.reference, row]));
  const found: StatementDifference[] = [];
  const seen = new Set<StatementOrder>();
  for (const line of lines) {
    const { id = "" } = line;
    const row = byId.get(id.toLowerCase()) ?? byReference.get(id);
    if (row === undefined)
      found.push({ id, difference: "missing in ramp", ramp: null, statement: line["status"] ?? "" });
    else if (seen.has(row)) found.push({ id, difference: "twice in statement", ramp: null, statement: null });
    else found.push(...fieldDifferences(row, { ...line, status: line["status"] || listedStatus(row) }));
    if (row !== undefined) seen.add(row);
  }
  // A statement is one of live or of sandbox orders, and lists what moved money.
  const modes = new Set([...seen].map(({ livemode }) => livemode));
  if (modes.size === 2)
    for (const { id, livemode } of seen)
      if (!livemode) found.push({ id, difference: "livemode", ramp: "false", statement: null });
  for (const row of rows)
    if (
      row.isInPeriod &&
      !seen.has(row) &&
      hasMovedMoney(row) &&
      (modes.size === 0 || modes.has(row.livemode))
    )
      found.push({ id: row.id, difference: "missing in statement", ramp: row.status, statement: null });
  return found;
}

const MOVED_MONEY: ReadonlySet<string> = new Set(["SUCCESS", "REFUNDED"]);

function hasMovedMoney({ status }: StatementOrder): boolean {
  return MOVED_MONEY.has(status ?? "");
}

/** What a line without a status says: that money moved. */
function listedStatus(row: StatementOrder): string {
  return hasMovedMoney(row) ? (row.status ?? "") : "SUCCESS";
}

function fieldDifferences(row: StatementOrder, line: Line): readonly StatementDifference[] {
  return STATEMENT_FIELDS.flatMap((field) => {
    const [ramp, statement] = [row[field] ?? "", line[field]];
    if (statement === undefined || isEqual(ramp, statement)) return [];
    // A blank amount says nothing was moved; other blank cells say nothing.
    if (statement === "" && (!DECIMAL.test(ramp) || Amount.of(ramp).isZero() || !hasMovedMoney(row)))
      return [];
    return [{ id: row.id, difference: field, ramp, statement }];
  });
}

const DECIMAL = /^-?\d+(\.\d+)?$/;

function isEqual(left: string, right: string): boolean {
  return (
    left.toUpperCase() === right.toUpperCase() ||
    (DECIMAL.test(left) && DECIMAL.test(right) && Amount.of(left).equals(right))
  );
}

/** The columns that are read, by their names in lower case. */
const COLUMNS = new Map(["id", ...STATEMENT_FIELDS].map((name) => [name.toLowerCase(), name]));

/** The lines of a CSV (RFC 4180) by the names of its header. */
function readCsv(text: string): Outcome<readonly Line[]> {
  const [header = [], ...rest] = text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .map((line) => [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(cellOf));
  const names = header.map((name) => COLUMNS.get(name.toLowerCase()) ?? "");
  if (!names.includes("id")) return failed("The statement needs a header with a column `id`.");
  const twice = names.find((name, at) => name !== "" && names.indexOf(name) !== at);
  if (twice !== undefined) return failed(`The statement has the column ${twice} twice.`);
  const short = rest.findIndex((cells) => cells.length !== header.length);
  if (short !== -1)
    return failed(`Line ${String(short + 2)} of the statement has not as many cells as the header.`);
  return succeeded(
    rest.map((cells) => Object.fromEntries(names.map((name, at) => [name, (cells[at] ?? "").trim()]))),
  );
}

function cellOf([, quoted, plain = ""]: RegExpMatchArray): string {
  return quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"');
}

/** Records as a CSV. A text that a spreadsheet would take for a formula is quoted with an apostrophe. */
export function csvOf(rows: readonly object[]): string {
  const [first] = rows;
  if (first === undefined) return "";
  const cell = (value: unknown): string => {
    const text = value === null ? "" : `${value as string | number}`;
    const safe = /^[=+@\t-]/.test(text) && !DECIMAL.test(text) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = [Object.keys(first), ...rows.map((row) => Object.values(row) as unknown[])];
  return lines.map((cells) => `${cells.map(cell).join(",")}\n`).join("");
}

/** Times that narrow a report; null: no bound. */
interface ReportPeriod {
  /** Inclusive, ISO 8601. */
  readonly from: string | null;
  /** Exclusive. */
  readonly until: string | null;
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
    ${AT_PROVIDER("-", "fee")}::text AS fees, ${AT_PROVIDER("-", "refund%")}::text AS refunded,
    ${AT_PROVIDER("-", "chargeback")}::text AS "chargedBack",
    COALESCE(sum(CASE p.about WHEN 'payment' THEN -p.amount ELSE p.amount END) FILTER (WHERE p.account = 'suspense'), 0)::text AS "underAttention",
    COALESCE(sum(p.amount) FILTER (WHERE p.account = 'write_off'), 0)::text AS "writtenOff"
  FROM ramp.postings p JOIN ramp.intents i ON i.project_id = p.project_id AND i.id = p.intent_id
  JOIN ramp.provider_connections c ON c.project_id = i.project_id AND c.id = i.connection_id
  WHERE ($1::uuid IS NULL OR p.project_id = $1) AND ($2::timestamptz IS NULL OR p.posted_at >= $2)
    AND ($3::timestamptz IS NULL OR p.posted_at < $3)
  GROUP BY 1, 3, 4, 5, 6 ORDER BY 1, 3, 4, 5, 6`;

function periodProblem({ from, until }: ReportPeriod): string | null {
  const invalid = [from, until].find(
    (time) => time !== null && !(/^\d{4}-\d\d-\d\d/.test(time) && !Number.isNaN(Date.parse(time))),
  );
  return invalid == null ? null : `${invalid} is not a time such as 2026-01-31 or 2026-01-31T12:00:00Z.`;
}

/** The journal by the day (UTC) of the postings; the columns are those of the reference (runtime/ramp/docs/finance.md). */
export async function reportPostings(
  database: RampDatabase,
  projectId: ProjectId | null,
  { from, until }: ReportPeriod,
): Promise<Outcome<readonly DatabaseRow[]>> {
  const invalid = periodProblem({ from, until });
  if (invalid !== null) return failed(invalid);
  return succeeded(await database.operator.rows(REPORT, [projectId, from, until]));
}

const BALANCES = `SELECT project_id AS "projectId", provider, livemode, account, reason, currency, sum(amount)::text AS amount, count(*)::int AS intents
  FROM (SELECT p.project_id, c.code AS provider, NOT i.sandbox AS livemode, p.account, COALESCE(p.reason, '') AS reason, p.currency, sum(p.amount) AS amount
    FROM ramp.postings p JOIN ramp.intents i ON i.project_id = p.project_id AND i.id = p.intent_id
    JOIN ramp.provider_connections c ON c.project_id = i.project_id AND c.id = i.connection_id
    WHERE $1::uuid IS NULL OR p.project_id = $1 GROUP BY 1, 2, 3, 4, 5, 6, p.intent_id HAVING sum(p.amount) <> 0) b
  GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6`;

/** What is on each account now. */
export function listBalances(database: RampDatabase, projectId: ProjectId | null): Promise<DatabaseRow[]> {
  return database.operator.rows(BALANCES, [projectId]);
}
