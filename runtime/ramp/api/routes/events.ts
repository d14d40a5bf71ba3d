import {
  described,
  integer,
  listOf,
  named,
  openRecord,
  type ValueOf,
} from "@routewright/runtime/internal/core/model/schema.js";
import { JsonText } from "../../core/exact-json.js";
import { jsonResponse, rampError } from "../../core/ramp-errors.js";
import { isUuid } from "../../database/id.js";
import type { PageRequest } from "../../database/ramp-database.js";
import { OF_PROJECT, type ProjectTransaction } from "../../database/transaction.js";
import { replayEvent } from "../../webhooks/endpoints.js";
import { listResponse, MAX_PAGE_BYTES } from "../intent-view.js";
import { EmptyBody, EventsQuery } from "../request-schemas.js";
import { DeliveryView, EventView } from "../response-schemas.js";
import { idempotentRoute, route } from "../route.js";

/** An event as it is stored and delivered. */
interface StoredEvent {
  readonly id: string;
  /** A JSON object. */
  readonly body: string;
}

/** As its deliveries have it, to the last digit, with its id. */
function eventView({ id, body }: StoredEvent): JsonText {
  return new JsonText(`{"id":"${id}",${body.slice(1)}`);
}

/**
 * Events by sequence number, which grows in the order of the commits: who goes on from the last event it has seen misses none
 * (webhooks/events.ts). One more than the page has when there are more; null: `startingAfter` names none.
 */
async function listEvents(
  tx: ProjectTransaction,
  { type, order = "desc", afterSequence, createdSince }: ValueOf<typeof EventsQuery>,
  { limit, startingAfter }: PageRequest,
): Promise<readonly StoredEvent[] | null> {
  const after = startingAfter === null ? null : await sequenceOf(tx, startingAfter);
  if (startingAfter !== null && after === null) return null;
  const [later, direction] = order === "asc" ? [">", "ASC"] : ["<", "DESC"];
  return tx.rows<StoredEvent>(
    `SELECT id, body FROM (
       SELECT id, body, sequence, sum(octet_length(body)) OVER (ORDER BY sequence ${direction}) - octet_length(body) AS before
         FROM (SELECT id, body, sequence FROM ramp.events WHERE ${OF_PROJECT} AND ($1::bigint IS NULL OR sequence ${later} $1)
           AND ($2::text IS NULL OR type = $2) AND ($5::bigint IS NULL OR sequence > $5)
           AND ($6::timestamptz IS NULL OR sequence >= extract(epoch FROM $6::timestamptz) * 1000000) ORDER BY sequence ${direction} LIMIT $3) found
       ) page WHERE before < $4 ORDER BY sequence ${direction}`,
    [after, type ?? null, limit + 1, MAX_PAGE_BYTES, afterSequence ?? null, createdSince ?? null],
  );
}

async function sequenceOf(tx: ProjectTransaction, id: string): Promise<string | null> {
  const row = await tx.row<{ readonly sequence: string }>(
    `SELECT sequence FROM ramp.events WHERE ${OF_PROJECT} AND id = $1`,
    [id],
  );
  return row?.sequence ?? null;
}

const readEvent = (tx: ProjectTransaction, id: string): Promise<StoredEvent | null> =>
  tx.row<StoredEvent>(`SELECT id, body FROM ramp.events WHERE ${OF_PROJECT} AND id = $1`, [id]);

export const getEvents = route("project", {
  method: "GET",
  path: "/v1/events",
  summary: "List the project's events, newest first",
  description:
    "With `order=asc` a feed: events in the order of their commits. Keep the `sequence` of the last one and go on from it with `afterSequence`, also after an empty page: none is lost. `createdSince` begins at a time, `starting_after` after the event of an id, which must still be there.",
  query: EventsQuery,
  response: {
    status: 200,
    schema: listOf(named("Event")),
    description: "Events, as webhooks get them.",
  },
  errors: [],
  handle: (call) => listResponse(call, (tx, page) => listEvents(tx, call.query, page), eventView),
});

export const getEvent = route("project", {
  method: "GET",
  path: "/v1/events/{id}",
  summary: "Get an event",
  response: { status: 200, schema: EventView, description: "The event." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters: { id = "" } }) {
    if (!isUuid(id)) return rampError("NOT_FOUND");
    const event = await ramp.database.inProject(caller.projectId, (tx) => readEvent(tx, id));
    return event === null ? rampError("NOT_FOUND") : jsonResponse(200, eventView(event));
  },
});

const DELIVERIES = `SELECT id, endpoint_id AS "webhookId", status, attempts, attempt_at AS "nextAttemptAt", last_result AS "lastResult",
    created_at AS "createdAt", updated_at AS "updatedAt"
  FROM ramp.webhook_deliveries WHERE ${OF_PROJECT} AND event_id = $1 ORDER BY created_at, id`;

interface StoredDelivery extends Omit<ValueOf<typeof DeliveryView>, "nextAttemptAt" | "lastResult"> {
  readonly nextAttemptAt: Date | null;
  readonly lastResult: string | null;
}

function deliveryView({ nextAttemptAt, lastResult, ...delivery }: StoredDelivery) {
  return {
    ...delivery,
    ...(nextAttemptAt && { nextAttemptAt }),
    ...(lastResult !== null && { lastResult }),
  } satisfies ValueOf<typeof DeliveryView>;
}

export const getDeliveries = route("project", {
  method: "GET",
  path: "/v1/events/{id}/deliveries",
  summary: "List the deliveries of an event to the project's webhooks",
  response: { status: 200, schema: listOf(DeliveryView), description: "A delivery per webhook." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters: { id = "" } }) {
    if (!isUuid(id)) return rampError("NOT_FOUND");
    const found = await ramp.database.inProject(
      caller.projectId,
      async (tx) => (await readEvent(tx, id)) && (await tx.rows<StoredDelivery>(DELIVERIES, [id])),
    );
    return found === null ? rampError("NOT_FOUND") : jsonResponse(200, found.map(deliveryView));
  },
});

export const replayDeliveries = idempotentRoute("project", {
  method: "POST",
  path: "/v1/events/{id}/replay",
  summary: "Deliver an event again",
  description: "Takes no body. To every webhook that it was for and that is switched on.",
  body: EmptyBody,
  response: {
    status: 202,
    schema: openRecord({ replayed: described("Number of deliveries.", integer) }),
    description: "The deliveries are due again.",
  },
  errors: ["NOT_FOUND"],
  work: ({ parameters: { id = "" } }) => ({
    prepare: () =>
      Promise.resolve(
        isUuid(id)
          ? {
              resourceId: id,
              begin: async (tx) =>
                (await readEvent(tx, id)) === null
                  ? rampError("NOT_FOUND")
                  : jsonResponse(202, { replayed: await replayEvent(tx, id) }),
            }
          : rampError("NOT_FOUND"),
      ),
  }),
});
