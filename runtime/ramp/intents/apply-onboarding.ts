import { isDeepStrictEqual } from "node:util";
import type { ProjectTransaction } from "../database/transaction.js";
import { TRAVEL_RULE } from "../providers/travel-rule.js";
import type { Onboarding, OnboardingOrder, ProviderRequirement } from "../providers/protocol.js";
import type { Intent } from "./intent.js";
import { canRequirementMove, isMet, type Requirement, type RequirementStatus } from "./requirement.js";
import {
  addRequirement,
  changeRequirement,
  type IntentMove,
  moveIntent,
  recordPrice,
  recordRequirement,
  recordStatus,
  writeStatus,
} from "./transitions.js";

/**
 * What a provider's list of checks changes, until the payment is made. The intent is locked and current. An answer of an attempt before the
 * recorded one moves nothing.
 */
export function applyOnboarding(
  tx: ProjectTransaction,
  intent: Intent,
  { requirements, complete = true, priceExpiresAt }: Onboarding,
): Intent {
  if (!awaitsChecks(intent)) return intent;
  const moves: RequirementMove[] = [];
  let current = priceExpiresAt === undefined ? intent : recordPriceEnd(tx, intent, priceExpiresAt);
  for (const requirement of eachOnce(requirements))
    current = applyRequirement(tx, current, requirement, moves);
  current = withdrawMissing(tx, current, requirements, moves);
  const [first, ...then] = conclusionsOf(current, complete);
  const concluded = first === undefined ? current : writeStatus(tx, current, first);
  // The status follows from the last of the moves.
  moves.forEach((move, at) => recordRequirement(tx, at < moves.length - 1 ? current : concluded, move));
  if (first !== undefined) recordStatus(tx, concluded, intent.status);
  return then.reduce<Intent>(
    (moved, { status, failureReason }) => moveIntent(tx, moved, status, failureReason),
    concluded,
  );
}

/** Until when the provider holds the price that the onboarding has accepted; another one has an end of its own. */
function recordPriceEnd(tx: ProjectTransaction, intent: Intent, expiresAt: string): Intent {
  const { price, onboardingOrder } = intent;
  const order = JSON.parse(onboardingOrder ?? "null") as OnboardingOrder | null;
  const accepted = order?.movement.quoteId;
  if (price === null || accepted === undefined || price.providerQuoteId !== accepted) return intent;
  return price.expiresAt === expiresAt ? intent : recordPrice(tx, intent, { ...price, expiresAt });
}

/** Whether a check still counts. */
function awaitsChecks({ status, transaction }: Intent): boolean {
  if (status === "PENDING_PAYMENT") return transaction === null;
  return status === "PENDING" || status === "COMPLIANCE_IN_PROGRESS";
}

type ReportedStatus = ProviderRequirement["status"];

/** The worse first. */
const WORSE: readonly ReportedStatus[] = ["FAILED", "PENDING", "IN_PROGRESS", "COMPLETED"];

/** What is listed twice counts as the worse, of its last attempt. */
function eachOnce(listed: readonly ProviderRequirement[]): readonly ProviderRequirement[] {
  const byCode = new Map<string, ProviderRequirement>();
  for (const item of listed) {
    const known = byCode.get(item.code);
    if (known === undefined || countsBefore(item, known)) byCode.set(item.code, item);
  }
  return [...byCode.values()];
}

function countsBefore(item: ProviderRequirement, other: ProviderRequirement): boolean {
  const later = (item.attempt ?? 1) - (other.attempt ?? 1);
  return later === 0 ? WORSE.indexOf(item.status) < WORSE.indexOf(other.status) : later > 0;
}

/** The statuses that lead to the reported one. */
const REQUIREMENT_PATH: Readonly<Record<ReportedStatus, readonly RequirementStatus[]>> = {
  PENDING: [],
  IN_PROGRESS: ["IN_PROGRESS"],
  COMPLETED: ["IN_PROGRESS", "COMPLETED"],
  FAILED: ["IN_PROGRESS", "FAILED"],
};

