import type { Schema } from "@routewright/runtime/internal/core/model/schema.js";
import { BrokenCircuitError } from "cockatiel";
import { sendRequest } from "@routewright/runtime/internal/core/http/outbound-http.js";
import { stringify } from "../core/exact-json.js";
import { check, parseJson, type Violation, violations } from "../core/json-schema.js";
import { withCutTexts } from "./message-fields.js";
import { capabilitiesProblem, formsProblem } from "./answer-problems.js";
import type { RampMetrics } from "../core/ramp-metrics.js";
import { type CallRule, CALLS } from "./calls.js";
import { type CallPolicy, DEFAULT_CALL_POLICY, policiesOf } from "./call-policy.js";
import {
  OPERATIONS,
  type OperationName,
  type ResponseOf,
  targetOf,
  type TargetOf,
  UNKNOWN_ORDER,
} from "./operations.js";
import {
  Callback,
  type Capabilities,
  type Execution,
  type Onboarding,
  ProviderError,
  type ProviderQuote,
  type QuoteRequest,
  type RefundOrder,
  type Submission,
} from "./protocol.js";
import type { DepositAccount } from "./deposit-messages.js";
import type { RefusalReason } from "./refusal-reasons.js";
import { type CallbackHeaders, isSignedCallback, REQUEST_HEADERS, requestSignature } from "./signature.js";

/**
 * The outcome of a call. `refused`: the provider refuses the order itself. `unknown`: it has no such order. `invalid`: its answer about
 * this order does not match the protocol. `unavailable`: everything else. With both the order may or may not have been carried out.
 */
export type ProviderReply<T> =
  | { readonly kind: "answer"; readonly value: T }
  | RefusedReply
  | { readonly kind: "unknown" }
  | { readonly kind: "invalid"; readonly reason: string }
  /** `isOutage`: no order gets an answer, as after a timeout, a refused connection and 5xx. */
  | { readonly kind: "unavailable"; readonly reason: string; readonly isOutage: boolean };

/** `reason`: of an onboarding, where the provider says it. */
export interface RefusedReply {
  readonly kind: "refused";
  readonly code: string;
  readonly message: string;
  readonly reason?: RefusalReason;
}

/** A call without a result. */
export type NoAnswer = Exclude<ProviderReply<unknown>, { readonly kind: "answer" }>;

/** Why a call has no result, for the log. */
export function reasonOf(reply: NoAnswer): string {
  switch (reply.kind) {
    case "refused":
      return `refused: ${reply.code}`;
    case "unknown":
      return "unknown order";
    case "invalid":
    case "unavailable":
      return reply.reason;
  }
}

/** A provider that moves money, as the parts that call it see it. */
export type Provider = Pick<HttpProvider, keyof HttpProvider>;

export interface HttpProviderOptions {
  readonly url: string;
  readonly keyId: string;
  readonly secret: string;
  readonly calls?: CallPolicy | undefined;
  /** Counts its calls, under the provider's code. */
  readonly counted?: { readonly code: string; readonly metrics: RampMetrics } | undefined;
}

interface Call {
  readonly target: string;
  /** Empty without one. */
  readonly body: string;
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
}

/**
 * Speaks the provider protocol to a server (protocol.ts): signed requests, time limit, retries and a circuit breaker. Orders carry our own
 * ids and an idempotency key derived from them: repeating an order changes nothing. Failures of a provider are values, never exceptions
 * (runtime/ramp/docs/provider-protocol.md).
 */
export class HttpProvider {
  readonly #options: HttpProviderOptions;
  readonly #policies: ReturnType<typeof policiesOf>;
  readonly #calls: CallPolicy;
  #lastFailure = "";

  constructor(options: HttpProviderOptions) {
    const { calls = DEFAULT_CALL_POLICY, counted } = options;
    const countOpen = (change: 1 | 0 | -1): void => counted?.metrics.countOpenBreakers(counted.code, change);
    countOpen(0);
    this.#options = options;
    this.#calls = calls;
    this.#policies = policiesOf(calls, countOpen);
  }

