import type { RequestHandler } from "express";
import type { Tier } from "../model/tier.js";
import {
  type Column,
  type Direction,
  type Endpoint,
  type Filter,
  GENERATED_SCHEMA_VERSION,
  type Method,
  OWN_ROWS_SCHEMA_VERSION,
  type Pagination,
  type Parameter,
  type PublicAge,
  type Relation,
} from "../model/endpoint.js";
import type { Aggregate } from "../model/aggregate/aggregate.js";
import type { Freshness, LastLoadSql } from "../model/freshness.js";
import type { ValueKind } from "../model/column-types.js";
import { ServedEndpoint } from "../model/served-endpoint.js";
import { handlerOf } from "./handle-request.js";
import { loadFilter } from "../request/resolve-query.js";
import { loadMetrics } from "../warehouse/load-metrics.js";

/** A parameter of a generated module. */
type DeclaredParameter<Row> = Filter & { readonly column: keyof Row & string };

/**
 * The declaration in a generated module. Defaults: `GET` only, no required filters, no pagination, no sort. Without
 * `parameters` the model has no `meta.api`: the endpoint takes no parameters at all (runtime/docs/requests.md).
 */
export interface Declaration<Query, Row> {
  readonly model: string;
  readonly path: `/v1/${string}`;
  readonly tier: Tier;
  readonly relation: Relation;
  /** Database type of each column; null when the model declares none. */
  readonly columns: DeclaredColumns<Row>;
  /** Columns whose numbers may have more digits than a JavaScript number holds. */
  readonly wideColumns?: readonly (keyof Row & string)[];
  readonly numbers?: "string";
  readonly methods?: readonly Method[];
  readonly parameters?: { readonly [Name in keyof Query & string]?: DeclaredParameter<Row> };
  /** Columns that callers filter by with operators. */
  readonly filters?: { readonly [Name in keyof Row & string]?: ValueKind };
  /** Callers combine conditions on these columns in one expression. */
  readonly filter?: true;
  readonly fields?: true;
  /** Callers read the rows whose column equals the organization of their key. */
  readonly rows?: { readonly column: keyof Row & string; readonly equals: "org" };
  /** Pages follow each other by cursor; these columns identify a row. */
  readonly cursor?: readonly (keyof Row & string)[];
  /** Sums and counts by group. */
  readonly aggregate?: Aggregate;
  readonly allowUnfiltered?: boolean;
  readonly requireAnyOf?: readonly (keyof Query & string)[];
  readonly pagination?: Pagination;
  readonly sort?: readonly (readonly [column: keyof Row & string, direction: Direction])[];
  readonly sortableFields?: readonly (keyof Row & string)[];
  /** RFC 3339, in UTC. */
  readonly deprecationDate?: string;
  /** RFC 3339, in UTC: from then on requests get 410. */
  readonly goneAt?: string;
  readonly successor?: `/v1/${string}`;
  /** The path of this version of the model, where `path` is that of the latest one. */
  readonly versionPath?: `/v1/${string}`;
  readonly formerPaths?: readonly { readonly path: `/v1/${string}`; readonly sunset: string | null }[];
  /** The rows change only when dbt builds the model or a node above it. */
  readonly changes?: "on_build";
  /** How old the rows may be. */
  readonly freshness?: Freshness;
  readonly lastLoad?: LastLoadSql;
  /** Callers may refuse rows that are older than promised. */
  readonly requireFresh?: true;
  /** No rows are served while a test of the model fails. */
  readonly onFailedTest?: "refuse";
  /** How long shared caches may keep the rows of callers without a key, in seconds. */
  readonly publicAge?: PublicAge;
}

/** A column of every row is declared; what only groups have is not. */
type DeclaredColumns<Row> = {
  readonly [Name in keyof Row & string as undefined extends Row[Name] ? never : Name]: DeclaredColumn;
} & { readonly [Name in keyof Row & string]?: DeclaredColumn };

/** The database type; with the time zone for a `timestamp` without zone that is not in UTC, and with its own form of numbers. */
type DeclaredColumn =
  string | null | ({ readonly type: string | null } & Pick<Column, "timezone" | "numbers">);

/** The response of an endpoint with `pagination.response: envelope`. */
export interface Envelope<Row> {
  readonly items: readonly Row[];
  readonly pagination: { limit: number; offset: number; returned: number; has_more: boolean };
}

/** The same with `next_cursor`, which is null on the last page. `offset` is null on a page by cursor. */
export interface CursorEnvelope<Row> {
  readonly items: readonly Row[];
  readonly pagination: {
    limit: number;
    offset: number | null;
    returned: number;
    has_more: boolean;
    next_cursor: string | null;
  };
}

/** Body of every error (runtime/docs/errors.md). */
export interface ErrorBody {
  readonly detail: string;
}

