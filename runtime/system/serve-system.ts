import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type Exchange,
  type ServedPath,
  type RouteResult,
  serveRoute,
} from "../handler/authorize-request.js";
import type { Gateway } from "../handler/gateway.js";
import { CATALOGUE } from "./catalogue.js";
import type { Service } from "./context.js";
import { catalogue, llms, OPENAPI, openApi } from "./documents.js";
import { HEALTH, health, METRICS, metrics, STATUS, status } from "./monitoring.js";
import { REFRESH, refresh } from "./refresh.js";
import { USAGE, usage } from "./usage.js";

type Handle = (exchange: Exchange, service: Service) => RouteResult | Promise<RouteResult>;

/** A path that the service itself answers. */
interface SystemRoute {
  readonly route: ServedPath;
  readonly handle: Handle;
}

const READ = "GET, HEAD, OPTIONS";

/** Most have no rate limit, but an unknown key is refused. */
const ROUTES: ReadonlyMap<string, SystemRoute> = new Map(
  [
    openRoute(STATUS.path, status),
    openRoute(HEALTH.path, health),
    openRoute(OPENAPI.path, openApi),
    openRoute(CATALOGUE.path, catalogue),
    openRoute("/llms.txt", llms),
    openRoute(METRICS.path, metrics),
    { route: { path: USAGE.path, allowed: READ, isLimited: true }, handle: usage },
    {
      route: { path: REFRESH.path, allowed: "POST, OPTIONS", isLimited: true, tier: REFRESH.tier },
      handle: refresh,
    },
  ].map((each) => [each.route.path, each]),
);

function openRoute(path: string, handle: Handle): SystemRoute {
  return { route: { path, allowed: READ, isLimited: false }, handle };
}

/** The system endpoint at a path. */
export function systemRouteAt(path: string): SystemRoute | null {
  return ROUTES.get(path) ?? null;
}

/** Serves a system endpoint (runtime/docs/system-endpoints.md). */
export function serveSystem(
  gateway: Gateway,
  service: Service,
  { route, handle }: SystemRoute,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  return serveRoute(gateway, route, request, response, (exchange) => handle(exchange, service));
}
