import type { IncomingMessage } from "node:http";
import type { ClientAddress } from "../../http/client-address.js";
import { networkOf } from "../../access/rate-limit/network.js";
import type { RateLimitStore } from "../../access/rate-limit/store.js";
import type { ProjectSignIn, Project } from "../tokens/project-credentials.js";
import type { Customer, CustomerTokens } from "../tokens/customer-token.js";
import { rampError, type RampError } from "../ramp-errors.js";
import type { Access } from "./route.js";

/** Requests a minute (decisions.md §B, Shapes). */
export interface RampLimits {
  readonly perProject: number;
  readonly failedLoginsPerAddress: number;
  readonly publicPerAddress: number;
}

export const RAMP_LIMITS: RampLimits = { perProject: 600, failedLoginsPerAddress: 60, publicPerAddress: 600 };

export interface AuthenticationContext {
  readonly signIn: ProjectSignIn;
  readonly customerTokens: CustomerTokens;
  readonly rates: RateLimitStore;
  readonly addressOf: ClientAddress;
  readonly limits: RampLimits;
}

/** Who calls, or why they may not: too many failures from there, unknown credentials, or a used-up window. */
export async function authenticate(
  gate: AuthenticationContext,
  access: Access,
  request: IncomingMessage,
): Promise<Project | Customer | null | RampError> {
  const address = networkOf(gate.addressOf(request));
  if (access === "public")
    return (await exceeded(gate, `public:${address}`, gate.limits.publicPerAddress)) ?? null;
  const failures = await gate.rates.look(`failed:${address}`);
  if (failures.count >= gate.limits.failedLoginsPerAddress) return rateLimited(failures.resetAt);
  const caller = await callerOf(gate, access, request.headers.authorization);
  if (caller === null) {
    await gate.rates.hit(`failed:${address}`);
    return rampError(access === "project" ? "INVALID_CREDENTIALS" : "INVALID_TOKEN");
  }
  const project = "projectId" in caller ? caller.projectId : caller.id;
  return (await exceeded(gate, `project:${project}`, gate.limits.perProject)) ?? caller;
}

function callerOf(
  gate: AuthenticationContext,
  access: "project" | "customer",
  authorization: string | undefined,
): Promise<Project | Customer | null> {
  return access === "project"
    ? gate.signIn.projectOf(authorization)
    : gate.customerTokens.customerOf(authorization);
}

async function exceeded(
  { rates }: AuthenticationContext,
  name: string,
  limit: number,
): Promise<RampError | null> {
  const window = await rates.hit(name);
  return window.count > limit ? rateLimited(window.resetAt) : null;
}

function rateLimited(resetAt: number): RampError {
  return rampError("RATE_LIMITED", { retryAfter: Math.max(1, Math.ceil((resetAt - Date.now()) / 1000)) });
}
