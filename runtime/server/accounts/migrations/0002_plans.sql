-- Up Migration

-- The name of a plan of the config file; null: none.
ALTER TABLE routewright_keys.organizations ADD COLUMN plan text CHECK (plan <> '');

-- A server says when a key expired.
ALTER TABLE routewright_keys.keys ADD CHECK (isfinite(expires_at));

ALTER TABLE routewright_keys.audit ALTER COLUMN key DROP NOT NULL;
-- The plan that an organization got.
ALTER TABLE routewright_keys.audit ADD COLUMN plan text;

-- What servers keep of a key depends on the plan: it gets another revision.
CREATE FUNCTION routewright_keys.touch_keys() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  UPDATE routewright_keys.keys SET revision = revision WHERE organization = NEW.id;
  RETURN NULL;
END $$;

CREATE TRIGGER touch_keys AFTER UPDATE OF plan ON routewright_keys.organizations
  FOR EACH ROW EXECUTE FUNCTION routewright_keys.touch_keys();
