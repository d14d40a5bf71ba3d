import type { Static, TSchema } from "@sinclair/typebox";
import type { Work } from "../idempotency/run.js";
import type { Project } from "../project/project.js";
import type { Ramp } from "../ramp.js";
import type { Customer } from "../token/customer-token.js";
import type { Answer } from "./answer.js";
import type { ErrorCode, Refusal } from "./errors.js";

/** Who may call: `project` with HTTP Basic, `customer` with a bearer token (ramp-api.md §5), or anybody. */
export type Access = "project" | "customer" | "public";

/** What the checks in front of a handler leave of a request. */
export interface Call<A extends Access, B = unknown, Q = unknown> {
  readonly ramp: Ramp;
  readonly caller: Callers[A];
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Q;
  readonly body: B;
  /** The body as it came. */
  readonly text: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The address that was asked for, for links to other pages of a list. */
  readonly path: string;
}

interface Callers {
  readonly project: Project;
  readonly customer: Customer;
  readonly public: null;
}

interface Description {
  readonly method: "GET" | "POST";
  /** As OpenAPI writes it, `/v1/intent/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** The good answer. */
  readonly answer: { readonly status: number; readonly schema: TSchema | null; readonly description: string };
  /** Refusals of its own, beside those that its access and its fields bring. */
  readonly refusals: readonly ErrorCode[];
}

/** An endpoint: its documentation, its checks and its handler in one place. */
export interface Route extends Description {
  readonly access: Access;
  readonly query: TSchema | null;
  readonly body: TSchema | null;
  readonly run: Run;
}

/** A handler, or, where `Idempotency-Key` is taken, the request as a work that can be done once. */
export type Run =
  | {
      readonly kind: "direct";
      readonly handle: (call: Call<never, never, never>) => Promise<Answer | Refusal>;
    }
  | { readonly kind: "once"; readonly work: (call: Call<never, never, never>) => Work };

type Fields<B extends TSchema | null, Q extends TSchema | null> = { readonly body?: B; readonly query?: Q };
type Of<S> = S extends TSchema ? Static<S> : null;

/** Declares an endpoint whose handler is typed by its access and its schemas. */
export function route<A extends Access, B extends TSchema | null = null, Q extends TSchema | null = null>(
  access: A,
  declaration: Description &
    Fields<B, Q> & { readonly handle: (call: Call<A, Of<B>, Of<Q>>) => Promise<Answer | Refusal> },
): Route {
  const { handle, body = null, query = null, ...rest } = declaration;
  return { ...rest, access, body, query, run: { kind: "direct", handle } };
}

/** The same for one that takes an `Idempotency-Key`. */
export function onceRoute<A extends "project" | "customer", B extends TSchema>(
  access: A,
  declaration: Description & { readonly body: B; readonly work: (call: Call<A, Static<B>, null>) => Work },
): Route {
  const { work, ...rest } = declaration;
  return { ...rest, access, query: null, run: { kind: "once", work } };
}

export type ProjectCall<B = null, Q = null> = Call<"project", B, Q>;
export type CustomerCall<B = null, Q = null> = Call<"customer", B, Q>;
