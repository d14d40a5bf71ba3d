-- Up Migration

-- What stays unclear goes to the operator: why an intent needs attention, and since when.
ALTER TABLE ramp.intents ADD COLUMN attention_reason text;
ALTER TABLE ramp.intents ADD COLUMN attention_since timestamptz;
ALTER TABLE ramp.intents ADD CHECK ((attention_reason IS NULL) = (attention_since IS NULL));
CREATE INDEX ON ramp.intents (attention_since) WHERE attention_since IS NOT NULL;

-- Returns and refunds come days after SUCCESS; the intent stays COMPLETED.
ALTER TABLE ramp.transactions ADD COLUMN receipt jsonb;
ALTER TABLE ramp.transactions ADD COLUMN refund jsonb;
ALTER TABLE ramp.transactions DROP CONSTRAINT transactions_status_check;
ALTER TABLE ramp.transactions ADD CONSTRAINT transactions_status_check
  CHECK (status IN ('PENDING', 'IN_PROGRESS', 'SUCCESS', 'FAILED', 'CANCELLED', 'REFUNDED'));

CREATE OR REPLACE FUNCTION ramp.transaction_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status = 'IN_PROGRESS'
    WHEN 'IN_PROGRESS' THEN to_status IN ('SUCCESS', 'FAILED', 'CANCELLED')
    WHEN 'SUCCESS' THEN to_status = 'REFUNDED'
    ELSE false
  END;

-- Requirements start as PENDING like intents and transactions do.
CREATE OR REPLACE FUNCTION ramp.guard_status() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  allowed boolean;
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.status <> 'PENDING' THEN
      RAISE EXCEPTION '% starts as PENDING, not as %', TG_TABLE_NAME, NEW.status USING ERRCODE = 'RW001';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.status IS DISTINCT FROM OLD.status THEN
    allowed := CASE TG_TABLE_NAME
      WHEN 'intents' THEN ramp.intent_may_move(OLD.status, NEW.status)
      WHEN 'transactions' THEN ramp.transaction_may_move(OLD.status, NEW.status)
      ELSE ramp.requirement_may_move(OLD.status, NEW.status)
    END;
    IF NOT allowed THEN
      RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, OLD.status, NEW.status USING ERRCODE = 'RW001';
    END IF;
  END IF;
  RETURN NEW;
END
$$;

-- An intent keeps the address and the credentials that it was made with: each change of them is a version of the connection.
ALTER TABLE ramp.provider_connections ADD COLUMN version integer NOT NULL DEFAULT 1;
ALTER TABLE ramp.intents ADD COLUMN connection_version integer NOT NULL DEFAULT 1;

CREATE TABLE ramp.provider_credentials (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  connection_id uuid NOT NULL,
  version integer NOT NULL,
  url text NOT NULL,
  key_id text NOT NULL,
  -- Encrypted (vault.ts).
  secret bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, connection_id, version),
  UNIQUE (project_id, connection_id, url, key_id),
  FOREIGN KEY (project_id, connection_id) REFERENCES ramp.provider_connections (project_id, id)
);
ALTER TABLE ramp.provider_credentials ENABLE ROW LEVEL SECURITY;
ALTER TABLE ramp.provider_credentials FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ramp.provider_credentials USING (project_id = ramp.current_project());
CREATE POLICY operator ON ramp.provider_credentials USING (ramp.is_operator());

SET LOCAL ramp.operator = 'on';
INSERT INTO ramp.provider_credentials (project_id, connection_id, version, url, key_id, secret)
  SELECT project_id, id, version, url, key_id, secret FROM ramp.provider_connections;
SET LOCAL ramp.operator = '';
ALTER TABLE ramp.provider_connections DROP COLUMN url, DROP COLUMN key_id, DROP COLUMN secret;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT SELECT, INSERT, UPDATE ON ramp.provider_credentials TO routewright_ramp_project;
  END IF;
END
$$;
