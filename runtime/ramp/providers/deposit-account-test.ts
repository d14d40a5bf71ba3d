import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { DepositAccount, DepositAccountOrder } from "./deposit-messages.js";
import type { Movement } from "./protocol.js";
import { type HttpProvider, type ProviderReply, reasonOf } from "./provider.js";

/** A check of deposit accounts: what was expected and what came; false: it passes. */
type DepositCheck = readonly [check: string, problem: string | false];

/** The customer of a completed onboarding, and the movement that each payment to the account would be. */
interface DepositSubject {
  readonly onboardingId: string;
  readonly customerReference: string;
  readonly movement: Movement;
  readonly callbackUrl: string;
}

/** Opens and closes a deposit account. No money arrives: only the provider's bank can say that it has. */
export async function depositAccountChecks(
  provider: HttpProvider,
  subject: DepositSubject,
): Promise<readonly DepositCheck[]> {
  const [id, never] = [randomUUID(), randomUUID()];
  const unknown = await provider.depositAccount(id, null);
  const cancelled = await provider.closeDepositAccount(never);
  const late = await provider.openDepositAccount(never, orderOf(never, subject));
  const opened = await provider.openDepositAccount(id, orderOf(id, subject));
  const repeated = await provider.openDepositAccount(id, orderOf(id, subject));
  const other = { ...subject, customerReference: randomUUID() };
  const changed = await provider.openDepositAccount(id, orderOf(id, other));
  const found = await provider.depositAccount(id, null);
  const closed = await provider.closeDepositAccount(id);
  const after = await provider.depositAccount(id, null);
  const isOpened = late.kind === "answer" && late.value.status === "ACTIVE";
  return [
    ["an unknown deposit account is 404 UNKNOWN_ORDER", unknown.kind !== "unknown" && said(unknown)],
    ["a deposit account that never came is closed", wrong(cancelled, never, "CLOSED")],
    ["it is not opened after that", isOpened && said(late)],
    ["a deposit account is opened", wrong(opened, id, "ACTIVE")],
    ["it has instructions without an amount", withoutInstructions(opened)],
    ["opened again it is the same", !isSame(opened, repeated) && said(repeated)],
    ["the same id for another customer is refused", changed.kind !== "refused" && said(changed)],
    ["a look-up has the same instructions", !isSame(opened, found) && said(found)],
    ["it is closed", wrong(closed, id, "CLOSED")],
    ["it stays closed", wrong(after, id, "CLOSED")],
  ];
}

function orderOf(id: string, { movement, ...subject }: DepositSubject): string {
  const { type, src, dest, rail } = movement;
  return JSON.stringify({ id, ...subject, type, src, dest, rail } satisfies DepositAccountOrder);
}

function wrong(
  reply: ProviderReply<DepositAccount>,
  id: string,
  status: DepositAccount["status"],
): string | false {
  if (reply.kind !== "answer") return said(reply);
  const { value } = reply;
  return (value.id !== id || value.status !== status) && `${value.id} is ${value.status}`;
}

function withoutInstructions(reply: ProviderReply<DepositAccount>): string | false {
  if (reply.kind !== "answer") return said(reply);
  const [first] = reply.value.instructions;
  if (first === undefined) return "there are none";
  const { amount } = first.details;
  return amount !== undefined && `the amount is ${amount}`;
}

function isSame(left: ProviderReply<DepositAccount>, right: ProviderReply<DepositAccount>): boolean {
  if (left.kind !== "answer" || right.kind !== "answer") return false;
  return (
    left.value.id === right.value.id && isDeepStrictEqual(left.value.instructions, right.value.instructions)
  );
}

function said(reply: ProviderReply<DepositAccount>): string {
  return reply.kind === "answer" ? `it was answered as ${reply.value.status}` : reasonOf(reply);
}
