import type { Intent } from "./intent.js";

/** What is to be done next about an intent. */
export type Step =
  | "startOnboarding"
  | "checkOnboarding"
  /** Open the transaction by itself (`autoExecute`). */
  | "openTransaction"
  | "execute"
  | "checkExecution"
  /** Its time is over, and the provider must let go of the transaction first. */
  | "cancelExecution"
  | "expire"
  /** Nothing, until somebody acts or time passes. */
  | "rest";

/** How far a driver has come: nothing asked yet, the provider has answered, or a call came to nothing. */
export type Progress = "fresh" | "answered" | "lost";

export function nextStep(intent: Intent, now: Date, progress: Progress): Step {
  const isOver = intent.expiresAt <= now;
  if (progress === "lost") return "rest";
  switch (intent.status) {
    case "PENDING":
    case "COMPLIANCE_IN_PROGRESS":
      if (isOver) return "expire";
      if (progress === "answered") return "rest";
      return intent.status === "PENDING" ? "startOnboarding" : "checkOnboarding";
    case "COMPLIANCE_APPROVED":
    case "PENDING_PAYMENT":
      return paymentStep(intent, isOver);
    case "TRANSACTION_IN_PROGRESS":
      if (progress === "answered") return "rest";
      return isOver ? "cancelExecution" : "checkExecution";
    case "COMPLETED":
    case "COMPLIANCE_FAILED":
    case "TRANSACTION_FAILED":
    case "EXPIRED":
    case "CANCELLED":
      return "rest";
  }
}

function paymentStep({ transaction, autoExecute }: Intent, isOver: boolean): Step {
  if (transaction !== null) return isOver ? "cancelExecution" : "execute";
  if (isOver) return "expire";
  return autoExecute ? "openTransaction" : "rest";
}
