import { described, listOf, named, openRecord, orNull, record, text } from "../model/schema.js";
import { type DescribedRoute, DOCUMENT, jsonAnswer, LIMITED, textAnswer } from "./described-route.js";

const EVENT_PATHS = openRecord(
  {},
  {
    path: described(
      "Paths of endpoints, separated by commas: at most 100. All that the caller may call by default.",
      {
        ...text,
        minLength: 1,
      },
    ),
  },
);

const SUBSCRIPTIONS = "/v1/system/subscriptions";
const SUBSCRIPTION_BODY = record(
  {
    url: described("An https:// address without credentials.", { ...text, minLength: 1, maxLength: 2000 }),
  },
  {
    paths: described(
      "Paths of endpoints. All that the key may call by default.",
      orNull(listOf(text, { minItems: 1, maxItems: 100 })),
    ),
    types: described(
      "Types of events. All that are about endpoints by default.",
      orNull(listOf(text, { minItems: 1, maxItems: 100 })),
    ),
  },
);

/** The routes of events and of those who get them. */
export const EVENT_ROUTES = {
  events: {
    method: "GET",
    path: "/v1/system/events",
    access: LIMITED,
    operation: {
      operationId: "system_events",
      summary: "Events",
      description:
        "What happens to the endpoints that the caller may call, as Server-Sent Events: `data.rebuilt`, `data.late`, " +
        "`contract.changed`, `endpoint.deprecated`. The header `Last-Event-ID` goes on behind an event of the last 7 days.",
      query: EVENT_PATHS,
      responses: [textAnswer("The events, until the client leaves.", "text/event-stream")],
    },
  },
  eventsFeed: {
    method: "GET",
    path: "/v1/system/events.atom",
    access: DOCUMENT,
    operation: {
      operationId: "system_events_feed",
      summary: "Feed of events",
      description: "The last 100 events of the endpoints that the caller may call, as an Atom feed.",
      query: EVENT_PATHS,
      responses: [textAnswer("The feed.", "application/atom+xml")],
    },
  },
  subscriptions: {
    method: "GET",
    path: SUBSCRIPTIONS,
    access: LIMITED,
    operation: {
      operationId: "system_subscriptions",
      needsKey: true,
      summary: "Subscriptions",
      description: "The subscriptions of the caller's key, with the result of the last attempt at each.",
      responses: [jsonAnswer("The subscriptions.", named("Subscriptions"))],
    },
  },
  subscribe: {
    method: "POST",
    path: SUBSCRIPTIONS,
    access: LIMITED,
    operation: {
      operationId: "system_subscribe",
      needsKey: true,
      summary: "Subscribe",
      description:
        "Has events sent to an address, signed (Standard Webhooks), as far as the key may read them when they are sent. The response has " +
        "the secret, once.",
      body: SUBSCRIPTION_BODY,
      responses: [jsonAnswer("The subscription and its secret.", named("NewSubscription"), 201)],
    },
  },
  unsubscribe: {
    method: "DELETE",
    path: SUBSCRIPTIONS,
    access: LIMITED,
    operation: {
      operationId: "system_unsubscribe",
      needsKey: true,
      summary: "Unsubscribe",
      description: "Deletes a subscription of the caller's key.",
      query: openRecord({ id: described("Of the subscription.", { ...text, minLength: 1 }) }),
      responses: [
        { status: 204, description: "It is deleted.", mediaType: "application/json", schema: null },
      ],
    },
  },
} as const satisfies Readonly<Record<string, DescribedRoute>>;
