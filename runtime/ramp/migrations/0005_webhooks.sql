-- Up Migration

-- A number that grows with each event, so that receivers can order them.
CREATE SEQUENCE ramp.event_sequence;
ALTER TABLE ramp.events ADD COLUMN sequence bigint;
SET LOCAL ramp.operator = 'on';
UPDATE ramp.events e SET sequence = numbered.sequence
  FROM (SELECT project_id, id, nextval('ramp.event_sequence') AS sequence FROM (SELECT project_id, id FROM ramp.events ORDER BY id) o) numbered
  WHERE e.project_id = numbered.project_id AND e.id = numbered.id;
SET LOCAL ramp.operator = '';
ALTER TABLE ramp.events ALTER COLUMN sequence SET NOT NULL;
CREATE UNIQUE INDEX ON ramp.events (project_id, sequence);

-- Circuit breaker: failed attempts in a row, and until when nothing is sent.
ALTER TABLE ramp.webhook_endpoints ADD COLUMN failures integer NOT NULL DEFAULT 0;
ALTER TABLE ramp.webhook_endpoints ADD COLUMN paused_until timestamptz;
-- After a rotation both secrets sign for a while.
ALTER TABLE ramp.webhook_endpoints ADD COLUMN previous_secret bytea;
ALTER TABLE ramp.webhook_endpoints ADD COLUMN previous_secret_until timestamptz;
ALTER TABLE ramp.webhook_endpoints ADD CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL));

CREATE INDEX ON ramp.webhook_deliveries (project_id, endpoint_id, attempt_at) WHERE status = 'PENDING';
CREATE INDEX ON ramp.webhook_deliveries (project_id, endpoint_id) WHERE attempted_until IS NOT NULL;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT USAGE ON SEQUENCE ramp.event_sequence TO routewright_ramp_project;
  END IF;
END
$$;
