import {
  flag,
  oneOf,
  orNull,
  record,
  type ValueOf,
  wholeNumber,
} from "@routewright/runtime/internal/core/model/schema.js";
import { Amount, type PercentText, type AmountText } from "../accounts/amount.js";
import { REFUSAL_REASONS } from "../providers/refusal-reasons.js";

const Milliseconds = wholeNumber(0, 600_000);
const PercentText = wholeNumber(1, 1_000);

/** Faults of a provider that can be switched on to try the ramp out. */
const SWITCHES = {
  /** How long a deposit takes to arrive, and again to settle. */
  settleMs: Milliseconds,
  /** Added to every answer. */
  slowMs: Milliseconds,
  /** So many of the next calls are answered with 500. */
  failNext: wholeNumber(0, 1_000_000),
  /** What a request of a quote gets: an offer that costs a cent more than the one before or contradicts itself, or a 500. */
  quote: oneOf(["offer", "dearer", "none", "invalid", "fail"]),
  /** How long a held price is held; null: as long as the provider does. */
  holdMs: orNull(Milliseconds),
  /** How long a price is held that an onboarding has accepted; null: until the payment. */
  keepMs: orNull(Milliseconds),
  /** Whether customers are checked whose identity is known, or who need no check. */
  checkAll: flag,
  /** Outcome of an identity check whose form is not submitted, or where the check is. */
  onboarding: oneOf([
    ...["wait", "approve", "reject", "refuse", "more", "page", "stall", "later", "withdraw", "twice"],
  ] as const),
  /** Why an onboarding that is refused is. `PRICE` and `MAINTENANCE`: the first one of each intent alone. */
  refusal: oneOf(REFUSAL_REASONS),
  /** The first answer to each order: not carried out, or carried out and then lost, no message of the protocol, or after 9 s. */
  firstAnswer: oneOf(["given", "fail", "lose", "garble", "delay"]),
  /** What becomes of an execution. */
  execution: oneOf([
    ...["settle", "fail", "refuse", "stall", "page", "reverse", "contradict", "rename", "forget", "break"],
    "reprice",
  ] as const),
  /** Whether the customer can pay by the instructions. */
  instructions: oneOf(["valid", "invalid"]),
  /** How much of the ordered amount arrives, in percent. */
  sentPercent: PercentText,
  /** How much of its price is delivered, in percent; null: the receipt does not say. */
  deliveredPercent: orNull(PercentText),
  /** What becomes of a refund: done at once, refused, PENDING and then done or failed, PENDING for good, or taken and not listed. */
  refunds: oneOf(["accept", "refuse", "settle", "fail", "stall", "omit", "rename"]),
  /** Extra copies of every callback. */
  duplicates: wholeNumber(0, 20),
  /** How late every callback is. */
  lateMs: Milliseconds,
  /** Whether a callback comes after the one that follows it. */
  reorder: flag,
  /** No callbacks at all. */
  mute: flag,
};
export const Switches = record(SWITCHES);
export type Switches = ValueOf<typeof Switches>;

export const SwitchChange = record({}, SWITCHES);
export type SwitchChange = ValueOf<typeof SwitchChange>;

export const DEFAULT_SWITCHES: Switches = {
  settleMs: 1_500,
  slowMs: 0,
  failNext: 0,
  quote: "offer",
  holdMs: null,
  keepMs: null,
  checkAll: false,
  onboarding: "wait",
  refusal: "IDENTITY",
  firstAnswer: "given",
  execution: "settle",
  instructions: "valid",
  sentPercent: 100,
  deliveredPercent: 100,
  refunds: "accept",
  duplicates: 0,
  lateMs: 0,
  reorder: false,
  mute: false,
};

const refusedFor = (refusal: Switches["refusal"]): SwitchChange => ({ onboarding: "refuse", refusal });

const checked = (onboarding: Switches["onboarding"]): SwitchChange => ({ onboarding, checkAll: true });

/** Amounts of the source that set switches for their request alone (runtime/ramp/docs/sandbox.md, Magic amounts). */
export const MAGIC_AMOUNTS: ReadonlyMap<string, SwitchChange> = new Map<string, SwitchChange>([
  ["44.01", { quote: "none" }],
  ["44.02", { quote: "invalid" }],
  ["44.03", { quote: "fail" }],
  ["44.04", { holdMs: 1_000 }],
  ["44.05", { quote: "dearer", keepMs: 2_000 }],
  ["44.06", { quote: "dearer", execution: "reprice" }],
  ["44.11", { onboarding: "refuse" }],
  ["44.12", checked("reject")],
  ["44.13", checked("approve")],
  ["44.14", checked("more")],
  ["44.15", checked("page")],
  ["44.16", checked("stall")],
  ["44.17", checked("later")],
  ["44.18", checked("withdraw")],
  ["44.19", checked("twice")],
  ["44.21", { execution: "refuse" }],
  ["44.22", { execution: "fail" }],
  ["44.23", { execution: "stall" }],
  ["44.24", { sentPercent: 60 }],
  ["44.25", { sentPercent: 150 }],
  ["44.26", { deliveredPercent: 50 }],
  ["44.27", { deliveredPercent: null }],
  ["44.28", { execution: "page" }],
  ["44.29", { instructions: "invalid" }],
  ["44.31", { execution: "reverse" }],
  ["44.32", { refunds: "refuse" }],
  ["44.33", { execution: "contradict" }],
  ["44.34", { execution: "rename" }],
  ["44.35", { execution: "forget" }],
  ["44.36", { execution: "break" }],
  ["44.41", { firstAnswer: "fail" }],
  ["44.42", { firstAnswer: "lose" }],
  ["44.43", { firstAnswer: "garble" }],
  ["44.44", { firstAnswer: "delay" }],
  ["44.51", { mute: true }],
  ["44.52", { lateMs: 3_000 }],
  ["44.53", { duplicates: 2 }],
  ["44.54", { reorder: true }],
  ["44.61", { refunds: "settle" }],
  ["44.62", { refunds: "fail" }],
  ["44.63", { refunds: "stall" }],
  ["44.64", { refunds: "omit" }],
  ["44.65", { refunds: "rename" }],
  ["44.71", refusedFor("PRICE")],
  ["44.72", refusedFor("MAINTENANCE")],
  ["44.73", refusedFor("LIMIT")],
  ["44.74", refusedFor("COUNTRY")],
  ["44.75", refusedFor("ACCOUNT")],
]);

export function switchesFor(general: Switches, srcAmount: AmountText): Switches {
  return { ...general, ...MAGIC_AMOUNTS.get(Amount.of(srcAmount).text()) };
}
