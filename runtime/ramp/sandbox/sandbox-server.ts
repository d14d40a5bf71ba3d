import { record, type Schema, wholeNumber } from "@routewright/runtime/internal/core/model/schema.js";
import express, { type Express, type Request, type Response } from "express";
import { readBody } from "@routewright/runtime/internal/core/http/body.js";
import { queryOf } from "@routewright/runtime/internal/core/http/route.js";
import { listen, type RunningServer } from "@routewright/runtime/internal/core/http/listen.js";
import { OPERATIONS, type OperationName, protocolDocument } from "../providers/operations.js";
import { isSigned, REQUEST_HEADERS } from "../providers/signature.js";
import { check, parseJson, violations } from "../core/json-schema.js";
import { ArrivingDeposit } from "./deposit-accounts.js";
import { DEFAULT_SWITCHES, SwitchChange, type Switches } from "./behaviour.js";
import { SandboxClock } from "./clock.js";
import { isRejection } from "./provider-state.js";
import { type RequestTarget, SandboxProvider } from "./sandbox-provider.js";
import { returnAddress, sandboxPage } from "./sandbox-pages.js";
import type { Movement } from "../providers/protocol.js";
import { type Profile, PROFILES } from "./profiles.js";
import { sleep } from "@routewright/runtime/internal/core/model/timer.js";

export interface SandboxOptions {
  readonly host: string;
  readonly port: number;
  readonly switches?: SwitchChange;
}

/** The sandbox providers' addresses below the server's, and their credentials. */
export const SANDBOX_PROVIDERS = PROFILES.map(({ capabilities: { code }, keyId, secret }) => ({
  code,
  path: `/${code}`,
  keyId,
  secret,
}));

/**
 * A server with two sandbox providers that implement the provider protocol, each below its own path with pages of its own, `/switches`, which
 * make them misbehave, and `/clock`, which moves their deadlines. It sees of the ramp only its HTTP requests.
 */
export function startSandbox({ host, port, switches: given }: SandboxOptions): Promise<RunningServer> {
  return listen(sandboxApp({ ...DEFAULT_SWITCHES, ...given }), host, port);
}

interface Sandbox {
  switches: Switches;
}

const ClockMove = record({ advanceSeconds: wholeNumber(0, 100 * 24 * 60 * 60) });

function sandboxApp(initial: Switches): Express {
  const sandbox: Sandbox = { switches: initial };
  const clock = new SandboxClock();
  const providers = PROFILES.map((profile) => ({
    profile,
    provider: new SandboxProvider(profile, clock, () => sandbox.switches),
  }));
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  for (const { profile, provider } of providers) {
    addProvider(app, sandbox, profile, provider);
    addPages(app, profile, provider);
  }
  app.get("/switches", (_request, response) => void response.json(sandbox.switches));
  app.post("/switches", async (request, response) => {
    const change = await bodyOf(request);
    if (!check(SwitchChange, change.value))
      return sendError(
        response,
        400,
        "INVALID_REQUEST",
        `${wrongIn(SwitchChange, change.value)} The switches are ${Object.keys(DEFAULT_SWITCHES).join(", ")}.`,
      );
    response.json((sandbox.switches = { ...sandbox.switches, ...change.value }));
  });
  app.get("/clock", (_request, response) => void response.json({ now: clock.now() }));
  app.post("/clock", async (request, response) => {
    const move = await bodyOf(request);
    if (!check(ClockMove, move.value))
      return sendError(response, 400, "INVALID_REQUEST", 'Not `{"advanceSeconds": …}`, at most 100 days.');
    clock.advance(move.value.advanceSeconds * 1000);
    response.json({ now: clock.now() });
  });
  app.post("/deposits", async (request, response) => {
    const arriving = await bodyOf(request);
    if (!check(ArrivingDeposit, arriving.value))
      return sendError(
        response,
        400,
        "INVALID_REQUEST",
        `Not \`{"depositAccountId": …, "srcAmount": …}\`: ${wrongIn(ArrivingDeposit, arriving.value)}`,
      );
    const { value } = arriving;
    const id = providers.map(({ provider }) => provider.arrive(value)).find((found) => found !== null);
    if (id === undefined)
      return sendError(
        response,
        404,
        "NOT_FOUND",
        `There is no deposit account ${value.depositAccountId} here. It is the id that POST /v1/customers/deposit-accounts answers; the sandbox forgets its accounts when it stops.`,
      );
    response.json({ id });
  });
  app.get("/openapi.json", (_request, response) => void response.json(protocolDocument()));
  app.get(
    "/executed",
    (_request, response) => void response.json(providers.flatMap(({ provider }) => provider.executed)),
  );
  app.use((_request, response) => sendError(response, 404, "NOT_FOUND", "Unknown path."));
  return app;
}

/** What does not match, each by name. */
function wrongIn(schema: Schema, value: unknown): string {
  const wrong = violations(schema, value).map(({ path, message }) => `${path || "the body"} ${message}`);
  return `${wrong.join(", ")}.`;
}

