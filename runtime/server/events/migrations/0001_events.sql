-- Up Migration

-- Events of the data API, and who gets them (runtime/docs/events.md).
CREATE SCHEMA IF NOT EXISTS routewright_events;

-- One row: the last number. A server that publishes events holds it until it commits, so that numbers become visible in their order.
CREATE TABLE routewright_events.state (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  sequence bigint NOT NULL DEFAULT 0
);
INSERT INTO routewright_events.state DEFAULT VALUES;

CREATE TABLE routewright_events.events (
  -- The same from every server that sees what happened.
  id text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 200),
  -- Null: not published yet.
  sequence bigint UNIQUE,
  type text NOT NULL,
  -- Of an endpoint; null: an event for operators.
  path text,
  organization text,
  at timestamptz NOT NULL DEFAULT now(),
  data jsonb NOT NULL
);
CREATE INDEX ON routewright_events.events (at);
CREATE INDEX ON routewright_events.events (at) WHERE sequence IS NULL;

-- What was last said of each endpoint: a server that knows of an older build says nothing.
CREATE TABLE routewright_events.endpoints (
  path text PRIMARY KEY,
  as_of timestamptz,
  -- A digest of each part of what callers rely on.
  contract jsonb,
  deprecation_date text
);

-- Receivers of events. Each gets them in their order: `position` is the number of the last one that it got, or does not get.
CREATE TABLE routewright_events.subscriptions (
  id uuid PRIMARY KEY,
  -- SHA-256 of the key whose rights decide what is sent.
  key_digest text NOT NULL,
  url text NOT NULL,
  -- Sealed.
  secret bytea NOT NULL,
  -- Null: all that the key may read.
  paths text[] CHECK (cardinality(paths) > 0),
  -- Null: all that are about endpoints.
  types text[] CHECK (cardinality(types) > 0),
  position bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- At the next event.
  attempts integer NOT NULL DEFAULT 0,
  attempt_at timestamptz NOT NULL DEFAULT now(),
  -- A server sends until then.
  claimed_until timestamptz,
  last_result text,
  last_result_at timestamptz,
  -- Since when no server has known the key.
  unknown_since timestamptz
);
CREATE INDEX ON routewright_events.subscriptions (key_digest);
CREATE INDEX ON routewright_events.subscriptions (attempt_at);

-- In the transaction of what happened. An id that is there already changes nothing.
CREATE FUNCTION routewright_events.record(id text, type text, organization text, data jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO routewright_events.events (id, type, organization, data) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING;
  NOTIFY routewright_events;
END $$;
