import { type Schema, type ValueOf } from "@routewright/runtime/internal/core/model/schema.js";
import type { HttpMethod, Operation } from "@routewright/runtime/internal/core/http/openapi.js";
import type { Route } from "@routewright/runtime/internal/core/http/route.js";
import type { IdempotentOperation } from "../core/idempotency.js";
import type { Project } from "../sign-in/project-credentials.js";
import type { EventEmitter } from "node:events";
import type { IntentContext } from "../intents/lease.js";
import type { AuthenticatedCustomer, CustomerTokens } from "../sign-in/customer-token.js";
import type { SubjectTokens } from "../sign-in/subject-token.js";
import type { WalletTokenContext } from "../sign-in/wallet-token.js";
import type { RampErrorCode, RampAnswer } from "../core/ramp-errors.js";

/** What the endpoints share. */
export interface RampContext extends IntentContext {
  readonly customerTokens: CustomerTokens;
  readonly subjectTokens: SubjectTokens;
  /** Signs wallet tokens. */
  readonly walletTokens: WalletTokenContext;
  /** `due`: an intent has become due. */
  readonly signals: EventEmitter<{ due: [] }>;
  /** Processing that continues after the response. */
  readonly continued: Set<Promise<unknown>>;
}

/**
 * Who may call: `project` with HTTP Basic, `customer` with a bearer token, `either` of the two, `provider` with a signature that the
 * handler checks, `public` without credentials (runtime/ramp/docs/limits.md).
 */
export type RampAccess = "project" | "customer" | "either" | "provider" | "public";

/** An authenticated and validated request, as its handler gets it. */
export interface RouteRequest<A extends RampAccess, B = unknown, Q = unknown> {
  readonly ramp: RampContext;
  readonly caller: Callers[A];
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Q;
  readonly body: B;
  /** The raw body. */
  readonly text: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The requested path, for links to other pages of a list. */
  readonly path: string;
}

interface Callers {
  readonly project: Project;
  readonly customer: AuthenticatedCustomer;
  readonly either: Project | AuthenticatedCustomer;
  readonly provider: null;
  readonly public: null;
}

interface RouteDescription {
  readonly method: HttpMethod;
  /** As OpenAPI writes it, `/v1/intent/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Schema of a body that the handler gets as text only, to check its signature. */
  readonly rawBody?: Schema;
  /** The successful response. */
  readonly response: {
    readonly status: number;
    readonly schema: Schema | null;
    readonly description: string;
  };
  /** Its own errors, beside those of its access and of the validation. */
  readonly errors: readonly RampErrorCode[];
}

/** What the document of the ramp says of an endpoint. */
export interface RampOperation extends Operation {
  readonly query: Schema | null;
  readonly body: Schema | null;
  /** Schema of a body that the handler gets as text only, to check its signature. */
  readonly rawBody: Schema | null;
  /** Its own errors, beside those of its access and of the validation. */
  readonly errors: readonly RampErrorCode[];
}

/** An endpoint: its documentation, its checks and its handler in one place. */
export interface ApiRoute extends Omit<Route, "handle"> {
  readonly access: RampAccess;
  readonly operation: RampOperation;
  readonly run: RouteHandler;
}

/** A handler or, for a route that accepts an `Idempotency-Key`, an operation that is carried out once per key. */
type RouteHandler =
  | {
      readonly kind: "direct";
      readonly handle: (call: RouteRequest<never, never, never>) => Promise<RampAnswer>;
    }
  | {
      readonly kind: "once";
      readonly work: (call: RouteRequest<never, never, never>) => IdempotentOperation;
    };

type Fields<B extends Schema | null, Q extends Schema | null> = { readonly body?: B; readonly query?: Q };
type Of<S> = S extends Schema ? ValueOf<S> : null;

/** Declares an endpoint whose handler is typed by its access and its schemas. */
export function route<A extends RampAccess, B extends Schema | null = null, Q extends Schema | null = null>(
  access: A,
  declaration: RouteDescription &
    Fields<B, Q> & {
      readonly handle: (call: RouteRequest<A, Of<B>, Of<Q>>) => Promise<RampAnswer>;
    },
): ApiRoute {
  const { handle, body = null, query = null } = declaration;
  return declare(access, { ...declaration, body, query }, { kind: "direct", handle });
}

/** Declares an endpoint that accepts an `Idempotency-Key`. */
export function idempotentRoute<A extends "project" | "customer", B extends Schema>(
  access: A,
  declaration: RouteDescription & {
    readonly body: B;
    readonly work: (call: RouteRequest<A, ValueOf<B>, null>) => IdempotentOperation;
  },
): ApiRoute {
  const { work } = declaration;
  return declare(access, { ...declaration, query: null }, { kind: "once", work });
}

function declare(
  access: RampAccess,
  {
    method,
    path,
    summary,
    description,
    body,
    query,
    rawBody,
    response,
    errors,
  }: RouteDescription & Fields<Schema | null, Schema | null>,
  run: RouteHandler,
): ApiRoute {
  const { status, schema, description: meaning } = response;
  const mediaType = meaning.includes("text/plain") ? "text/plain" : "application/json";
  const operation = {
    operationId: operationIdOf(method, path),
    summary,
    description,
    query: query ?? null,
    body: body ?? null,
    rawBody: rawBody ?? null,
    responses: [{ status, description: meaning, mediaType, schema }],
    errors,
  };
  return { method, path, access, operation, run };
}

/** `getIntentId` for `GET /v1/intent/{id}`. */
function operationIdOf(method: HttpMethod, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "" && word !== "v1");
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

export type ProjectRequest<B = null, Q = null> = RouteRequest<"project", B, Q>;
export type CustomerRequest<B = null, Q = null> = RouteRequest<"customer", B, Q>;
