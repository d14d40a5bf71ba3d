import {
  anything,
  described,
  extended,
  flag,
  integer,
  listOf,
  mapOf,
  oneOf,
  openRecord,
  type Schema,
  text,
  textOf,
  time,
} from "@routewright/runtime/internal/core/model/schema.js";
import { EVENT_TYPES } from "../webhooks/events.js";

/** Answers about events and webhooks. */

const Uuid = textOf({ format: "uuid" });
const DateTime = time as Schema as Schema<Date>;

export const EventView = openRecord(
  {
    id: Uuid,
    type: oneOf(EVENT_TYPES),
    timestamp: DateTime,
    sequence: described("Grows with each event of the project, in the order of the commits.", integer),
    data: mapOf(anything),
  },
  {},
  { $id: "Event" },
);

export const DeliveryView = openRecord(
  {
    id: Uuid,
    webhookId: Uuid,
    status: oneOf(["PENDING", "DELIVERED", "EXHAUSTED"]),
    attempts: integer,
    createdAt: DateTime,
    updatedAt: DateTime,
  },
  {
    nextAttemptAt: DateTime,
    lastResult: described("HTTP status of the last attempt, or why there was none.", text),
  },
);

export const WebhookView = openRecord(
  {
    id: Uuid,
    url: text,
    concurrency: integer,
    enabled: flag,
    createdAt: DateTime,
    pending: described("Deliveries that wait for it, counted up to 1,000.", integer),
  },
  {
    eventTypes: described("The events that it gets; absent: all.", listOf(text)),
    undeliverable: described(
      "Why nothing is delivered to it, in words: as the last attempt found it, or switched off.",
      text,
    ),
    lastResult: described("HTTP status of the last attempt at this address, or why there was none.", text),
    lastResultAt: DateTime,
  },
  { $id: "Webhook" },
);

export const NewWebhookView = extended(WebhookView, {
  secret: described("Signs its deliveries; shown once.", text),
});
