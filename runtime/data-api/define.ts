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
import { gatewayOf } from "./gateway.js";
import { handleRequest } from "./handler.js";

/** A parameter of a generated module. */
export type DeclaredParameter<Row> = Filter & { readonly column: keyof Row & string };

/**
 * The declaration in a generated module. Defaults: `GET` only, no required filters, no pagination, no sort. Without
 * `parameters` the model has no `meta.api`: the endpoint takes no parameters at all (runtime/README.md, Requests).
 */
export interface Declaration<Query, Row> {
  readonly model: string;
  readonly path: `/v1/${string}`;
  readonly tier: Tier;
  readonly relation: Relation;
  /** Database type of each column; null when the model declares none. */
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
  /** dbt nodes whose builds change the rows, when nothing else does. */
  readonly upstreamNodes?: readonly string[];
}

/** The response of an endpoint with `pagination.response: envelope`. */
export interface Envelope<Row> {
  readonly items: readonly Row[];
  readonly pagination: { limit: number; offset: number; returned: number; has_more: boolean };
}

/** Body of every error (runtime/README.md, Errors). */
export interface ErrorBody {
  readonly detail: string;
}

/** A response body. */
export type ResponseBody<Row> = readonly Row[] | Envelope<Row> | ErrorBody;

/** An endpoint and its Express handlers; `post` responds 405 unless the endpoint declares it. */
export interface EndpointModule<Query = unknown, Row = unknown> {
  readonly spec: Endpoint;
  readonly get: RequestHandler<Record<string, string>, ResponseBody<Row>, unknown, Query>;
  readonly post: RequestHandler<Record<string, string>, ResponseBody<Row>, Query>;
}

/**
 * Makes the handlers of an endpoint. The server runs them, and so can any Express 5 app that has a gateway:
 *
 * @example
 * const app = express();
 * app.use(withGateway(openGateway({ databaseUrl, keys })));
 * app.get(spec.path, get);
 */
export function defineEndpoint<Query, Row>(declaration: Declaration<Query, Row>): EndpointModule<Query, Row> {
  const spec = endpointOf(declaration);
  const handler: RequestHandler = (request, response) =>
    handleRequest(gatewayOf(request), spec, request, response);
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
