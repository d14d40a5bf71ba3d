-- Up Migration

ALTER TABLE ramp.projects
  -- Hosts of the sites whose wallet sign-ins the project accepts.
  ADD COLUMN wallet_domains text[] NOT NULL DEFAULT '{}',
  -- Addresses of Ethereum nodes by chain id, as sealed JSON: they often carry an API key.
  ADD COLUMN wallet_rpc bytea,
  -- Longest lifetime of a customer token.
  ADD COLUMN max_token_seconds integer NOT NULL DEFAULT 86400 CHECK (max_token_seconds BETWEEN 60 AND 2592000),
  -- Origins that redirect URLs may have; empty: any.
  ADD COLUMN redirect_origins text[] NOT NULL DEFAULT '{}';

-- A wallet is one identity on every chain: `eip155:0:<address>`. Of several customers with one wallet the first keeps it.
SET LOCAL ramp.operator = 'on';
UPDATE ramp.customer_identities i SET subject = regexp_replace(i.subject, '^eip155:[0-9]+:', 'eip155:0:')
WHERE i.is_wallet AND NOT EXISTS (
  SELECT FROM ramp.customer_identities o
  WHERE o.project_id = i.project_id AND o.issuer = i.issuer AND o.is_wallet
    AND split_part(o.subject, ':', 3) = split_part(i.subject, ':', 3)
    AND (o.created_at, o.subject) < (i.created_at, i.subject)
);
SET LOCAL ramp.operator = '';

-- Tokens of a customer that were issued until `revoked_at` are refused. Kept for as long as such a token could live.
CREATE TABLE ramp.token_revocations (
  project_id uuid NOT NULL DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  customer_id text NOT NULL,
  revoked_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, customer_id)
);
ALTER TABLE ramp.token_revocations ENABLE ROW LEVEL SECURITY;
ALTER TABLE ramp.token_revocations FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ramp.token_revocations USING (project_id = ramp.current_project());
CREATE POLICY operator ON ramp.token_revocations USING (ramp.is_operator());
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT SELECT, INSERT, UPDATE ON ramp.token_revocations TO routewright_ramp_project;
  END IF;
END
$$;
