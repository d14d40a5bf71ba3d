-- Up Migration

-- Why a provider has refused the onboarding of an intent, which of its candidates have, and the final status of one that all refuse
-- (intents/refusal.ts). Intents of before name their provider: nothing is known of their request.
ALTER TABLE ramp.intents
  ADD COLUMN refusal jsonb,
  ADD COLUMN refused_by uuid[] NOT NULL DEFAULT '{}',
  ADD COLUMN is_provider_named boolean NOT NULL DEFAULT true,
  -- Orders of another content have other idempotency keys.
  ADD COLUMN onboarding_attempt integer NOT NULL DEFAULT 1,
  DROP CONSTRAINT intents_status_check,
  ADD CONSTRAINT intents_status_check CHECK (status IN ('PENDING', 'COMPLIANCE_IN_PROGRESS', 'COMPLIANCE_APPROVED', 'PENDING_PAYMENT',
    'TRANSACTION_IN_PROGRESS', 'COMPLETED', 'AMOUNT_MISMATCH', 'COMPLIANCE_FAILED', 'REFUSED', 'TRANSACTION_FAILED', 'EXPIRED',
    'CANCELLED')) NOT VALID,
  DROP CONSTRAINT intents_check,
  ADD CONSTRAINT intents_check CHECK
    ((status IN ('COMPLIANCE_FAILED', 'REFUSED', 'TRANSACTION_FAILED')) = (failure_reason IS NOT NULL)) NOT VALID,
  DROP COLUMN is_ended;
ALTER TABLE ramp.intents ADD COLUMN is_ended boolean NOT NULL GENERATED ALWAYS AS
  (status IN ('COMPLETED', 'COMPLIANCE_FAILED', 'REFUSED', 'TRANSACTION_FAILED', 'EXPIRED', 'CANCELLED')) STORED;
CREATE INDEX ON ramp.intents (project_id, connection_id, is_ended, next_poll_at) WHERE next_poll_at IS NOT NULL;

CREATE OR REPLACE FUNCTION ramp.intent_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status IN ('COMPLIANCE_IN_PROGRESS', 'COMPLIANCE_APPROVED', 'COMPLIANCE_FAILED', 'REFUSED', 'EXPIRED', 'CANCELLED')
    WHEN 'COMPLIANCE_IN_PROGRESS' THEN to_status IN ('COMPLIANCE_APPROVED', 'COMPLIANCE_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'COMPLIANCE_APPROVED' THEN to_status IN ('PENDING_PAYMENT', 'EXPIRED', 'CANCELLED')
    WHEN 'PENDING_PAYMENT' THEN to_status IN ('COMPLIANCE_IN_PROGRESS', 'TRANSACTION_IN_PROGRESS', 'EXPIRED', 'CANCELLED')
    WHEN 'TRANSACTION_IN_PROGRESS' THEN to_status IN ('COMPLETED', 'AMOUNT_MISMATCH', 'TRANSACTION_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'AMOUNT_MISMATCH' THEN to_status IN ('COMPLETED', 'TRANSACTION_FAILED')
    ELSE false
  END;
