/**
 * The named ways in which the conformance provider misbehaves. An intent's amount chooses its way, so that all of them run
 * side by side; `ends` is how the intent must end.
 */

/** What an intent must come to. `attention`: it is flagged for the operator. */
export type End =
  "COMPLETED" | "REFUNDED" | "TRANSACTION_FAILED" | "CANCELLED" | "EXPIRED" | "attention" | "by truth";

export interface Mode {
  readonly ends: End;
  /** The order is carried out, then the connection is dropped; repeats get this status. */
  readonly lostThen?: { readonly step: "onboarding" | "execution"; readonly status: number };
  /** Status of each answer to an execution order that is not carried out. */
  readonly refuse?: number;
  /** Orders of this kind are refused for their price until they come with another one, under another key. */
  readonly repriced?: "onboarding" | "execution";
  /** Refuses the order, but carries it out all the same. */
  readonly refuseAndExecute?: true;
  /** Number of first answers of a step that go wrong, and how. */
  readonly garble?: {
    readonly step: "execute" | "execution" | "onboarding";
    readonly times: number;
    readonly how:
      "500" | "html-404" | "wrong-types" | "wrong-id" | "oversized" | "redirect" | "empty" | "reset";
  };
  /** The order is carried out this long after its arrival; until then repeats get 409 and a look-up finds nothing. */
  readonly lateMs?: number;
  readonly slowMs?: number;
  readonly callbacks?: "none" | "tenfold" | "reversed" | "forged" | "before the answer";
  /** Statuses that the execution goes through. */
  readonly path?: readonly string[];
  /** Once the order is carried out, the customer cancels or the intent expires; it continues when the provider refuses to cancel. */
  readonly stops?: "cancelled" | "expired";
  /** How the provider handles a cancel; default: it refuses. `lostThen`: the connection is dropped, repeats get this status. */
  readonly cancel?: "accepted" | { readonly lostThen: number };
  /** How the list of checks changes after the first answer: its check is missing; it was empty and not complete; it had the check twice. */
  readonly checks?: "leaves" | "later" | "twice";
  readonly text?: string;
  readonly instructions?: "late" | "wrong amount" | "control characters";
}

const lost = (step: "onboarding" | "execution", status: number): Mode => ({
  ends: "COMPLETED",
  lostThen: { step, status },
});
const REFUSALS = [400, 401, 403, 404, 409, 410, 422] as const;

