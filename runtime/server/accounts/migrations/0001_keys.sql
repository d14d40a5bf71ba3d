-- Up Migration

-- Organizations and their API keys (runtime/docs/keys.md). A key is stored as its SHA-256 only.
CREATE SCHEMA IF NOT EXISTS routewright_keys;

CREATE TABLE routewright_keys.organizations (
  id text PRIMARY KEY CHECK (id NOT IN ('', '*')),
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE routewright_keys.keys (
  digest text PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
  -- In logs, usage and commands.
  id text NOT NULL GENERATED ALWAYS AS (left(digest, 12)) STORED,
  -- Null: of no organization, or of all.
  organization text REFERENCES routewright_keys.organizations (id) ON UPDATE CASCADE,
  all_organizations boolean NOT NULL DEFAULT false,
  user_name text NOT NULL,
  tier text NOT NULL CHECK (tier IN ('tier0', 'tier1', 'tier2', 'tier3')),
  -- Categories and paths; null: all of the tier.
  allowed text[] CHECK (cardinality(allowed) > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- The key that this one replaces.
  replaces text,
  revision bigint NOT NULL,
  CHECK (NOT all_organizations OR (organization IS NULL AND tier = 'tier3'))
);
CREATE INDEX ON routewright_keys.keys (id text_pattern_ops);
CREATE INDEX ON routewright_keys.keys (revision);
CREATE INDEX ON routewright_keys.keys (organization);

-- One row. A statement that changes keys counts the revision up and holds the row until it commits, so that revisions become
-- visible in their order. `removals` is the revision of the last DELETE or TRUNCATE.
CREATE TABLE routewright_keys.state (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  revision bigint NOT NULL DEFAULT 0,
  removals bigint NOT NULL DEFAULT 0
);
INSERT INTO routewright_keys.state DEFAULT VALUES;

CREATE FUNCTION routewright_keys.begin_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  UPDATE routewright_keys.state SET
    revision = revision + 1,
    removals = CASE WHEN TG_OP IN ('DELETE', 'TRUNCATE') THEN revision + 1 ELSE removals END;
  NOTIFY routewright_keys;
  RETURN NULL;
END $$;

CREATE FUNCTION routewright_keys.set_revision() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  SELECT state.revision INTO STRICT NEW.revision FROM routewright_keys.state;
  RETURN NEW;
END $$;

CREATE TRIGGER begin_change BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON routewright_keys.keys
  FOR EACH STATEMENT EXECUTE FUNCTION routewright_keys.begin_change();
CREATE TRIGGER set_revision BEFORE INSERT OR UPDATE ON routewright_keys.keys
  FOR EACH ROW EXECUTE FUNCTION routewright_keys.set_revision();

-- The last day, in UTC, on which a key was used. Apart from the keys: servers read each change of those.
CREATE TABLE routewright_keys.last_uses (
  id text PRIMARY KEY,
  day date NOT NULL
);

CREATE TABLE routewright_keys.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL,
  action text NOT NULL,
  key text NOT NULL,
  organization text
);
CREATE INDEX ON routewright_keys.audit (at);
