import { fileURLToPath } from "node:url";

/** The build does not copy the SQL files: the compiled program reads them from the source folder. */
export const EVENTS_SCHEMA = {
  name: "routewright_events",
  folder: fileURLToPath(
    new URL(
      import.meta.url.includes("/dist/") ? "../../../server/events/migrations" : "./migrations",
      import.meta.url,
    ),
  ),
};

/**
 * Types of events that only operators get: subscriptions of tier3 keys without a list that name them. Triggers of the key database record
 * them in the transaction of the change (`routewright_events.record`).
 */
export const OPERATOR_EVENTS = ["key.created", "quota.reached", "plan.changed"] as const;

export type OperatorEventType = (typeof OPERATOR_EVENTS)[number];
