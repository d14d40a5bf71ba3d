import type { PageRoute } from "../../core/http/route.js";
import { httpError, type HttpError } from "../../core/model/errors.js";
import type { DataRoute } from "../../core/handler/exchange.js";
import { CHANGELOG, CHANGELOG_FEED, STATES, STATUS_FEED } from "./changelog.js";
import { CHART } from "./chart.js";
import type { Service, SystemRoute } from "./context.js";
import { EVENTS, EVENTS_FEED, SUBSCRIPTIONS } from "./events.js";
import { DOCUMENT } from "../../core/handler/system-routes.js";
import { CATALOGUE, FIGURES, LLMS, OPENAPI } from "./documents.js";
import { HEALTH, METRICS, STATUS } from "./monitoring.js";
import { REFRESH } from "./refresh.js";
import { USAGE } from "./usage.js";
import { VALUES, VALUES_QUERY } from "./values.js";

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
    FIGURES,
    ...others,
    OPENAPI,
    CATALOGUE,
    CHANGELOG,
    CHANGELOG_FEED,
    STATES,
    STATUS_FEED,
    EVENTS,
    EVENTS_FEED,
    ...SUBSCRIPTIONS,
    VALUES,
    VALUES_QUERY,
    CHART,
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
