import {
  circuitBreaker,
  ConsecutiveBreaker,
  BrokenCircuitError,
  handleWhenResult,
  type CircuitBreakerPolicy,
} from "cockatiel";
import { setTimeout as sleep } from "node:timers/promises";
import { sendRequest } from "../outbound-http.js";
import { check, parseJson } from "../json-schema.js";
import {
  type ResponseOf,
  Callback,
  OPERATIONS,
  type OperationName,
  ProviderError,
  type CallbackHeaders,
  type CallOptions,
  type Provider,
  type ProviderReply,
} from "./protocol.js";
import { isSignedCallback, REQUEST_HEADERS, requestSignature } from "./signature.js";

export interface HttpProviderOptions {
  readonly url: string;
  readonly keyId: string;
  readonly secret: string;
}

/** A call is given up after this; the person in front of the request is still there then. */
const TIMEOUT_MS = 8_000;
/** Pauses before the second and the third try. What still fails is tried again by the background work. */
const PAUSES_MS = [100, 400] as const;
/** So many calls in a row that come to nothing, and the provider is left alone for a while. */
const BREAKER = { failures: 8, pauseMs: 5_000 };

interface Call {
  readonly target: string;
  readonly body: unknown;
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
}

/** Speaks the provider protocol to a server (provider/protocol.ts): signed, with deadline, repetition and circuit breaker. */
export class HttpProvider implements Provider {
  readonly #options: HttpProviderOptions;
  readonly #breaker: CircuitBreakerPolicy;

  constructor(options: HttpProviderOptions) {
    this.#options = options;
    const isLost = (reply: unknown): boolean => (reply as ProviderReply<unknown>).kind === "unavailable";
    this.#breaker = circuitBreaker(handleWhenResult(isLost), {
      halfOpenAfter: BREAKER.pauseMs,
      breaker: new ConsecutiveBreaker(BREAKER.failures),
    });
  }

  capabilities: Provider["capabilities"] = () => this.#call("capabilities", {});

  quote: Provider["quote"] = async (request, limit?: CallOptions) => {
    const reply = await this.#call("quote", { body: request, ...limit });
    return reply.kind === "answer" ? { kind: "answer", value: reply.value.quote } : reply;
  };

  startOnboarding: Provider["startOnboarding"] = (order) =>
    this.#call("startOnboarding", { body: order, idempotencyKey: `onboarding:${order.id}` });

  onboarding: Provider["onboarding"] = (id) => this.#call("onboarding", { target: `/onboardings/${id}` });

  submit: Provider["submit"] = (id, code, submission) =>
    this.#call("submit", { target: `/onboardings/${id}/requirements/${code}`, body: submission });

  execute: Provider["execute"] = (order) =>
    this.#call("execute", { body: order, idempotencyKey: `execution:${order.id}` });

  execution: Provider["execution"] = (id) => this.#call("execution", { target: `/executions/${id}` });

  cancel: Provider["cancel"] = (id) => this.#call("cancel", { target: `/executions/${id}/cancel` });

  verifyCallback(headers: CallbackHeaders, body: string): Callback | null {
    if (!isSignedCallback(this.#options.secret, headers, body)) return null;
    const value = parseJson(body);
    return check(Callback, value) ? value : null;
  }

  async #call<N extends OperationName>(name: N, given: Partial<Call>): Promise<ProviderReply<ResponseOf<N>>> {
    const call: Call = {
      target: OPERATIONS[name].path,
      body: null,
      idempotencyKey: "",
      timeoutMs: TIMEOUT_MS,
      ...given,
    };
    const pauses = given.timeoutMs === undefined ? PAUSES_MS : [];
    let reply = await this.#guarded(name, call);
    for (const pause of pauses) {
      if (reply.kind !== "unavailable") break;
      await sleep(pause);
      reply = await this.#guarded(name, call);
    }
    return reply;
  }

  async #guarded<N extends OperationName>(name: N, call: Call): Promise<ProviderReply<ResponseOf<N>>> {
    try {
      return await this.#breaker.execute(() => this.#attempt(name, call));
    } catch (error) {
      if (error instanceof BrokenCircuitError) return { kind: "unavailable", reason: "circuit open" };
      throw error;
    }
  }

  async #attempt<N extends OperationName>(name: N, call: Call): Promise<ProviderReply<ResponseOf<N>>> {
    const { method, answer } = OPERATIONS[name];
    const url = new URL(this.#options.url.replace(/\/+$/, "") + call.target);
    const body = call.body === null ? "" : JSON.stringify(call.body);
    const result = await sendRequest({
      url,
      method,
      body,
      headers: this.#headers(method, url, body, call.idempotencyKey),
      timeoutMs: call.timeoutMs,
    });
    if (result.kind === "failed") return { kind: "unavailable", reason: result.reason };
    const value = parseJson(result.body);
    if (result.status >= 200 && result.status < 300) {
      if (check(answer, value)) return { kind: "answer", value };
      return { kind: "unavailable", reason: "answer not of the protocol" };
    }
    return refusalOf(result.status, value);
  }

  #headers(method: string, url: URL, body: string, idempotencyKey: string): Record<string, string> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const target = url.pathname + url.search;
    const signature = requestSignature(this.#options.secret, {
      timestamp,
      method,
      target,
      idempotencyKey,
      body,
    });
    return {
      accept: "application/json",
      ...(body === "" ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === "" ? {} : { "idempotency-key": idempotencyKey }),
      [REQUEST_HEADERS.keyId]: this.#options.keyId,
      [REQUEST_HEADERS.timestamp]: timestamp,
      [REQUEST_HEADERS.signature]: signature,
    };
  }
}

/** Statuses of a refusal of the order itself: repeating it would be refused again. All others may pass. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 404, 409, 410, 422]);

function refusalOf(status: number, value: unknown): ProviderReply<never> {
  if (!REFUSALS.has(status)) return { kind: "unavailable", reason: `status ${String(status)}` };
  if (!check(ProviderError, value))
    return { kind: "unavailable", reason: `status ${String(status)} without an error of the protocol` };
  return { kind: "refused", code: value.error, message: value.message };
}
