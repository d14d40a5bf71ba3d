import type { RequestHandler } from "express";
import type { Tier } from "../model/tier.js";
import type {
  Direction,
  Endpoint,
  Filter,
  Method,
  Pagination,
  Parameter,
  Relation,
} from "../model/endpoint.js";
import { gatewayOf } from "./mount.js";
import { serveEndpoint } from "./serve.js";

/** A parameter as a generated module declares it, under its name. */
export type DeclaredParameter<Row> = Filter & { readonly column: keyof Row & string };

/**
 * What a generated module says of its endpoint. Left out is what has its default: `GET` alone, no required filters,
 * no pages, no order. Without `parameters` the endpoint is a legacy one (data-api.md §4.3).
 */
export interface Declaration<Query, Row> {
  readonly model: string;
  readonly path: `/v1/${string}`;
  readonly tier: Tier;
  readonly relation: Relation;
  /** The warehouse's type of each column; null where nobody declared it. */
  readonly columns: { readonly [Name in keyof Row & string]: string | null };
  readonly methods?: readonly Method[];
  readonly parameters?: { readonly [Name in keyof Query & string]?: DeclaredParameter<Row> };
  readonly allowUnfiltered?: boolean;
  readonly requireAnyOf?: readonly (keyof Query & string)[];
  readonly pagination?: Pagination;
  readonly sort?: readonly (readonly [column: keyof Row & string, direction: Direction])[];
  readonly sortableFields?: readonly (keyof Row & string)[];
  /** RFC 3339, in UTC. */
  readonly deprecationDate?: string;
  readonly successor?: `/v1/${string}`;
  /** dbt nodes whose builds alone change the rows. */
  readonly upstreamNodes?: readonly string[];
}

/** A page of rows with its place, for an endpoint whose `response` is `envelope` (decisions.md §A). */
export interface Envelope<Row> {
  readonly items: readonly Row[];
  readonly pagination: { limit: number; offset: number; returned: number; has_more: boolean };
}

/** Every error body (data-api.md §7). */
export interface ErrorBody {
  readonly detail: string;
}

/** What a handler answers with. */
export type Answer<Row> = readonly Row[] | Envelope<Row> | ErrorBody;

/** An endpoint and its Express handlers; `post` answers 405 unless the endpoint declares it. */
export interface EndpointModule<Query = unknown, Row = unknown> {
  readonly spec: Endpoint;
  readonly get: RequestHandler<Record<string, string>, Answer<Row>, unknown, Query>;
  readonly post: RequestHandler<Record<string, string>, Answer<Row>, Query>;
}

/**
 * Makes the handlers of an endpoint. They work in any Express 5 app that holds a gateway:
 *
 * @example
 * const app = express();
 * app.use(withGateway(openGateway({ databaseUrl, keys })));
 * app.get(spec.path, get);
 */
export function defineEndpoint<Query, Row>(declaration: Declaration<Query, Row>): EndpointModule<Query, Row> {
  const spec = endpointOf(declaration);
  const handler: RequestHandler = (request, response) =>
    serveEndpoint(gatewayOf(request), spec, request, response);
  return { spec, get: handler as never, post: handler as never };
}

function endpointOf<Query, Row>(declaration: Declaration<Query, Row>): Endpoint {
  const { model, path, tier, relation, columns, parameters } = declaration;
  return {
    model,
    path,
    tier,
    relation,
    columns: Object.entries<string | null>(columns).map(([name, type]) => ({ name, type })),
    methods: declaration.methods ?? ["GET"],
    legacy: parameters === undefined,
    parameters: Object.entries(parameters ?? {}).map(
      ([name, filter]) => ({ name, ...(filter as Filter) }) as Parameter,
    ),
    allowUnfiltered: declaration.allowUnfiltered ?? parameters === undefined,
    requireAnyOf: declaration.requireAnyOf ?? [],
    pagination: declaration.pagination ?? null,
    sort: declaration.sort ?? [],
    sortableFields: declaration.sortableFields ?? [],
    deprecationDate: declaration.deprecationDate ?? null,
    successor: declaration.successor ?? null,
    upstreamNodes: declaration.upstreamNodes ?? null,
  };
}
