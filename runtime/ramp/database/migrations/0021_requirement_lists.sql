-- Up Migration

-- A provider's list of checks is complete: one that leaves it is withdrawn, and one that is listed later counts until the payment is made
-- (intents/apply-onboarding.ts).
ALTER TABLE ramp.requirements DROP CONSTRAINT requirements_status_check, ADD CONSTRAINT requirements_status_check
  CHECK (status IN ('PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'WITHDRAWN')) NOT VALID;

CREATE OR REPLACE FUNCTION ramp.requirement_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status IN ('IN_PROGRESS', 'WITHDRAWN')
    WHEN 'IN_PROGRESS' THEN to_status IN ('COMPLETED', 'FAILED', 'PENDING', 'WITHDRAWN')
    WHEN 'WITHDRAWN' THEN to_status = 'PENDING'
    ELSE false
  END;

CREATE OR REPLACE FUNCTION ramp.intent_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status IN ('COMPLIANCE_IN_PROGRESS', 'COMPLIANCE_APPROVED', 'COMPLIANCE_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'COMPLIANCE_IN_PROGRESS' THEN to_status IN ('COMPLIANCE_APPROVED', 'COMPLIANCE_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'COMPLIANCE_APPROVED' THEN to_status IN ('PENDING_PAYMENT', 'EXPIRED', 'CANCELLED')
    WHEN 'PENDING_PAYMENT' THEN to_status IN ('COMPLIANCE_IN_PROGRESS', 'TRANSACTION_IN_PROGRESS', 'EXPIRED', 'CANCELLED')
    WHEN 'TRANSACTION_IN_PROGRESS' THEN to_status IN ('COMPLETED', 'AMOUNT_MISMATCH', 'TRANSACTION_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'AMOUNT_MISMATCH' THEN to_status IN ('COMPLETED', 'TRANSACTION_FAILED')
    ELSE false
  END;