/** The provider has a method for each operation. */
type Handle = (this: SandboxProvider, message: never, target: RequestTarget) => unknown;

function addProvider(app: Express, sandbox: Sandbox, profile: Profile, provider: SandboxProvider): void {
  const isFirst = firstTimes();
  for (const name of Object.keys(OPERATIONS) as OperationName[]) {
    const { method, path, keyed, request: schema } = OPERATIONS[name];
    const address = `/${profile.capabilities.code}${path.replace(/\{(\w+)\}/g, ":$1")}`;
    app[method === "GET" ? "get" : "post"](address, async (request, response) => {
      const { text, value } = await bodyOf(request);
      if (!isFrom(profile, request, text))
        return sendError(response, 401, "UNAUTHORIZED", "The request is not signed.");
      const key = request.get("idempotency-key");
      if (keyed && key === undefined)
        return sendError(response, 422, "KEY_MISSING", "An order needs an Idempotency-Key.");
      if (sandbox.switches.slowMs > 0) await sleep(sandbox.switches.slowMs);
      const { failNext } = sandbox.switches;
      if (failNext > 0) {
        sandbox.switches = { ...sandbox.switches, failNext: failNext - 1 };
        return sendError(response, 500, "OUT_OF_ORDER", "The switch failNext is on.");
      }
      if (schema !== null && !check(schema, value))
        return sendError(response, 422, "INVALID_REQUEST", "Not a message of the protocol.");
      const { movement } = (value ?? {}) as { readonly movement?: Movement };
      const isFault = movement !== undefined && isFirst(key ?? "");
      const { firstAnswer } = isFault ? provider.switchesFor(movement.srcAmount) : DEFAULT_SWITCHES;
      if (firstAnswer === "fail") return sendError(response, 500, "OUT_OF_ORDER", "The provider fails.");
      const { id = "", code = "", refundId = "" } = request.params as Partial<Record<string, string>>;
      const after = queryOf(request).get("after");
      const target = { id, code, refundId, after, pageUrl: pageUrlOf(request, profile) };
      const answer = (provider[name] as Handle).call(provider, value as never, target);
      if (firstAnswer === "lose") return void response.destroy();
      if (firstAnswer === "garble") return void response.json({ id: 44 });
      if (firstAnswer === "delay") await sleep(DELAY_MS);
      if (isRejection(answer))
        sendError(response, answer.status, answer.error, answer.message, answer.reason);
      else response.json(answer);
    });
  }
}

/** Longer than the ramp waits for an answer. */
const DELAY_MS = 9_000;

/** Whether a key is seen for the first time. */
function firstTimes(): (key: string) => boolean {
  const seen = new Set<string>();
  return (key) => !seen.has(key) && seen.add(key).has(key);
}

function pageUrlOf(request: Request, { capabilities: { code } }: Profile): RequestTarget["pageUrl"] {
  const origin = `${request.get("x-forwarded-proto") === "https" ? "https" : "http"}://${request.get("host") ?? ""}`;
  return (kind, id) => `${origin}/${code}/pages/${kind}/${encodeURIComponent(id)}`;
}

/** The provider's own pages, which need no signature: their address is the secret. */
function addPages(app: Express, { capabilities: { code, name } }: Profile, provider: SandboxProvider): void {
  for (const kind of ["onboarding", "payment"] as const) {
    const show = async (request: Request, response: Response): Promise<void> => {
      const { id = "" } = request.params as { id?: string };
      const decision =
        request.method === "POST" ? new URLSearchParams((await bodyOf(request)).text).get("decision") : null;
      const callbackUrl = provider.decideOnPage(kind, id, decision ?? "");
      if (callbackUrl === null) return sendError(response, 404, "NOT_FOUND", "There is no such page.");
      const next = returnAddress(queryOf(request).get("return_url") ?? "", callbackUrl);
      if (decision !== null && next !== null) return response.redirect(303, next);
      response.type("html").send(sandboxPage({ name, kind, decision }));
    };
    app.get(`/${code}/pages/${kind}/:id`, show);
    app.post(`/${code}/pages/${kind}/:id`, show);
  }
}

async function bodyOf(request: Request): Promise<{ readonly text: string; readonly value: unknown }> {
  const body = await readBody(request, { id: "sandbox", share: 1 });
  const text = body.kind === "text" ? body.text : "";
  return { text, value: parseJson(text) };
}

function isFrom({ keyId, secret }: Profile, request: Request, body: string): boolean {
  const signed = {
    timestamp: request.get(REQUEST_HEADERS.timestamp) ?? "",
    method: request.method,
    target: request.originalUrl,
    idempotencyKey: request.get("idempotency-key") ?? "",
    body,
  };
  const signature = request.get(REQUEST_HEADERS.signature) ?? "";
  return request.get(REQUEST_HEADERS.keyId) === keyId && isSigned(secret, signed, signature, Date.now());
}

function sendError(
  response: Response,
  status: number,
  error: string,
  message: string,
  reason?: string,
): void {
  response.status(status).json({ error, message, reason });
}
