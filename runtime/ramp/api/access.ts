import type { IncomingMessage } from "node:http";
import type { ClientAddress } from "../../http/client-address.js";
import { networkOf } from "../../access/rate-limit/network.js";
import type { RateLimitStore } from "../../access/rate-limit/store.js";
import type { ProjectSignIn } from "../project/sign-in.js";
import type { Project } from "../project/project.js";
import type { Customer, CustomerTokens } from "../token/customer-token.js";
import { refuse, type Refusal } from "./errors.js";
import type { Access } from "./route.js";

/** Requests a minute (decisions.md §B, Shapes). */
export interface RampLimits {
  readonly perProject: number;
  readonly failedLoginsPerAddress: number;
  readonly publicPerAddress: number;
}

export const RAMP_LIMITS: RampLimits = { perProject: 600, failedLoginsPerAddress: 60, publicPerAddress: 600 };

export interface Gate {
  readonly signIn: ProjectSignIn;
  readonly customerTokens: CustomerTokens;
  readonly rates: RateLimitStore;
  readonly addressOf: ClientAddress;
  readonly limits: RampLimits;
}

/** Who calls, or why they may not: too many failures from there, unknown credentials, or a used-up window. */
export async function admit(
  gate: Gate,
  access: Access,
  request: IncomingMessage,
): Promise<Project | Customer | null | Refusal> {
  const address = networkOf(gate.addressOf(request));
  if (access === "public")
    return (await overLimit(gate, `public:${address}`, gate.limits.publicPerAddress)) ?? null;
  const failures = await gate.rates.look(`failed:${address}`);
  if (failures.count >= gate.limits.failedLoginsPerAddress) return tooMany(failures.resetAt);
  const caller = await callerOf(gate, access, request.headers.authorization);
  if (caller === null) {
    await gate.rates.hit(`failed:${address}`);
    return refuse(access === "project" ? "INVALID_CREDENTIALS" : "INVALID_TOKEN");
  }
  const project = "projectId" in caller ? caller.projectId : caller.id;
  return (await overLimit(gate, `project:${project}`, gate.limits.perProject)) ?? caller;
}

function callerOf(
  gate: Gate,
  access: "project" | "customer",
  authorization: string | undefined,
): Promise<Project | Customer | null> {
  return access === "project"
    ? gate.signIn.projectOf(authorization)
    : gate.customerTokens.customerOf(authorization);
}

async function overLimit({ rates }: Gate, name: string, limit: number): Promise<Refusal | null> {
  const window = await rates.hit(name);
  return window.count > limit ? tooMany(window.resetAt) : null;
}

function tooMany(resetAt: number): Refusal {
  return refuse("RATE_LIMITED", { retryAfter: Math.max(1, Math.ceil((resetAt - Date.now()) / 1000)) });
}
