import { type Static, Type } from "@sinclair/typebox";
import { OF_PROJECT, type PageRequest, type ProjectTransaction } from "../../database/ramp-database.js";
import { giveEventPositions } from "../../webhooks/record-event.js";
import { listResponse } from "../intent-view.js";
import { route } from "../route.js";
import { EventsQuery } from "../request-schemas.js";
import { EventView } from "../response-schemas.js";

interface EventRow {
  readonly id: string;
  readonly body: string;
}

/** Oldest first is by position, which a poller can go on from; newest first is by the order of writing. */
const OLDEST_FIRST = { column: "position", later: ">" } as const;
const NEWEST_FIRST = { column: "sequence", later: "<" } as const;

/** Events; one more than `limit` when there are more. Null: `startingAfter` names none. */
async function listEvents(
  tx: ProjectTransaction,
  { type, order = "desc" }: Static<typeof EventsQuery>,
  { limit, startingAfter }: PageRequest,
): Promise<readonly EventRow[] | null> {
  const { column, later } = order === "asc" ? OLDEST_FIRST : NEWEST_FIRST;
  if (order === "asc") await giveEventPositions(tx);
  const after =
    startingAfter === null
      ? null
      : await tx.row<{ place: string }>(
          `SELECT ${column} AS place FROM ramp.events WHERE ${OF_PROJECT} AND id = $1`,
          [startingAfter],
        );
  if (startingAfter !== null && after === null) return null;
  return tx.rows<EventRow>(
    `SELECT id, body FROM ramp.events WHERE ${OF_PROJECT} AND ($1::bigint IS NULL OR ${column} ${later} $1)
       AND ($3::text IS NULL OR type = $3) AND ${column} IS NOT NULL ORDER BY ${column} ${order} LIMIT $2`,
    [after?.place ?? null, limit + 1, type ?? null],
  );
}

export const getEvents = route("project", {
  method: "GET",
  path: "/v1/events",
  summary: "List the project's events, newest first or with `order=asc` oldest first",
  query: EventsQuery,
  response: { status: 200, schema: Type.Array(EventView), description: "Events as webhooks receive them." },
  errors: [],
  handle: (call) =>
    listResponse(
      call,
      call.caller.id,
      (tx, page) => listEvents(tx, call.query, page),
      ({ id, body }) => ({ id, ...(JSON.parse(body) as Record<string, unknown>) }),
    ),
});
