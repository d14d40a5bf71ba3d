-- Up Migration

-- The former secrets of an endpoint: each signs its deliveries until its own end, however often the secret is rotated meanwhile.
CREATE TABLE ramp.webhook_secrets (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  endpoint_id uuid NOT NULL,
  secret bytea NOT NULL,
  signs_until timestamptz NOT NULL,
  PRIMARY KEY (project_id, id),
  FOREIGN KEY (project_id, endpoint_id) REFERENCES ramp.webhook_endpoints (project_id, id)
);
CREATE INDEX ON ramp.webhook_secrets (project_id, endpoint_id);
CREATE INDEX ON ramp.webhook_secrets (signs_until);
ALTER TABLE ramp.webhook_secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE ramp.webhook_secrets FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ramp.webhook_secrets USING (project_id = ramp.current_project());
CREATE POLICY operator ON ramp.webhook_secrets USING (ramp.is_operator());

-- Row-level security binds the owner of the tables too.
SELECT set_config('ramp.operator', 'on', true);
INSERT INTO ramp.webhook_secrets (project_id, endpoint_id, secret, signs_until)
SELECT project_id, id, previous_secret, previous_secret_until FROM ramp.webhook_endpoints WHERE previous_secret_until > now();
ALTER TABLE ramp.webhook_endpoints DROP COLUMN previous_secret, DROP COLUMN previous_secret_until;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT SELECT, INSERT, UPDATE ON ramp.webhook_secrets TO routewright_ramp_project;
  END IF;
END
$$;
