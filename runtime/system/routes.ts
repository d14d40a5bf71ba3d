import type { PageRoute } from "../http/route.js";
import type { Schema } from "../model/schema.js";
import { httpError, type HttpError } from "../model/errors.js";
import type { DataRoute } from "../handler/exchange.js";
import { CATALOGUE_SCHEMA } from "./catalogue.js";
import { CHANGELOG, CHANGELOG_FEED, CHANGELOG_SCHEMA } from "./changelog.js";
import { DOCUMENT, type Service, type SystemRoute } from "./context.js";
import { CATALOGUE, LLMS, OPENAPI } from "./documents.js";
import { HEALTH, HEALTH_SCHEMA, METRICS, STATUS, STATUS_SCHEMA } from "./monitoring.js";
import { REFRESH, REFRESH_SCHEMA } from "./refresh.js";
import { USAGE, USAGE_SCHEMA } from "./usage.js";
import { VALUES, VALUES_SCHEMA } from "./values.js";

/**
 * The routes of the service itself in the documented order (runtime/docs/system-endpoints.md). `pages`: those of the
 * documentation, open to every caller.
 */
export function systemRoutes(pages: readonly PageRoute[]): readonly SystemRoute[] {
  const open = pages.map((page): SystemRoute => ({ ...page, access: DOCUMENT }));
  // A reader of a page whose file is gone has used no request of its window.
  const others = pages.flatMap(({ path, operation }) => (operation === null ? [] : [notFoundBelow(path)]));
  return [
    STATUS,
    HEALTH,
    ...open,
    ...others,
    OPENAPI,
    CATALOGUE,
    CHANGELOG,
    CHANGELOG_FEED,
    VALUES,
    USAGE,
    METRICS,
    REFRESH,
    LLMS,
  ];
}

function notFoundBelow(path: string): SystemRoute {
  const handle = (): HttpError => httpError("notFound");
  return { method: "GET", path: `${path}/*`, access: DOCUMENT, operation: null, handle };
}

/** The routes of a service, whose state they report. */
export function routesOf(service: Service, routes: readonly SystemRoute[]): readonly DataRoute[] {
  return routes.map(({ handle, ...route }) => ({
    ...route,
    handle: (exchange) => handle(exchange, service),
  }));
}

/** Schemas of their responses. */
export const SYSTEM_SCHEMAS: Readonly<Record<string, Schema>> = {
  ServiceStatus: STATUS_SCHEMA,
  Health: HEALTH_SCHEMA,
  ColumnValues: VALUES_SCHEMA,
  Usage: USAGE_SCHEMA,
  Catalogue: CATALOGUE_SCHEMA,
  Changelog: CHANGELOG_SCHEMA,
  Refresh: REFRESH_SCHEMA,
};