export const MODES: Readonly<Record<string, Mode>> = {
  "well behaved": { ends: "COMPLETED" },
  ...Object.fromEntries(
    (["onboarding", "execution"] as const).flatMap((step) =>
      REFUSALS.map((status) => [`${step} answer lost, then ${String(status)}`, lost(step, status)] as const),
    ),
  ),
  "order refused with 400": { ends: "TRANSACTION_FAILED", refuse: 400 },
  "order refused with 409": { ends: "TRANSACTION_FAILED", refuse: 409 },
  "order refused with 422": { ends: "TRANSACTION_FAILED", refuse: 422 },
  "onboarding refused for its price": { ends: "COMPLETED", repriced: "onboarding" },
  "order refused for its price": { ends: "COMPLETED", repriced: "execution" },
  "gateway answers each order with 403": { ends: "attention", refuse: 403 },
  "gateway answers each order with 404": { ends: "attention", refuse: 404 },
  "order refused with 422 and carried out": { ends: "COMPLETED", refuse: 422, refuseAndExecute: true },
  "order carried out long after it was given up": { ends: "by truth", lateMs: 1_500 },
  "slow answers": { ends: "COMPLETED", slowMs: 300 },
  "no callbacks": { ends: "COMPLETED", callbacks: "none" },
  "callbacks tenfold": { ends: "COMPLETED", callbacks: "tenfold" },
  "callbacks in reverse": { ends: "COMPLETED", callbacks: "reversed" },
  "forged callbacks": { ends: "TRANSACTION_FAILED", callbacks: "forged", path: ["PROCESSING", "FAILED"] },
  "callback before the answer": { ends: "COMPLETED", callbacks: "before the answer" },
  "server errors": { ends: "COMPLETED", garble: { step: "execute", times: 3, how: "500" } },
  "empty answers": { ends: "COMPLETED", garble: { step: "execute", times: 3, how: "empty" } },
  "wrong types": { ends: "COMPLETED", garble: { step: "execute", times: 4, how: "wrong-types" } },
  "wrong types on look-up": {
    ends: "COMPLETED",
    garble: { step: "execution", times: 4, how: "wrong-types" },
  },
  "wrong types on onboarding": {
    ends: "COMPLETED",
    garble: { step: "onboarding", times: 4, how: "wrong-types" },
  },
  "another order's id": { ends: "COMPLETED", garble: { step: "execute", times: 4, how: "wrong-id" } },
  "another order's id on look-up": {
    ends: "COMPLETED",
    garble: { step: "execution", times: 4, how: "wrong-id" },
  },
  "oversized answers": { ends: "COMPLETED", garble: { step: "execute", times: 2, how: "oversized" } },
  redirects: { ends: "COMPLETED", garble: { step: "execute", times: 4, how: "redirect" } },
  "connections reset": { ends: "COMPLETED", garble: { step: "execution", times: 4, how: "reset" } },
  "gateway pages on look-up": { ends: "COMPLETED", garble: { step: "execution", times: 4, how: "html-404" } },
  "onboarding look-up fails": { ends: "COMPLETED", garble: { step: "onboarding", times: 4, how: "500" } },
  "status goes back": { ends: "COMPLETED", path: ["PROCESSING", "AWAITING_FUNDS", "PROCESSING", "SUCCESS"] },
  "refuses to cancel": { ends: "COMPLETED", stops: "cancelled" },
  "refuses to cancel what has expired": { ends: "COMPLETED", stops: "expired" },
  "accepts to cancel": { ends: "CANCELLED", stops: "cancelled", cancel: "accepted", path: [] },
  ...Object.fromEntries(
    REFUSALS.map((status): [string, Mode] => [
      `cancel answer lost, then ${String(status)}`,
      { ends: "CANCELLED", stops: "cancelled", cancel: { lostThen: status }, path: [] },
    ]),
  ),
  "accepts to cancel what has expired": { ends: "EXPIRED", stops: "expired", cancel: "accepted", path: [] },
  "success at once": { ends: "COMPLETED", path: ["SUCCESS"] },
  failure: { ends: "TRANSACTION_FAILED", path: ["PROCESSING", "FAILED"] },
  "cancelled by the provider": { ends: "CANCELLED", path: ["CANCELLED"] },
  "refund after success": { ends: "REFUNDED", path: ["PROCESSING", "SUCCESS", "REFUNDED"] },
  "failure after success": { ends: "attention", path: ["PROCESSING", "SUCCESS", "FAILED"] },
  "success after failure": { ends: "attention", path: ["PROCESSING", "FAILED", "SUCCESS"] },
  "unknown status": { ends: "attention", path: ["TELEPORTED"] },
  "control characters": { ends: "COMPLETED", text: "a\0b\u0007c\ud800d", instructions: "control characters" },
  "instructions after the first answer": { ends: "COMPLETED", instructions: "late" },
  "a check leaves the list": { ends: "COMPLETED", checks: "leaves" },
  "checks are listed later": { ends: "COMPLETED", checks: "later" },
  "a check is listed twice": { ends: "COMPLETED", checks: "twice" },
  "instructions for another amount": { ends: "COMPLETED", instructions: "wrong amount" },
};

export const MODE_NAMES = Object.keys(MODES);

/** For the runs with a crash, one status of each kind is enough: one that refuses, one of a gateway, one that knows no order. */
export const CRASH_MODES = MODE_NAMES.filter((mode) => !/answer lost, then (400|401|409|410)$/.test(mode));

/** The amount that stands for a mode. */
export const amountOf = (mode: string): string => `${String(100 + MODE_NAMES.indexOf(mode))}.00`;

export function modeOf(amount: string): Mode {
  const mode = MODES[MODE_NAMES[Math.floor(Number(amount)) - 100] ?? ""];
  if (mode === undefined) throw new Error(`No mode has the amount ${amount}.`);
  return mode;
}
