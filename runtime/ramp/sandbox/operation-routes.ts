import type { IncomingMessage, RequestListener } from "node:http";
import { readBody } from "@routewright/runtime/internal/core/http/body.js";
import {
  pathOf,
  queryOf,
  type Route,
  routeFor,
  RouteTable,
} from "@routewright/runtime/internal/core/http/route.js";
import type { Reply } from "@routewright/runtime/internal/core/http/send.js";
import { type Hooks, type HttpExchange, serve } from "@routewright/runtime/internal/core/http/serve.js";
import { sleep } from "@routewright/runtime/internal/core/model/timer.js";
import { check, parseJson } from "../core/json-schema.js";
import { OPERATIONS, type OperationName } from "../providers/operations.js";
import type { Movement } from "../providers/protocol.js";
import { isSigned, REQUEST_HEADERS } from "../providers/signature.js";
import { DEFAULT_SWITCHES, type Switches } from "./behaviour.js";
import type { Profile } from "./profiles.js";
import { FAILURE, isRejection, refused, type Rejection } from "./provider-state.js";
import type { RequestTarget, SandboxProvider } from "./sandbox-provider.js";

/** What all providers of a sandbox share. */
export interface Sandbox {
  switches: Switches;
}

interface OperationExchange extends HttpExchange<OperationRoute> {
  readonly parameters: Readonly<Record<string, string>>;
}

type OperationRoute = Route<OperationExchange, "signed", Rejection>;

/** A provider with its path and its credentials. */
interface NamedProvider {
  readonly profile: Profile;
  readonly provider: SandboxProvider;
}

/** Answers the operations of the provider protocol; all other requests go to `others`. */
export function operationListener(
  sandbox: Sandbox,
  providers: readonly NamedProvider[],
  others: RequestListener,
): RequestListener {
  const routes = new RouteTable(providers.flatMap((named) => routesOf(sandbox, named)));
  return (request, response) => {
    const found = routes.find(pathOf(request.url ?? "/"));
    if (found === null || !routeFor(found.item, request.method)) return others(request, response);
    void serve(HOOKS, { request, response, ...found });
  };
}

const FAULT: Rejection = { status: 500, error: "INTERNAL_ERROR", message: "The sandbox has a fault." };

const HOOKS: Hooks<OperationExchange, Rejection> = {
  preflight: [],
  headersOf: () => [],
  check: () => null,
  notFound: () => FAULT,
  onError: (_exchange, error) => {
    process.emitWarning(error as Error);
    return FAULT;
  },
  errorReply: (_exchange, { status, ...body }) => ({ status, body: JSON.stringify(body) }),
  onResponse: () => undefined,
};

function routesOf(sandbox: Sandbox, named: NamedProvider): readonly OperationRoute[] {
  const isFirst = firstTimes();
  return (Object.keys(OPERATIONS) as OperationName[]).map((name): OperationRoute => {
    const { method, path } = OPERATIONS[name];
    return {
      method,
      path: `/${named.profile.capabilities.code}${path}`,
      access: "signed",
      operation: null,
      async handle(exchange) {
        const { request } = exchange;
        const { text, value } = await bodyOf(request);
        const { keyed } = OPERATIONS[name];
        const key = request.headersDistinct["idempotency-key"]?.[0] ?? null;
        if (!isFrom(named.profile, request, text)) return UNSIGNED;
        if (keyed && key === null) return KEY_MISSING;
        const fault = await switchedFault(sandbox);
        return fault ?? perform(named, { name, value, key: key ?? "" }, exchange, isFirst);
      },
    };
  });
}

const UNSIGNED: Rejection = { status: 401, error: "UNAUTHORIZED", message: "The request is not signed." };
const KEY_MISSING = refused("KEY_MISSING", "An order needs an Idempotency-Key.");
const NO_MESSAGE = refused("INVALID_REQUEST", "Not a message of the protocol.");

/** What the switches of the sandbox make of a call, whatever it is. */
async function switchedFault(sandbox: Sandbox): Promise<Rejection | null> {
  const { slowMs } = sandbox.switches;
  if (slowMs > 0) await sleep(slowMs);
  const { failNext } = sandbox.switches;
  if (failNext === 0) return null;
  sandbox.switches = { ...sandbox.switches, failNext: failNext - 1 };
  return { ...FAILURE, message: "The switch failNext is on." };
}

interface OperationCall {
  readonly name: OperationName;
  readonly value: unknown;
  /** Empty without one. */
  readonly key: string;
}

/** The provider has a method for each operation. */
type Handle = (this: SandboxProvider, message: never, target: RequestTarget) => unknown;

async function perform(
  { profile, provider }: NamedProvider,
  { name, value, key }: OperationCall,
  { request, response, parameters }: OperationExchange,
  isFirst: (key: string) => boolean,
): Promise<Reply | Rejection | null> {
  const { request: schema } = OPERATIONS[name];
  if (schema !== null && !check(schema, value)) return NO_MESSAGE;
  const { movement } = (value ?? {}) as { readonly movement?: Movement };
  const isFault = movement !== undefined && isFirst(key);
  const { firstAnswer } = isFault ? provider.switchesFor(movement.srcAmount) : DEFAULT_SWITCHES;
  if (firstAnswer === "fail") return FAILURE;
  const { id = "", code = "", refundId = "" } = parameters;
  const after = queryOf(request).get("after");
  const target = { id, code, refundId, after, pageUrl: pageUrlOf(request, profile) };
  const answer = (provider[name] as Handle).call(provider, value as never, target);
  if (firstAnswer === "lose") {
    response.destroy();
    return null;
  }
  if (firstAnswer === "garble") return replyOf({ id: 44 });
  if (firstAnswer === "delay") await sleep(DELAY_MS);
  return isRejection(answer) ? answer : replyOf(answer);
}

const replyOf = (value: unknown): Reply => ({ status: 200, body: JSON.stringify(value) });

/** Longer than the ramp waits for an answer. */
const DELAY_MS = 9_000;

/** Whether a key is seen for the first time. */
function firstTimes(): (key: string) => boolean {
  const seen = new Set<string>();
  return (key) => !seen.has(key) && seen.add(key).has(key);
}

function pageUrlOf(
  { headers }: IncomingMessage,
  { capabilities: { code } }: Profile,
): RequestTarget["pageUrl"] {
  const origin = `${headers["x-forwarded-proto"] === "https" ? "https" : "http"}://${headers.host ?? ""}`;
  return (kind, id) => `${origin}/${code}/pages/${kind}/${encodeURIComponent(id)}`;
}

export async function bodyOf(
  request: IncomingMessage,
): Promise<{ readonly text: string; readonly value: unknown }> {
  const body = await readBody(request, { id: "sandbox", share: 1 });
  const text = body.kind === "text" ? body.text : "";
  return { text, value: parseJson(text) };
}

function isFrom({ keyId, secret }: Profile, request: IncomingMessage, body: string): boolean {
  const header = (name: string): string => request.headersDistinct[name]?.[0] ?? "";
  const signed = {
    timestamp: header(REQUEST_HEADERS.timestamp),
    method: request.method ?? "",
    target: request.url ?? "",
    idempotencyKey: header("idempotency-key"),
    body,
  };
  const signature = header(REQUEST_HEADERS.signature);
  return header(REQUEST_HEADERS.keyId) === keyId && isSigned(secret, signed, signature, Date.now());
}