/** Those before them: of a check that is listed again, and of one where the provider needs more than an attempt gave it. */
function reopening({ status, attempt }: Requirement, reported: number): readonly RequirementStatus[] {
  if (status === "WITHDRAWN") return ["PENDING"];
  return reported > attempt ? ["IN_PROGRESS", "PENDING"] : [];
}

/** A requirement as it was after a move. */
type RequirementMove = Pick<Requirement, "code" | "status" | "reason">;

/**
 * What the provider says of a requirement is recorded where it is the recorded state, or one that it leads to.
 * @param moves gets what has moved, in order
 */
function applyRequirement(
  tx: ProjectTransaction,
  intent: Intent,
  reported: ProviderRequirement,
  moves: RequirementMove[],
): Intent {
  const { code, title, form, url = null, attempt = 1, failureReason } = reported;
  const known = intent.requirements.find((requirement) => requirement.code === code);
  if (known && attempt < known.attempt) return intent;
  const kept = known && attempt === known.attempt ? refusalOfGiven(known) : null;
  const reasonIn = (status: RequirementStatus): string | null => {
    if (status === "FAILED") return failureReason;
    return status === "PENDING" ? (failureReason ?? kept) : null;
  };
  const details = { title, form, url, attempt, reason: reasonIn(reported.status) };
  let requirement: Requirement = known ?? { code, status: "PENDING", ...details };
  let current = known ? intent : addRequirement(tx, intent, requirement);
  if (!known) moves.push(requirement);
  for (const status of [...reopening(requirement, attempt), ...REQUIREMENT_PATH[reported.status]]) {
    if (!canRequirementMove(requirement.status, status)) continue;
    requirement = { ...requirement, status, reason: reasonIn(status) };
    current = changeRequirement(tx, current, requirement);
    moves.push(requirement);
  }
  const said = { ...requirement, ...details };
  const isOld = requirement.status !== reported.status || isDeepStrictEqual(said, requirement);
  return isOld ? current : changeRequirement(tx, current, said);
}

/** Why the provider has refused what was given with the intent: its list does not repeat it. */
function refusalOfGiven({ code, status, reason }: Requirement): string | null {
  return code === TRAVEL_RULE && status === "PENDING" ? reason : null;
}

/** A check that the provider no longer lists is withdrawn, unless it has been decided. */
function withdrawMissing(
  tx: ProjectTransaction,
  intent: Intent,
  listed: readonly ProviderRequirement[],
  moves: RequirementMove[],
): Intent {
  const codes = new Set(listed.map(({ code }) => code));
  const missing = intent.requirements.filter(
    ({ code, status }) => !codes.has(code) && canRequirementMove(status, "WITHDRAWN"),
  );
  return missing.reduce((current, requirement) => {
    const withdrawn: Requirement = { ...requirement, status: "WITHDRAWN", reason: null };
    moves.push(withdrawn);
    return changeRequirement(tx, current, withdrawn);
  }, intent);
}

/** The moves of the intent that follow from its requirements. */
function conclusionsOf({ status, requirements }: Intent, isListComplete: boolean): readonly IntentMove[] {
  const move = (to: IntentMove["status"], failureReason: string | null = null): IntentMove => ({
    status: to,
    failureReason,
  });
  const failed = requirements.find((requirement) => requirement.status === "FAILED");
  if (failed) {
    const end = move("COMPLIANCE_FAILED", failed.reason ?? `${failed.title} failed.`);
    return status === "PENDING_PAYMENT" ? [move("COMPLIANCE_IN_PROGRESS"), end] : [end];
  }
  if (isListComplete && requirements.every(isMet))
    return status === "PENDING_PAYMENT" ? [] : [move("COMPLIANCE_APPROVED"), move("PENDING_PAYMENT")];
  return status === "COMPLIANCE_IN_PROGRESS" ? [] : [move("COMPLIANCE_IN_PROGRESS")];
}
