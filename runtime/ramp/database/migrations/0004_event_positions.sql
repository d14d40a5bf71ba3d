-- Up Migration

-- Callbacks that were received, for as long as their signatures are accepted: a repeated one causes no look-up.
CREATE TABLE ramp.provider_callbacks (
  project_id uuid NOT NULL DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  connection_id uuid NOT NULL,
  -- SHA-256 of what is signed: id, time and body.
  digest bytea NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, connection_id, digest)
);
CREATE INDEX ON ramp.provider_callbacks (received_at);
ALTER TABLE ramp.provider_callbacks ENABLE ROW LEVEL SECURITY;
ALTER TABLE ramp.provider_callbacks FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ramp.provider_callbacks USING (project_id = ramp.current_project());
CREATE POLICY operator ON ramp.provider_callbacks USING (ramp.is_operator());
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT SELECT, INSERT, UPDATE ON ramp.provider_callbacks TO routewright_ramp_project;
  END IF;
END
$$;

-- An entry of the audit log gets its outcome once; nothing else in it changes.
CREATE FUNCTION ramp.refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The audit log is append-only.' USING ERRCODE = 'RW004';
END
$$;
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON ramp.audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION ramp.refuse_audit_change();
CREATE TRIGGER outcome_once BEFORE UPDATE ON ramp.audit_log FOR EACH ROW
  WHEN (OLD.outcome IS NOT NULL OR to_jsonb(OLD) - 'outcome' IS DISTINCT FROM to_jsonb(NEW) - 'outcome')
  EXECUTE FUNCTION ramp.refuse_audit_change();