  async capabilities(): Promise<ProviderReply<Capabilities>> {
    return checked(await this.#call("capabilities", {}), capabilitiesProblem);
  }

  /** Null: the provider does not offer the path. */
  async quote(request: QuoteRequest): Promise<ProviderReply<ProviderQuote | null>> {
    const reply = await this.#call("quote", { body: JSON.stringify(request) });
    return reply.kind === "answer" ? { kind: "answer", value: reply.value.quote } : reply;
  }

  /**
   * @param order the bytes of an `OnboardingOrder`; repeats send the same
   * @param attempt grows with each other content, after a refusal
   */
  async startOnboarding(id: string, order: string, attempt = 1): Promise<ProviderReply<Onboarding>> {
    const idempotencyKey = keyOf("onboarding", id, attempt);
    return checked(await this.#call("startOnboarding", { body: order, idempotencyKey }), formsProblem);
  }

  async onboarding(id: string): Promise<ProviderReply<Onboarding>> {
    return checked(await this.#call("onboarding", { path: { id } }), formsProblem);
  }

  /** Submits the form of a requirement. */
  async submit(id: string, code: string, submission: Submission): Promise<ProviderReply<Onboarding>> {
    const body = stringify(submission);
    return checked(await this.#call("submit", { path: { id, code }, body }), formsProblem);
  }

  /**
   * @param order the bytes of an `ExecutionOrder`; repeats send the same
   * @param attempt grows with each other price, after a refusal for the price
   */
  execute(id: string, order: string, attempt = 1): Promise<ProviderReply<Execution>> {
    return this.#call("execute", { body: order, idempotencyKey: keyOf("execution", id, attempt) });
  }

  execution(id: string): Promise<ProviderReply<Execution>> {
    return this.#call("execution", { path: { id } });
  }

  /** Cancels an execution, also one that never arrived: it is refused from then on. */
  cancel(id: string): Promise<ProviderReply<Execution>> {
    return this.#call("cancel", { path: { id } });
  }

  refund(id: string, order: RefundOrder): Promise<ProviderReply<Execution>> {
    const idempotencyKey = `refund:${order.id}`;
    return this.#call("refund", { path: { id }, body: JSON.stringify(order), idempotencyKey });
  }

  cancelRefund(id: string, refundId: string): Promise<ProviderReply<Execution>> {
    return this.#call("cancelRefund", { path: { id, refundId } });
  }

  /** @param order the bytes of a `DepositAccountOrder`; repeats send the same */
  openDepositAccount(id: string, order: string): Promise<ProviderReply<DepositAccount>> {
    return this.#call("openDepositAccount", { body: order, idempotencyKey: `deposit-account:${id}` });
  }

  /** @param after the payment after which the list begins; null: with the first */
  depositAccount(id: string, after: string | null): Promise<ProviderReply<DepositAccount>> {
    return this.#call("depositAccount", { path: { id }, query: after === null ? {} : { after } });
  }

  /** Closes a deposit account, also one that was never opened: it is refused from then on. */
  closeDepositAccount(id: string): Promise<ProviderReply<DepositAccount>> {
    return this.#call("closeDepositAccount", { path: { id } });
  }

  /** The callback; what is wrong with one that is signed; or null when its signature is wrong or too old. */
  verifyCallback(headers: CallbackHeaders, body: string): Callback | readonly Violation[] | null {
    if (!isSignedCallback(this.#options.secret, headers, body)) return null;
    const value = parseJson(body);
    if (value === undefined) return [{ path: "", message: "is not JSON" }];
    return check(Callback, value) ? value : violations(Callback, value);
  }

  async #call<N extends OperationName>(
    name: N,
    { path, query, ...overrides }: TargetOf<N> & Partial<Pick<Call, "body" | "idempotencyKey">>,
  ): Promise<ProviderReply<ResponseOf<N>>> {
    const { attempts }: CallRule = CALLS[name];
    const timeoutMs = this.#calls[attempts === 1 ? "quoteTimeoutMs" : "timeoutMs"];
    const call: Call = {
      ...{ target: targetOf(name, path, query), timeoutMs, body: "", idempotencyKey: "" },
      ...overrides,
    };
    const policy = this.#policies[attempts === 1 ? "breaker" : "retries"];
    try {
      const reply = await policy.execute(() => this.#attempt(name, call));
      if (reply.kind === "unavailable") this.#lastFailure = reply.reason;
      return reply;
    } catch (error) {
      if (error instanceof BrokenCircuitError)
        return { kind: "unavailable", reason: `circuit open after: ${this.#lastFailure}`, isOutage: true };
      throw error;
    }
  }

  async #attempt<N extends OperationName>(name: N, call: Call): Promise<ProviderReply<ResponseOf<N>>> {
    const startedAt = performance.now();
    const reply = await this.#request(name, call);
    const milliseconds = performance.now() - startedAt;
    const { code: provider, metrics } = this.#options.counted ?? {};
    if (provider)
      metrics?.countProviderCall({ provider, operation: name, outcome: reply.kind }, milliseconds);
    return reply;
  }

  async #request<N extends OperationName>(name: N, call: Call): Promise<ProviderReply<ResponseOf<N>>> {
    const { method } = OPERATIONS[name];
    const answer = OPERATIONS[name].answer as Schema as Schema<ResponseOf<N>>;
    const url = new URL(this.#options.url.replace(/\/+$/, "") + call.target);
    const { body, idempotencyKey, timeoutMs } = call;
    const headers = this.#headers(method, url, body, idempotencyKey);
    const result = await sendRequest({ url, method, body, headers, timeoutMs });
    if (result.kind === "failed") return failedReply(result.reason);
    if (result.kind === "unreadable" && isSuccess(result.status))
      return { kind: "invalid", reason: result.reason };
    const message = result.kind === "answered" ? sanitized(parseJson(result.body)) : undefined;
    if (!isSuccess(result.status)) return errorReply(result.status, withCutTexts(ProviderError, message));
    const value = withCutTexts(answer, message);
    return check(answer, value)
      ? { kind: "answer", value }
      : { kind: "invalid", reason: wrongField(answer, value) };
  }

  #headers(method: string, url: URL, body: string, idempotencyKey: string): Record<string, string> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const target = url.pathname + url.search;
    const { secret, keyId } = this.#options;
    const signature = requestSignature(secret, { timestamp, method, target, idempotencyKey, body });
    return {
      accept: "application/json",
      ...(body === "" ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === "" ? {} : { "idempotency-key": idempotencyKey }),
      [REQUEST_HEADERS.keyId]: keyId,
      [REQUEST_HEADERS.timestamp]: timestamp,
      [REQUEST_HEADERS.signature]: signature,
    };
  }
}

function keyOf(kind: "onboarding" | "execution", id: string, attempt: number): string {
  return `${kind}:${id}${attempt === 1 ? "" : `:${String(attempt)}`}`;
}

/** An answer beyond its schema. */
function checked<T>(reply: ProviderReply<T>, problemOf: (value: T) => string | null): ProviderReply<T> {
  const problem = reply.kind === "answer" ? problemOf(reply.value) : null;
  return problem === null ? reply : { kind: "invalid", reason: problem };
}

/** Statuses that refuse an order. 403 and 404 are not among them: a gateway sends them too. */
const REFUSALS: ReadonlySet<number> = new Set([400, 409, 410, 422]);

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** The field that does not match, and its bound or pattern. */
function wrongField(schema: Schema, value: unknown): string {
  const [{ path, message } = { path: "", message: "is not valid" }] = violations(schema, value);
  return `the response does not match the provider protocol: ${path === "" ? "it" : path} ${message}`;
}

/** An answer that is no HTTP is one, of one order. */
function failedReply(reason: string): ProviderReply<never> {
  const isAnswer = reason.startsWith("HPE_") || reason.startsWith("unexpected ");
  return { kind: "unavailable", reason, isOutage: !isAnswer };
}

function errorReply(status: number, value: unknown): ProviderReply<never> {
  const isError = check(ProviderError, value);
  if (isError && status === 404 && value.error === UNKNOWN_ORDER) return { kind: "unknown" };
  if (isError && REFUSALS.has(status)) {
    const { error: code, message, reason } = value;
    return { kind: "refused", code, message, ...(reason !== undefined && { reason }) };
  }
  // What looks like a refusal and cannot be read holds the order: a page of a gateway is none.
  if (REFUSALS.has(status) && typeof value === "object" && value !== null)
    return { kind: "invalid", reason: `status ${String(status)}: ${wrongField(ProviderError, value)}` };
  return { kind: "unavailable", reason: `status ${String(status)}`, isOutage: status >= 500 };
}

/** C0 and C1 controls except tab and line feed, and the controls of text direction. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Makes the texts of a JSON value safe to store and to show: removes control characters, replaces lone surrogates. */
function sanitized(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed().replace(CONTROLS, "");
  if (Array.isArray(value)) return value.map(sanitized);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [sanitized(key) as string, sanitized(item)]),
  );
}
