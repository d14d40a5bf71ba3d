import type { Static, TSchema } from "@sinclair/typebox";
import type { IdempotentOperation } from "../core/idempotency.js";
import type { Project } from "../sign-in/project-credentials.js";
import type { EventEmitter } from "node:events";
import type { IntentContext } from "../intents/lease.js";
import type { Customer, CustomerTokens } from "../sign-in/customer-token.js";
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
 * Who may call: `project` with HTTP Basic, `customer` with a bearer token, `provider` with a signature that the handler checks,
 * `public` without credentials (runtime/ramp/docs/limits.md).
 */
export type Access = "project" | "customer" | "provider" | "public";

/** An authenticated and validated request, as its handler gets it. */
export interface RouteRequest<A extends Access, B = unknown, Q = unknown> {
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
  readonly customer: Customer;
  readonly provider: null;
  readonly public: null;
}

interface RouteDescription {
  readonly method: "GET" | "POST" | "DELETE";
  /** As OpenAPI writes it, `/v1/intent/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Schema of a body that the handler gets as text only, to check its signature. */
  readonly rawBody?: TSchema;
  /** The successful response. */
  readonly response: {
    readonly status: number;
    readonly schema: TSchema | null;
    readonly description: string;
  };
  /** Its own errors, beside those of its access and of the validation. */
  readonly errors: readonly RampErrorCode[];
}

/** An endpoint: its documentation, its checks and its handler in one place. */
export interface Route extends RouteDescription {
  readonly access: Access;
  readonly query: TSchema | null;
  readonly body: TSchema | null;
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

type Fields<B extends TSchema | null, Q extends TSchema | null> = { readonly body?: B; readonly query?: Q };
type Of<S> = S extends TSchema ? Static<S> : null;

/** Declares an endpoint whose handler is typed by its access and its schemas. */
export function route<A extends Access, B extends TSchema | null = null, Q extends TSchema | null = null>(
  access: A,
  declaration: RouteDescription &
    Fields<B, Q> & {
      readonly handle: (call: RouteRequest<A, Of<B>, Of<Q>>) => Promise<RampAnswer>;
    },
): Route {
  const { handle, body = null, query = null, ...rest } = declaration;
  return { ...rest, access, body, query, run: { kind: "direct", handle } };
}

/** Declares an endpoint that accepts an `Idempotency-Key`. */
export function idempotentRoute<A extends "project" | "customer", B extends TSchema>(
  access: A,
  declaration: RouteDescription & {
    readonly body: B;
    readonly work: (call: RouteRequest<A, Static<B>, null>) => IdempotentOperation;
  },
): Route {
  const { work, ...rest } = declaration;
  return { ...rest, access, query: null, run: { kind: "once", work } };
}

export type ProjectRequest<B = null, Q = null> = RouteRequest<"project", B, Q>;
export type CustomerRequest<B = null, Q = null> = RouteRequest<"customer", B, Q>;
