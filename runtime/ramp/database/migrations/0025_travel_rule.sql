-- Up Migration

-- Originator and beneficiary of a transfer (providers/travel-rule.ts), as an intent was given them: sealed, sent to its provider, and deleted
-- with the customer and by retention.
CREATE TABLE ramp.travel_rules (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  intent_id uuid NOT NULL,
  -- Encrypted (vault.ts).
  content bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- When the provider had it, or refused it; null: it is still to be sent.
  sent_at timestamptz,
  PRIMARY KEY (project_id, intent_id),
  FOREIGN KEY (project_id, intent_id) REFERENCES ramp.intents (project_id, id)
);
CREATE INDEX ON ramp.travel_rules (created_at);
ALTER TABLE ramp.travel_rules ENABLE ROW LEVEL SECURITY;
ALTER TABLE ramp.travel_rules FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ramp.travel_rules USING (project_id = ramp.current_project());
CREATE POLICY operator ON ramp.travel_rules USING (ramp.is_operator());

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT SELECT, INSERT, UPDATE ON ramp.travel_rules TO routewright_ramp_project;
  END IF;
END
$$;
