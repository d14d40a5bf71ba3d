import { GRAINS } from "../model/aggregate/grains.js";
import { DEFAULT_MAX_LENGTH, MAX_FACETS, VALUES_PAGE } from "../model/limits.js";
import { TIERS } from "../model/tier.js";
import { described, integer, named, oneOf, openRecord, text } from "../model/schema.js";
import {
  type DescribedRoute,
  DOCUMENT,
  jsonAnswer,
  LIMITED,
  type SystemOperation,
  textAnswer,
  UNLIMITED,
} from "./described-route.js";
import { EVENT_ROUTES } from "./event-routes.js";

export { type DescribedRoute, DOCUMENT, type SystemOperation } from "./described-route.js";

function pageRoute(path: string, summary: string, description: string, name = path.slice(1)) {
  const operation: SystemOperation = {
    operationId: `system_${name}`,
    summary,
    description,
    responses: [{ status: 200, description: "A page.", mediaType: "text/html", schema: { type: "string" } }],
  };
  return { method: "GET", path, access: DOCUMENT, operation } as const satisfies DescribedRoute;
}

/** The documentation pages; `pages/` has their documents. */
export const PAGE_ROUTES = {
  docs: pageRoute("/docs", "Interactive documentation", "This document in Swagger UI."),
  redoc: pageRoute("/redoc", "Alternative documentation", "This document in Redoc."),
  explore: pageRoute(
    "/explore",
    "Explorer",
    "The catalogue as a page: search, try an endpoint, draw a chart.",
  ),
  guide: pageRoute(
    "/guide",
    "Guide",
    "How to call this API: keys, filters, pages, formats, errors and clients, by its own endpoints.",
  ),
  status: pageRoute(
    "/status",
    "Status of the endpoints",
    "Which endpoints are fresh, late, failed their tests or are deprecated, of those that the caller sees.",
    "status_page",
  ),
} as const;

