import type { IncomingMessage, ServerResponse } from "node:http";
import { type Handled, type PathItem, type Route, routeFor } from "./route.js";
import { setHeaders } from "./headers.js";
import { isPreflight, type Reply, send, sendOptions } from "./send.js";

/** A request, its response, and the routes of its path. */
export interface HttpExchange<R extends Route = Route> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly item: PathItem<R>;
}

/** What a service does around its handlers. */
export interface Hooks<E extends HttpExchange, Refusal> {
  /** What pages of other origins may send. */
  readonly preflight: readonly string[];
  /** Headers of every response to the caller, as flat name and value pairs. */
  headersOf(exchange: E): readonly string[];
  /** Why the request is refused before its handler; null when it is not. An unknown path and a wrong method always are. */
  check(exchange: E): Refusal | null;
  notFound(exchange: E): Refusal;
  /** What a fault becomes; null where the response has ended already. */
  onError(exchange: E, error: unknown): Refusal | null;
  errorReply(exchange: E, refusal: Refusal): Reply;
  /** Called after each response. `bytes`: of a body that a handler has not sent itself. */
  onResponse(exchange: E, refusal: Refusal | null, bytes: number): void;
}

/** Goes on with a value, at once where it is there: each promise of a request takes time and memory. */
export function andThen<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/**
 * Serves one request, of whatever route: `OPTIONS`, checks, handler, response. A preflight succeeds for unknown paths too, so
 * that the page can read the actual error. Never rejects.
 */
export function serve<E extends HttpExchange, Refusal extends object>(
  hooks: Hooks<E, Refusal>,
  exchange: E,
): void | Promise<void> {
  const { request, response, item } = exchange;
  const isOptions = request.method === "OPTIONS";
  if (isOptions && (item.allowed === null ? isPreflight(request) : item.allowed.endsWith("OPTIONS"))) {
    sendOptions(response, request, item.allowed, hooks.headersOf(exchange), hooks.preflight);
    return hooks.onResponse(exchange, null, 0);
  }
  let handled: Handled<Refusal> | Promise<Handled<Refusal>>;
  try {
    handled = isOptions && item.allowed === null ? hooks.notFound(exchange) : hooks.check(exchange);
    if (handled === null) {
      const route = routeFor(item, request.method) as Route<E, unknown, Refusal>;
      if (route.sends) setHeaders(response, hooks.headersOf(exchange));
      handled = route.handle(exchange);
    }
    if (handled instanceof Promise)
      handled = handled.catch((error: unknown) => hooks.onError(exchange, error));
  } catch (error) {
    handled = hooks.onError(exchange, error);
  }
  return andThen(handled, (result) => end(hooks, exchange, result));
}

function end<E extends HttpExchange, Refusal extends object>(
  hooks: Hooks<E, Refusal>,
  exchange: E,
  handled: Handled<Refusal>,
): void {
  const refusal = handled === null || isReply(handled) ? null : handled;
  const reply = refusal === null ? (handled as Reply | null) : hooks.errorReply(exchange, refusal);
  const bytes = reply === null ? 0 : send(exchange.response, reply, hooks.headersOf(exchange));
  hooks.onResponse(exchange, refusal, bytes);
}

function isReply(handled: object): handled is Reply {
  return "body" in handled;
}
