-- Up Migration

-- Who issues the tokens of this deployment: its address when it first started, and the same ever since (sign-in/issuer.ts).
CREATE TABLE ramp.deployment (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  issuer text NOT NULL CHECK (issuer <> '')
);

-- When the receiver of an endpoint answered 410, which switched it off.
ALTER TABLE ramp.webhook_endpoints ADD COLUMN gone_at timestamptz;
