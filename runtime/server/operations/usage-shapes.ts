/** Shapes of one endpoint on one day, and keys of one shape. A flood of shapes without a key replaces none of a key. */
const MAX_STORED_SHAPES = 500;
const MAX_SHAPE_KEYS = 50;

/** What succeeded and has no shape is the rest. */
const ADD_SHAPES = `INSERT INTO routewright.usage_shapes AS known (day, key, route, shape, requests, last_seen)
  SELECT day, key, route, name, sum(formed.requests), max(to_timestamp("lastSeen" / 1000.0))
  FROM json_to_recordset($1) AS r(day date, key text, route text, "lastSeen" bigint, shapes json),
    json_to_recordset(shapes) AS formed(name text, requests bigint)
  GROUP BY day, key, route, name
  ORDER BY route, day, name, key
  ON CONFLICT (route, day, shape, key) DO UPDATE SET
    requests = known.requests + excluded.requests, last_seen = greatest(known.last_seen, excluded.last_seen)`;

/**
 * Of what was added: the days of routes with too many shapes, and the shapes with too many keys. Ranking all that is kept of the routes
 * took PostgreSQL 2 s of each write with 120,000 rows of a day. Rows go by their place, since plans that join by names read the whole
 * table; the lock keeps others from changing them.
 */
const CROWDED_DAYS = `crowded AS MATERIALIZED (
  SELECT route, day FROM (
    SELECT DISTINCT route, day FROM json_to_recordset($1) AS r(day date, route text, shapes json)
    WHERE json_array_length(shapes) > 0
  ) AS given
  WHERE ${MAX_STORED_SHAPES} < (SELECT count(*) FROM (
    SELECT DISTINCT shape FROM routewright.usage_shapes AS kept WHERE (kept.route, kept.day) = (given.route, given.day)
  ) AS shapes)
)`;

const CROWDED_SHAPES = `crowded AS MATERIALIZED (
  SELECT route, day, shape FROM (
    SELECT DISTINCT route, day, name AS shape FROM json_to_recordset($1) AS r(day date, route text, shapes json),
      json_to_recordset(shapes) AS formed(name text)
  ) AS given
  WHERE ${MAX_SHAPE_KEYS} < (SELECT count(*) FROM routewright.usage_shapes AS kept
    WHERE (kept.route, kept.day, kept.shape) = (given.route, given.day, given.shape))
)`;

const FORGET_SHAPES = `WITH ${CROWDED_DAYS}, further AS (
  SELECT unnest(places) AS place FROM crowded, LATERAL (
    SELECT array_agg(kept.ctid) AS places FROM routewright.usage_shapes AS kept WHERE (kept.route, kept.day) = (crowded.route, crowded.day)
    GROUP BY shape ORDER BY bool_or(key <> 'none') DESC, sum(requests) DESC, shape OFFSET ${MAX_STORED_SHAPES}
  ) AS shapes
)
DELETE FROM routewright.usage_shapes known USING further WHERE known.ctid = further.place`;

/** The requests of further keys are those of `*`. */
const FORGET_KEYS = `WITH ${CROWDED_SHAPES}, further AS (
  SELECT place FROM crowded, LATERAL (
    SELECT kept.ctid AS place FROM routewright.usage_shapes AS kept
    WHERE (kept.route, kept.day, kept.shape) = (crowded.route, crowded.day, crowded.shape)
    ORDER BY key = '*' DESC, requests DESC, key OFFSET ${MAX_SHAPE_KEYS - 1}
  ) AS keys
), gone AS (
  DELETE FROM routewright.usage_shapes known USING further WHERE known.ctid = further.place
  RETURNING known.*
)
INSERT INTO routewright.usage_shapes AS known (day, key, route, shape, requests, last_seen)
SELECT day, '*', route, shape, sum(requests), max(last_seen) FROM gone GROUP BY day, route, shape
ON CONFLICT (route, day, shape, key) DO UPDATE SET
  requests = known.requests + excluded.requests, last_seen = greatest(known.last_seen, excluded.last_seen)`;

/** In the transaction that adds the rows, after it has. */
export const KEEP_SHAPES: readonly string[] = [ADD_SHAPES, FORGET_SHAPES, FORGET_KEYS];
