import type { RequestListener } from "node:http";
import { type DataPath, type DataRoute, serveExchange, UNKNOWN_PATH } from "../core/handler/exchange.js";
import type { Gateway } from "../core/handler/gateway.js";
import type { ActiveRelease } from "../core/handler/loaded-release.js";
import { pathItem, pathOf, RouteTable } from "../core/http/route.js";
import type { ApiAbout } from "../core/model/about.js";
import { loadedOnce } from "../core/model/loaded-once.js";
import { findAt } from "../core/response/content-negotiation.js";
import type { Documents } from "../pages/documents.js";
import { documentRoutes } from "../pages/pages.js";
import type { Odata } from "./odata/odata.js";
import { mcpRoutes } from "./mcp/mcp-endpoint.js";
import type { Environment } from "./operations/environment.js";
import type { Service } from "./system/context.js";
import { routesOf, systemRoutes } from "./system/routes.js";

interface ListenerParts {
  readonly gateway: Gateway;
  readonly documents: Documents;
  readonly active: ActiveRelease;
  readonly about: ApiAbout;
  readonly environment: Environment;
  /** What manages keys in a database. */
  readonly accounts: { readonly routes: readonly DataRoute[] } | null;
}

/** The data API as a listener. An endpoint runs the handler that its generated module exports. */
export function dataApiListener(
  { gateway, documents, active, about, environment: mcp, accounts }: ListenerParts,
  service: Service,
): RequestListener {
  const { title, isPrivate } = service;
  const endpoints = () => active.current.endpoints;
  const routes = new RouteTable([
    ...routesOf(service, systemRoutes(documentRoutes(title, about, mcp.account !== null))),
    ...mcpRoutes({ settings: mcp, documents, title, endpoints, isPrivate }),
    ...(accounts?.routes ?? []),
  ]);
  const locals = { gateway };
  // Loaded at the first request below its path: most servers have none, and it serves nothing that needs a setting.
  const loadOdata = loadedOnce<Odata>(
    async () => new (await import("./odata/odata.js")).Odata({ gateway, documents, active }),
  );
  return (request, response) => {
    const path = pathOf(request.url ?? "/");
    const endpoint = findAt(active.current.served, path);
    if (endpoint === null && /^\/odata(?:\/|$)/.test(path))
      return void loadOdata().then(
        (odata) => odata.serve(request, response),
        (error: unknown) => serveExchange(gateway, failingPath(path, error), request, response),
      );
    if (endpoint === null) {
      const item = routes.find(path)?.item ?? UNKNOWN_PATH;
      return void serveExchange(gateway, item, request, response);
    }
    const handler = (request.method === "POST" ? endpoint.post : endpoint.get) as unknown as RequestListener;
    (response as { locals?: object }).locals = locals;
    return handler(request, response);
  };
}

/** A path whose code cannot be loaded now. */
function failingPath(path: string, error: unknown): DataPath {
  const handle = (): Promise<never> => {
    throw error;
  };
  const route = { path, access: { limit: "caller" }, operation: null, handle } as const;
  return pathItem([
    { ...route, method: "GET" },
    { ...route, method: "POST" },
  ]);
}
