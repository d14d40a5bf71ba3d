import type {
  Callback,
  Capabilities,
  Execution,
  ExecutionOrder,
  Onboarding,
  OnboardingOrder,
  ProviderQuote,
  QuoteRequest,
  Submission,
} from "./protocol.js";

/** What a provider said: an answer, a refusal that no repetition changes, or nothing that can be relied on. */
export type Reply<T> =
  | { readonly kind: "answer"; readonly value: T }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | { readonly kind: "unavailable"; readonly reason: string };

/** A call is given up at this time, whatever the provider's own limit is. */
export interface CallLimit {
  readonly timeoutMs: number;
}

/**
 * The seam to whoever moves the money. Orders carry our own ids and an idempotency key that follows from them: repeating
 * an order changes nothing. Nothing here throws for what a provider does.
 */
export interface Provider {
  capabilities(): Promise<Reply<Capabilities>>;
  /** Null: the provider does not offer the path. */
  quote(request: QuoteRequest, limit?: CallLimit): Promise<Reply<ProviderQuote | null>>;
  startOnboarding(order: OnboardingOrder): Promise<Reply<Onboarding>>;
  onboarding(id: string): Promise<Reply<Onboarding>>;
  /** Hands in what a requirement's form asks for. */
  submit(id: string, code: string, submission: Submission): Promise<Reply<Onboarding>>;
  execute(order: ExecutionOrder): Promise<Reply<Execution>>;
  execution(id: string): Promise<Reply<Execution>>;
  /** Also for an order that never arrived, which is refused from then on. Money already on its way is told by the status. */
  cancel(id: string): Promise<Reply<Execution>>;
  /** The callback, or null when it is not the provider's own or too old. */
  verifyCallback(headers: CallbackHeaders, body: string): Callback | null;
}

export interface CallbackHeaders {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}
