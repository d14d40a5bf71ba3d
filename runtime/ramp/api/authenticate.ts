import type { IncomingMessage } from "node:http";
import { type ClientAddress, networkOf } from "../../http/headers.js";
import { type RateLimitStore, secondsLeft } from "../../request/rate-limit/memory-store.js";
import { projectOf, type Project } from "../sign-in/project-credentials.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { Customer, CustomerTokens } from "../sign-in/customer-token.js";
import { rampError, type RampError } from "../core/ramp-errors.js";
import type { Access } from "./route.js";

/** Requests a minute, each counted in a window of its own (runtime/ramp/docs/limits.md). */
export interface RampLimits {
  readonly perCustomer: number;
  /** Calls with the project's credentials. */
  readonly perProject: number;
  /** Calls without credentials. */
  readonly perAddress: number;
  readonly failedLoginsPerAddress: number;
}

export const RAMP_LIMITS: RampLimits = {
  perCustomer: 120,
  perProject: 600,
  perAddress: 600,
  failedLoginsPerAddress: 60,
};

export interface AuthenticationContext {
  readonly ramp: { readonly database: RampDatabase; readonly customerTokens: CustomerTokens };
  readonly rates: RateLimitStore;
  readonly addressOf: ClientAddress;
  readonly limits: RampLimits;
}

/** The caller, or the error: unknown credentials or a used-up window. Failed logins limit only further failed logins. */
export async function authenticate(
  context: AuthenticationContext,
  access: Access,
  request: IncomingMessage,
): Promise<Project | Customer | null | RampError> {
  const { perCustomer, perProject, perAddress } = context.limits;
  const address = networkOf(context.addressOf(request));
  if (access === "provider") return null;
  if (access === "public") return (await exceeded(context, `public:${address}`, perAddress)) ?? null;
  const caller = await callerOf(context, access, request.headers.authorization);
  if (caller === null)
    return countFailure(
      context,
      request,
      rampError(access === "project" ? "INVALID_CREDENTIALS" : "INVALID_TOKEN"),
    );
  const limited =
    "customerId" in caller
      ? await exceeded(context, `customer:${caller.projectId}:${caller.customerId}`, perCustomer)
      : await exceeded(context, `project:${caller.id}`, perProject);
  return limited ?? caller;
}

/** Counts a failed login, or a callback with a wrong signature, against its address; returns the error for it. */
export async function countFailure(
  context: AuthenticationContext,
  request: IncomingMessage,
  error: RampError,
): Promise<RampError> {
  const address = networkOf(context.addressOf(request));
  return (await exceeded(context, `failed:${address}`, context.limits.failedLoginsPerAddress)) ?? error;
}

function callerOf(
  context: AuthenticationContext,
  access: "project" | "customer",
  authorization: string | undefined,
): Promise<Project | Customer | null> {
  return access === "project"
    ? projectOf(context.ramp.database, authorization)
    : context.ramp.customerTokens.customerOf(authorization);
}

async function exceeded(
  { rates }: AuthenticationContext,
  name: string,
  limit: number,
): Promise<RampError | null> {
  const window = await rates.hit(name);
  return window.count > limit ? rampError("RATE_LIMITED", { retryAfter: secondsLeft(window) }) : null;
}
