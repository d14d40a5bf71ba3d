import type { IncomingMessage } from "node:http";
import { type ClientAddress, networkOf } from "@routewright/runtime/internal/core/http/headers.js";
import {
  type RateLimitStore,
  secondsLeft,
} from "@routewright/runtime/internal/core/request/rate-limit/memory-store.js";
import { Unauthorized } from "../core/idempotency.js";
import type { ProjectTransaction, RequiredRow } from "../database/transaction.js";
import { heldSecret, projectOf, type Project } from "../sign-in/project-credentials.js";
import { type AuthenticatedCustomer, type Customer, heldToken } from "../sign-in/customer-token.js";
import { rampError, type RampError } from "../core/ramp-errors.js";
import type { PageRoute } from "@routewright/runtime/internal/core/http/route.js";
import type { RampAccess, RampContext } from "./route.js";

/** Requests a minute, each counted in a window of its own (runtime/ramp/docs/limits.md). */
export interface RampLimits {
  readonly perCustomer: number;
  /** Calls with the project's credentials. */
  readonly perProject: number;
  /** Calls without credentials. */
  readonly perAddress: number;
  readonly failedLoginsPerAddress: number;
  /** Documents and pages of the documentation. */
  readonly documentsPerAddress: number;
}

/** What the paths of the app share. */
export interface ApiServices {
  readonly ramp: RampContext;
  readonly rates: RateLimitStore;
  readonly addressOf: ClientAddress;
  readonly limits: RampLimits;
  readonly metrics: {
    /** Whether METRICS_PUBLIC opens them to other machines. */
    readonly isPublic: boolean;
    readonly text: () => Promise<string>;
    /** At most a second old. */
    readonly recentText: () => Promise<string>;
  };
  /** The pages of the documentation. */
  readonly pages: readonly PageRoute[];
}

/** The caller, or the error: unknown credentials or a used-up window. Failed logins limit only further failed logins. */
export async function authenticate(
  context: ApiServices,
  access: RampAccess,
  request: IncomingMessage,
): Promise<Project | AuthenticatedCustomer | null | RampError> {
  const { ramp, limits } = context;
  const { authorization } = request.headers;
  const [key = null] = request.headersDistinct["idempotency-key"] ?? [];
  switch (access) {
    case "either":
      return authenticate(context, /^bearer\b/i.test(authorization ?? "") ? "customer" : "project", request);
    case "provider":
      return null;
    case "public":
      return exceeded(context, `public:${networkOf(context.addressOf(request))}`, limits.perAddress);
    case "project": {
      const project = await projectOf(ramp.database, authorization);
      if (project === null) return countFailure(context, request, wrongCredentials(authorization, "project"));
      return (await exceeded(context, `project:${project.projectId}`, limits.perProject)) ?? project;
    }
    case "customer": {
      const customer = await ramp.customerTokens.customerOf(authorization, key);
      if (customer === null)
        return countFailure(context, request, wrongCredentials(authorization, "customer"));
      const { projectId, customerId } = customer;
      const limited = await exceeded(context, `customer:${projectId}:${customerId}`, limits.perCustomer);
      return limited ?? customer;
    }
  }
}

/** Credentials of the other kind are named: theirs may well be valid. */
function wrongCredentials(authorization: string | undefined, access: "project" | "customer"): RampError {
  if (access === "project")
    return /^bearer\b/i.test(authorization ?? "")
      ? rampError("INVALID_CREDENTIALS", {
          message: "This call takes the project's client id and secret (HTTP Basic), not a customer's token.",
        })
      : rampError("INVALID_CREDENTIALS");
  return /^basic\b/i.test(authorization ?? "")
    ? rampError("INVALID_TOKEN", {
        message:
          "This call takes a customer's token (Bearer), which POST /v1/customers gives, not the project's credentials.",
      })
    : rampError("INVALID_TOKEN");
}

/**
 * Authorizes the caller again, in the transaction that writes: the body and calls to providers take time, and meanwhile tokens and
 * secrets can be revoked and customers erased.
 */
export async function authorize(
  tx: ProjectTransaction,
  caller: Project | Customer,
): Promise<RampError | null> {
  const { text, values } = rightOf(caller);
  return (await tx.row(text, values)) === null ? withoutRight(caller) : null;
}

/** The same without waiting for it: without the right the transaction fails with `Unauthorized`. */
export function requireAuthorized(tx: ProjectTransaction, caller: Project | Customer): void {
  const { text, values } = rightOf(caller);
  tx.requireRow(text, values, () => new Unauthorized(withoutRight(caller)));
}

function rightOf(caller: Project | Customer): RequiredRow {
  return "customerId" in caller ? heldToken(caller) : heldSecret(caller);
}

function withoutRight(caller: Project | Customer): RampError {
  return rampError("customerId" in caller ? "INVALID_TOKEN" : "INVALID_CREDENTIALS");
}

/** Counts a failed login, or a callback with a wrong signature, against its address; returns the error for it. */
export async function countFailure(
  context: ApiServices,
  request: IncomingMessage,
  error: RampError,
): Promise<RampError> {
  const address = networkOf(context.addressOf(request));
  return (await exceeded(context, `failed:${address}`, context.limits.failedLoginsPerAddress)) ?? error;
}

/** Counts a document against its address: null, or the error where the window is used up. */
export const countDocument = (context: ApiServices, request: IncomingMessage): Promise<RampError | null> =>
  exceeded(context, `document:${networkOf(context.addressOf(request))}`, context.limits.documentsPerAddress);

async function exceeded({ rates }: ApiServices, name: string, limit: number): Promise<RampError | null> {
  const window = await rates.hit(name);
  return window.count > limit ? rampError("RATE_LIMITED", { retryAfter: secondsLeft(window) }) : null;
}
