-- Up Migration

-- What people call an organization. Its id is the `org` of its keys.
ALTER TABLE routewright_keys.organizations ADD COLUMN name text NOT NULL DEFAULT '';

-- What it is about beside a key: a person, an invitation, or the id that an organization had before.
ALTER TABLE routewright_keys.audit ADD COLUMN subject text;
CREATE INDEX ON routewright_keys.audit (organization, id);

-- The log of an organization follows its id, as its keys do.
CREATE FUNCTION routewright_keys.move_audit() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  UPDATE routewright_keys.audit SET organization = NEW.id WHERE organization = OLD.id;
  RETURN NULL;
END $$;

CREATE TRIGGER move_audit AFTER UPDATE OF id ON routewright_keys.organizations
  FOR EACH ROW WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION routewright_keys.move_audit();

-- Requests of operators with an Idempotency-Key, for a day. Of a response with a key all but the key is stored.
CREATE TABLE routewright_keys.idempotency (
  actor text NOT NULL,
  key text NOT NULL,
  fingerprint text NOT NULL,
  status integer NOT NULL,
  body text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (actor, key)
);
CREATE INDEX ON routewright_keys.idempotency (at);

-- A person of the account page is a subject of an issuer. The mail address is one that the issuer has verified.
CREATE TABLE routewright_keys.people (
  id text PRIMARY KEY,
  issuer text NOT NULL,
  subject text NOT NULL,
  name text NOT NULL,
  mail text,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (issuer, subject)
);

CREATE TABLE routewright_keys.members (
  organization text NOT NULL REFERENCES routewright_keys.organizations (id) ON UPDATE CASCADE ON DELETE CASCADE,
  person text NOT NULL REFERENCES routewright_keys.people (id) ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'member')),
  since timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization, person)
);
CREATE INDEX ON routewright_keys.members (person);

-- Of the text in a cookie or a link only the SHA-256 is stored.
CREATE TABLE routewright_keys.sessions (
  digest text PRIMARY KEY,
  person text NOT NULL REFERENCES routewright_keys.people (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX ON routewright_keys.sessions (person);
CREATE INDEX ON routewright_keys.sessions (expires_at);

CREATE TABLE routewright_keys.invitations (
  id text PRIMARY KEY,
  digest text NOT NULL UNIQUE,
  -- Null: one of their own, on the plan of signUp.
  organization text REFERENCES routewright_keys.organizations (id) ON UPDATE CASCADE ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'member')),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX ON routewright_keys.invitations (organization);
