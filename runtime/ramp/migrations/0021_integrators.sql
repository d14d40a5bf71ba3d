-- Up Migration

ALTER TABLE ramp.intents
  -- The caller's own data.
  ADD COLUMN metadata jsonb,
  -- The customer cancelled: as at expiry, an execution is cancelled at the provider first.
  ADD COLUMN cancel_requested_at timestamptz;

-- A project reads its intents newest first, by status, or by what changed since.
CREATE INDEX ON ramp.intents (project_id, created_at DESC, id DESC);
CREATE INDEX ON ramp.intents (project_id, updated_at);

-- Intents of before may name the account, so its row stays.
ALTER TABLE ramp.external_accounts ADD COLUMN deleted_at timestamptz;
CREATE INDEX ON ramp.external_accounts (project_id, customer_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