/** The response of an endpoint: a page in an envelope where its declaration says so, else a list of rows. */
export type ResponseBody<Row, D = unknown> = D extends {
  readonly pagination: { readonly response: "envelope" };
}
  ? D extends { readonly cursor: readonly string[] }
    ? CursorEnvelope<Row>
    : Envelope<Row>
  : readonly Row[];

/** A handler of one endpoint. It can be mounted alone in an Express 5 app. */
export type GetHandler<Query, Body> = RequestHandler<
  Record<string, string>,
  Body | ErrorBody,
  unknown,
  Query
>;
export type PostHandler<Query, Body> = RequestHandler<Record<string, string>, Body | ErrorBody, Query>;

/** The exports of a generated module; `post` only if the endpoint declares it. */
export interface EndpointModule {
  readonly spec: Endpoint;
  readonly get: RequestHandler;
  readonly post?: RequestHandler;
}

/** An `EndpointModule` with the types of one endpoint: its row, its parameters, and the literal types of its declaration. */
export type DefinedEndpoint<Query, Row, D extends Declaration<Query, Row>> = {
  readonly spec: Omit<Endpoint, "model" | "path" | "tier"> & Pick<D, "model" | "path" | "tier">;
  readonly get: GetHandler<Query, ResponseBody<Row, D>>;
} & (D extends { readonly methods: readonly (infer Declared)[] }
  ? "POST" extends Declared
    ? { readonly post: PostHandler<Query, ResponseBody<Row, D>> }
    : unknown
  : unknown);

/**
 * Creates the handlers of an endpoint. The server runs them, and so can any Express 5 app with a gateway. Two calls,
 * since TypeScript infers either all type arguments of a call or none: the second keeps the literal types.
 *
 * @throws when the module was generated for another schema version of the runtime; the message says what to run
 *
 * @example
 * const app = express();
 * app.use(withGateway(openGateway({ databaseUrl, keys })));
 * app.get(spec.path, get);
 */
export function defineEndpoint<Query, Row>(generated: {
  readonly schema: typeof GENERATED_SCHEMA_VERSION | typeof OWN_ROWS_SCHEMA_VERSION;
}) {
  return <const D extends Declaration<Query, Row>>(declaration: D): DefinedEndpoint<Query, Row, D> => {
    // Modules of an earlier Routewright pass no argument.
    requireSchema(
      `The generated handlers of ${declaration.path} have`,
      (generated as Partial<typeof generated> | undefined)?.schema,
    );
    const spec = endpointOf(declaration);
    // The first request waits for it, and says why where it cannot be loaded.
    if (spec.aggregate !== undefined) loadMetrics().catch(() => undefined);
    if (spec.filter === true) loadFilter().catch(() => undefined);
    const get = handlerOf(new ServedEndpoint(spec));
    const module: EndpointModule = { spec, get, ...(spec.methods.includes("POST") && { post: get }) };
    return module as never;
  };
}

/** @throws when the code was generated for another schema version, which this runtime would misread */
export function requireSchema(subject: string, found: number | undefined): void {
  if (found === GENERATED_SCHEMA_VERSION || found === OWN_ROWS_SCHEMA_VERSION) return;
  const version = found === undefined ? "no schema version" : `schema ${String(found)}`;
  const remedy =
    found !== undefined && found > OWN_ROWS_SCHEMA_VERSION
      ? "run `npm install @routewright/runtime@latest`"
      : "run `npx routewright generate`";
  throw new Error(
    `${subject} ${version}, this @routewright/runtime reads ${String(GENERATED_SCHEMA_VERSION)} and ${String(OWN_ROWS_SCHEMA_VERSION)}: ${remedy}.`,
  );
}

function endpointOf<Query, Row>(declaration: Declaration<Query, Row>): Endpoint {
  const { columns, wideColumns, parameters, filters, ...settings } = declaration;
  const isLegacy = parameters === undefined;
  return {
    methods: ["GET"],
    legacy: isLegacy,
    allowUnfiltered: isLegacy,
    requireAnyOf: [],
    pagination: null,
    sort: [],
    sortableFields: [],
    deprecationDate: null,
    successor: null,
    ...settings,
    columns: Object.entries<DeclaredColumn>(columns as Readonly<Record<string, DeclaredColumn>>).map(
      ([name, column]) => ({
        name,
        ...(typeof column === "object" && column !== null ? column : { type: column }),
        ...(wideColumns?.includes(name as never) && { wide: true as const }),
      }),
    ),
    parameters: Object.entries(parameters ?? {}).map(
      ([name, filter]) => ({ name, ...(filter as Filter) }) as Parameter,
    ),
    ...(filters && {
      filters: Object.entries<ValueKind>(filters as never).map(([column, type]) => ({ column, type })),
    }),
  };
}
