-- Up Migration

-- Where the keys of an issuer are, when it has no discovery document at its own address; null: it has. An operator may allow http,
-- as inside a cluster.
ALTER TABLE ramp.identity_providers ADD COLUMN jwks_url text, ADD COLUMN allow_http boolean NOT NULL DEFAULT false;
