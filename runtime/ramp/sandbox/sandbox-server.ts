import { record, type Schema, wholeNumber } from "@routewright/runtime/internal/core/model/schema.js";
import type { RequestListener } from "node:http";
import express, { type Express, type Request, type Response } from "express";
import { queryOf } from "@routewright/runtime/internal/core/http/route.js";
import { listen, type RunningServer } from "@routewright/runtime/internal/core/http/listen.js";
import { protocolDocument } from "../providers/operations.js";
import { check, violations } from "../core/json-schema.js";
import { bodyOf, operationListener, type Sandbox } from "./operation-routes.js";
import { ArrivingDeposit } from "./deposit-accounts.js";
import { DEFAULT_SWITCHES, SwitchChange, type Switches } from "./behaviour.js";
import { SandboxClock } from "./clock.js";
import { SandboxProvider } from "./sandbox-provider.js";
import { returnAddress, sandboxPage } from "./sandbox-pages.js";
import { type Profile, PROFILES } from "./profiles.js";

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
  return listen(sandboxListener({ ...DEFAULT_SWITCHES, ...given }), host, port);
}

const ClockMove = record({ advanceSeconds: wholeNumber(0, 100 * 24 * 60 * 60) });

function sandboxListener(initial: Switches): RequestListener {
  const sandbox: Sandbox = { switches: initial };
  const clock = new SandboxClock();
  const providers = PROFILES.map((profile) => ({
    profile,
    provider: new SandboxProvider(profile, clock, () => sandbox.switches),
  }));
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  for (const { profile, provider } of providers) addPages(app, profile, provider);
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
  return operationListener(sandbox, providers, app);
}

/** What does not match, each by name. */
function wrongIn(schema: Schema, value: unknown): string {
  const wrong = violations(schema, value).map(({ path, message }) => `${path || "the body"} ${message}`);
  return `${wrong.join(", ")}.`;
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

function sendError(response: Response, status: number, error: string, message: string): void {
  response.status(status).json({ error, message });
}
