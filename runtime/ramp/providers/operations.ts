import type { Static, TSchema } from "@sinclair/typebox";
import {
  Callback,
  Capabilities,
  Execution,
  ExecutionOrder,
  Fees,
  Instruction,
  Movement,
  Onboarding,
  OnboardingOrder,
  Pair,
  ProviderError,
  ProviderQuote,
  ProviderRequirement,
  QuoteAnswer,
  QuoteRequest,
  RailDescription,
  Receipt,
  Refund,
  RefundOrder,
  Submission,
} from "./protocol.js";

/** The messages by name; each has a table in the reference. */
export const MESSAGES = {
  Capabilities,
  RailDescription,
  Pair,
  QuoteRequest,
  QuoteAnswer,
  ProviderQuote,
  Fees,
  OnboardingOrder,
  Movement,
  Onboarding,
  ProviderRequirement,
  Submission,
  ExecutionOrder,
  Execution,
  Instruction,
  Receipt,
  Refund,
  RefundOrder,
  Callback,
  ProviderError,
} as const;

/** The operations: method, path, messages, and whether the request carries an `Idempotency-Key`. */
export const OPERATIONS = {
  capabilities: { method: "GET", path: "/capabilities", request: null, answer: Capabilities, keyed: false },
  quote: { method: "POST", path: "/quotes", request: QuoteRequest, answer: QuoteAnswer, keyed: false },
  startOnboarding: {
    method: "POST",
    path: "/onboardings",
    request: OnboardingOrder,
    answer: Onboarding,
    keyed: true,
  },
  onboarding: { method: "GET", path: "/onboardings/{id}", request: null, answer: Onboarding, keyed: false },
  submit: {
    method: "POST",
    path: "/onboardings/{id}/requirements/{code}",
    request: Submission,
    answer: Onboarding,
    keyed: false,
  },
  execute: { method: "POST", path: "/executions", request: ExecutionOrder, answer: Execution, keyed: true },
  execution: { method: "GET", path: "/executions/{id}", request: null, answer: Execution, keyed: false },
  cancel: { method: "POST", path: "/executions/{id}/cancel", request: null, answer: Execution, keyed: false },
  refund: {
    method: "POST",
    path: "/executions/{id}/refunds",
    request: RefundOrder,
    answer: Execution,
    keyed: true,
  },
} as const satisfies Readonly<Record<string, Operation>>;

interface Operation {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly request: TSchema | null;
  readonly answer: TSchema;
  readonly keyed: boolean;
}

export type OperationName = keyof typeof OPERATIONS;
export type ResponseOf<N extends OperationName> = Static<(typeof OPERATIONS)[N]["answer"]>;

/** Error code of a provider that has no order of this id. */
export const UNKNOWN_ORDER = "UNKNOWN_ORDER";
