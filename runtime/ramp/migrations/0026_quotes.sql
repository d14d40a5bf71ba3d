-- Up Migration

-- Quotes whose price the provider holds until they expire.
CREATE TABLE ramp.quotes (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  id uuid NOT NULL,
  connection_id uuid NOT NULL,
  connection_version integer NOT NULL,
  src_currency text NOT NULL REFERENCES ramp.currencies (code),
  dest_currency text NOT NULL REFERENCES ramp.currencies (code),
  src_amount numeric NOT NULL,
  country_code text NOT NULL,
  rail text NOT NULL,
  -- What an intent keeps of it (intents/intent.ts, Price).
  price jsonb NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, id),
  FOREIGN KEY (project_id, connection_id) REFERENCES ramp.provider_connections (project_id, id)
);
CREATE INDEX ON ramp.quotes (expires_at);
ALTER TABLE ramp.quotes ENABLE ROW LEVEL SECURITY;
ALTER TABLE ramp.quotes FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ramp.quotes USING (project_id = ramp.current_project());
CREATE POLICY operator ON ramp.quotes USING (ramp.is_operator());
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT SELECT, INSERT, UPDATE ON ramp.quotes TO routewright_ramp_project;
  END IF;
END
$$;

-- The price that an intent was made at; null without a quote.
ALTER TABLE ramp.intents ADD COLUMN price jsonb;
