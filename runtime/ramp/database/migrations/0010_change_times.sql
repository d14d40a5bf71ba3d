-- Up Migration

-- The time of a project's last event. Each commit with events takes the next one under a lock on this row, so that times and sequence
-- numbers grow in the order of the commits (webhooks/events.ts).
CREATE TABLE ramp.change_times (
  project_id uuid PRIMARY KEY DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  changed_at timestamptz NOT NULL
);
ALTER TABLE ramp.change_times ENABLE ROW LEVEL SECURITY;
ALTER TABLE ramp.change_times FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ramp.change_times USING (project_id = ramp.current_project());
CREATE POLICY operator ON ramp.change_times USING (ramp.is_operator());

-- Sequence numbers are microseconds since 1970 from now on. A server of before goes on from here.
SELECT setval('ramp.event_sequence', GREATEST(last_value, (extract(epoch FROM now()) * 1000000)::bigint)) FROM ramp.event_sequence;

-- A change of the transaction or of a requirement is one of the intent. Row-level security binds the owner of the tables too.
SELECT set_config('ramp.operator', 'on', true);
UPDATE ramp.intents i SET updated_at = later.at FROM (
  SELECT project_id, intent_id, max(updated_at) AS at FROM (
    SELECT project_id, intent_id, updated_at FROM ramp.transactions
    UNION ALL SELECT project_id, intent_id, updated_at FROM ramp.requirements) part
  GROUP BY project_id, intent_id) later
WHERE i.project_id = later.project_id AND i.id = later.intent_id AND i.updated_at < later.at;