/** The routes of the service itself as data, which documents describe; `system/` has their handlers. */
export const ROUTES = {
  status: {
    method: "GET",
    path: "/",
    access: DOCUMENT,
    operation: {
      operationId: "system_status",
      summary: "Service status",
      description: "Status of the service, and the path of its documentation.",
      responses: [jsonAnswer("The service is online.", named("ServiceStatus"))],
    },
  },
  health: {
    method: "GET",
    path: "/health",
    access: UNLIMITED,
    operation: {
      operationId: "system_health",
      summary: "Readiness",
      description: "Readiness: 503 while the database is unreachable.",
      responses: [
        jsonAnswer("Ready.", named("Health")),
        jsonAnswer("The database is unreachable.", named("Health"), 503),
      ],
    },
  },
  openapi: {
    method: "GET",
    path: "/openapi.json",
    access: DOCUMENT,
    operation: {
      operationId: "system_openapi",
      summary: "OpenAPI description",
      description:
        "This document, OpenAPI 3.1. With a key it describes what the key may call; with `tier`, what that tier may call; " +
        "else everything.",
      query: openRecord(
        {},
        { tier: described("Describe only endpoints that this tier may call.", oneOf(TIERS)) },
      ),
      responses: [jsonAnswer("The description.", { type: "object", additionalProperties: true })],
    },
  },
  catalogue: {
    method: "GET",
    path: "/v1/system/catalogue",
    access: DOCUMENT,
    operation: {
      operationId: "system_catalogue",
      summary: "Catalogue",
      description:
        "The endpoints that the caller's key may call, with their columns, parameters, last dbt build, dbt test results and " +
        "lineage.",
      responses: [jsonAnswer("The catalogue.", named("Catalogue"))],
    },
  },
  changelog: {
    method: "GET",
    path: "/v1/system/changelog",
    access: DOCUMENT,
    operation: {
      operationId: "system_changelog",
      summary: "Changelog",
      description:
        "What changed in the API, newest first; with `Accept: application/atom+xml`, or the suffix `.atom`, as a feed. Empty " +
        "where the service keeps no changelog.",
      responses: [jsonAnswer("The changelog.", named("Changelog"))],
    },
  },
  changelogFeed: {
    method: "GET",
    path: "/v1/system/changelog.atom",
    access: DOCUMENT,
    operation: null,
  },
  states: { method: "GET", path: "/v1/system/status", access: DOCUMENT, operation: null },
  statusFeed: {
    method: "GET",
    path: "/v1/system/status.atom",
    access: DOCUMENT,
    operation: {
      operationId: "system_status_feed",
      summary: "Feed of the status",
      description:
        "As an Atom feed: the endpoints that are late, failed their tests or are deprecated, of those that the caller sees, and " +
        "since when.",
      responses: [textAnswer("The feed.", "application/atom+xml")],
    },
  },
  ...EVENT_ROUTES,
  values: {
    method: "GET",
    path: "/v1/system/values",
    access: LIMITED,
    operation: {
      operationId: "system_values",
      summary: "Values of a column",
      description:
        "The values of an endpoint's column in the rows that the caller may read, the most frequent first, so that a filter can " +
        "ask for one that exists. Further parameters are filters of the endpoint. They are kept for 60 seconds.",
      query: openRecord(
        {
          path: described("Path of the endpoint.", { ...text, minLength: 1 }),
        },
        {
          column: described(
            "A column of its rows; a group where it serves no rows. Either this or `columns`.",
            {
              ...text,
              minLength: 1,
            },
          ),
          columns: described(
            `Up to ${String(MAX_FACETS)} of them, with commas between. The values of each are counted without the conditions on it.`,
            { ...text, minLength: 1 },
          ),
          prefix: {
            ...text,
            maxLength: DEFAULT_MAX_LENGTH,
            description: "Only values that begin with this text, in any letter case.",
          },
          limit: {
            ...integer,
            ...{ minimum: 1, maximum: VALUES_PAGE.maxLimit, default: VALUES_PAGE.defaultLimit },
            description: "How many values at most.",
          },
        },
      ),
      queryMethod: "The parameters as fields of a JSON body.",
      responses: [jsonAnswer("The values.", { anyOf: [named("ColumnValues"), named("Facets")] })],
    },
  },
  chart: {
    method: "GET",
    path: "/v1/system/chart",
    access: LIMITED,
    operation: {
      operationId: "system_chart",
      summary: "Points of a chart",
      description:
        "Sums and numbers of values of an endpoint's columns at each point of a chart, from all rows that the caller may read. " +
        "Further parameters are filters of the endpoint. They are kept for 60 seconds.",
      query: openRecord(
        {
          path: described("Path of the endpoint.", { ...text, minLength: 1 }),
          x: described("The column of the axis.", { ...text, minLength: 1 }),
          y: described("Columns of numbers, separated by commas: at most 8.", { ...text, minLength: 1 }),
        },
        {
          by: described("Columns that divide each point, separated by commas: at most 8.", text),
          grain: described("The period of `x`, a column of dates or times, in UTC.", oneOf(GRAINS)),
        },
      ),
      responses: [jsonAnswer("The points.", named("ChartPoints"))],
    },
  },
  usage: {
    method: "GET",
    path: "/v1/system/usage",
    access: LIMITED,
    operation: {
      operationId: "system_usage",
      summary: "The caller's limits and use",
      description: "Limits and use of the caller's own key, or limits of a caller without one.",
      responses: [jsonAnswer("Limits and use.", named("Usage"))],
    },
  },
  metrics: {
    method: "GET",
    path: "/metrics",
    access: { ...UNLIMITED, isForOperators: true },
    operation: {
      operationId: "system_metrics",
      summary: "Metrics",
      description:
        "Metrics for Prometheus. Loopback callers need no key; METRICS_PUBLIC=true opens them to all callers.",
      tier: "tier3",
      responses: [textAnswer("Metrics in the Prometheus text format.", "text/plain")],
    },
  },
  refresh: {
    method: "POST",
    path: "/v1/system/manifest/refresh",
    access: { ...LIMITED, tier: "tier3" },
    operation: {
      operationId: "system_manifest_refresh",
      summary: "Refresh the manifest",
      description:
        "Reads the manifest now and updates the endpoints. A manifest that cannot be read changes nothing.",
      responses: [jsonAnswer("The result of the refresh.", named("Refresh"))],
    },
  },
  llms: {
    method: "GET",
    path: "/llms.txt",
    access: DOCUMENT,
    operation: null,
  },
} as const satisfies Readonly<Record<string, DescribedRoute>>;

const { status, health, ...others } = ROUTES;

/** All of them in the documented order (runtime/docs/system-endpoints.md). */
export const SYSTEM_ROUTES: readonly DescribedRoute[] = [
  status,
  health,
  ...Object.values(PAGE_ROUTES),
  ...Object.values(others),
];
