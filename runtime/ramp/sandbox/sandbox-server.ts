import type { Static, TSchema } from "@sinclair/typebox";
import express, { type Express, type Request, type Response } from "express";
import { setTimeout as sleep } from "node:timers/promises";
import { readBody } from "../../http/body.js";
import { listen, type RunningServer } from "../../http/server.js";
import {
  ExecutionOrder,
  OnboardingOrder,
  OPERATIONS,
  type OperationName,
  QuoteRequest,
  Submission,
} from "../providers/protocol.js";
import { protocolDocument } from "../providers/protocol-document.js";
import { isSigned, REQUEST_HEADERS } from "../providers/signature.js";
import { check, parseJson } from "../json-schema.js";
import { CallbackSender, DEFAULT_SWITCHES, SwitchChange, type Switches } from "./behaviour.js";
import { SandboxProvider, isRejection } from "./sandbox-provider.js";
import { type Profile, PROFILES } from "./profiles.js";

export interface SandboxOptions {
  readonly host: string;
  readonly port: number;
  readonly switches?: SwitchChange;
}

/** A sandbox provider's address below the server's, and its credentials. */
export interface SandboxCredentials {
  readonly code: string;
  readonly path: string;
  readonly keyId: string;
  readonly secret: string;
}

export const SANDBOX_PROVIDERS: readonly SandboxCredentials[] = PROFILES.map(
  ({ capabilities: { code }, keyId, secret }) => ({
    code,
    path: `/${code}`,
    keyId,
    secret,
  }),
);

/**
 * A server with two made-up providers that speak the provider protocol, each below a path of its own, and `/switches`, where
 * they are made to misbehave. It knows nothing of the ramp but what comes over HTTP.
 */
export function startSandbox({ host, port, switches: given }: SandboxOptions): Promise<RunningServer> {
  return listen(sandboxApp({ ...DEFAULT_SWITCHES, ...given }), host, port);
}

interface Sandbox {
  switches: Switches;
}

function sandboxApp(initial: Switches): Express {
  const sandbox: Sandbox = { switches: initial };
  const switches = (): Switches => sandbox.switches;
  const callbacks = new CallbackSender(switches);
  const desks = PROFILES.map((profile) => ({
    profile,
    desk: new SandboxProvider(profile, switches, callbacks),
  }));
  const app = express();
  app.disable("x-powered-by");
  for (const { profile, desk } of desks) addProvider(app, sandbox, profile, desk);
  app.get("/switches", (_request, response) => void response.json(sandbox.switches));
  app.post("/switches", async (request, response) => {
    const change = await bodyOf(request);
    if (!check(SwitchChange, change.value)) return decline(response, 400, "INVALID_REQUEST", "Not a switch.");
    response.json((sandbox.switches = { ...sandbox.switches, ...change.value }));
  });
  app.get("/openapi.json", (_request, response) => void response.json(protocolDocument()));
  app.get(
    "/executed",
    (_request, response) => void response.json(desks.flatMap(({ desk }) => desk.executed)),
  );
  app.use((_request, response) => decline(response, 404, "NOT_FOUND", "There is nothing here."));
  return app;
}

type Handle = (desk: SandboxProvider, profile: Profile, body: unknown, request: Request) => unknown;

/** Reads a message, or declines what is none. */
function reading<S extends TSchema>(
  schema: S,
  handle: (desk: SandboxProvider, message: Static<S>, request: Request) => unknown,
): Handle {
  return (desk, _profile, body, request) =>
    check(schema, body)
      ? handle(desk, body, request)
      : { status: 422, error: "INVALID_REQUEST", message: "Not a message of the protocol." };
}

const parameter = (request: Request, name: string): string => String(request.params[name]);

const HANDLERS: Readonly<Record<OperationName, Handle>> = {
  capabilities: (_desk, { capabilities }) => capabilities,
  quote: reading(QuoteRequest, (desk, message) => ({ quote: desk.quote(message) })),
  startOnboarding: reading(OnboardingOrder, (desk, order) => desk.startOnboarding(order)),
  onboarding: (desk, _profile, _body, request) => desk.onboarding(parameter(request, "id")),
  submit: reading(Submission, (desk, { fields }, request) =>
    desk.submit(parameter(request, "id"), parameter(request, "code"), fields),
  ),
  execute: reading(ExecutionOrder, (desk, order) => desk.execute(order)),
  execution: (desk, _profile, _body, request) => desk.execution(parameter(request, "id")),
  cancel: (desk, _profile, _body, request) => desk.cancel(parameter(request, "id")),
};

function addProvider(app: Express, sandbox: Sandbox, profile: Profile, desk: SandboxProvider): void {
  for (const name of Object.keys(OPERATIONS) as OperationName[]) {
    const { method, path, keyed } = OPERATIONS[name];
    const address = `/${profile.capabilities.code}${path.replace(/\{(\w+)\}/g, ":$1")}`;
    app[method === "GET" ? "get" : "post"](address, async (request, response) => {
      const { text, value } = await bodyOf(request);
      if (!isFrom(profile, request, text))
        return decline(response, 401, "UNAUTHORIZED", "The request is not signed.");
      if (keyed && request.get("idempotency-key") === undefined)
        return decline(response, 422, "KEY_MISSING", "An order needs an Idempotency-Key.");
      await sleep(sandbox.switches.slowMs);
      if (take(sandbox, "failNext"))
        return decline(response, 500, "OUT_OF_ORDER", "The sandbox was told to fail.");
      const answer = HANDLERS[name](desk, profile, value, request);
      if (method === "POST" && name !== "quote" && take(sandbox, "loseNextAnswers"))
        return void response.destroy();
      if (isRejection(answer)) decline(response, answer.status, answer.error, answer.message);
      else response.json(answer);
    });
  }
}

/** Counts a switch down; whether there was something to count. */
function take(sandbox: Sandbox, name: "failNext" | "loseNextAnswers"): boolean {
  const left = sandbox.switches[name];
  if (left === 0) return false;
  sandbox.switches = { ...sandbox.switches, [name]: left - 1 };
  return true;
}

async function bodyOf(request: Request): Promise<{ readonly text: string; readonly value: unknown }> {
  const body = await readBody(request);
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

function decline(response: Response, status: number, error: string, message: string): void {
  response.status(status).json({ error, message });
}
