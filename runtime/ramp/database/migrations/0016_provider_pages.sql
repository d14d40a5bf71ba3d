-- Up Migration

-- A requirement can be a page of the provider's own, and the provider can need more, for a reason (intents/apply-reply.ts).
ALTER TABLE ramp.requirements ADD COLUMN url text, ADD COLUMN reason text, ADD COLUMN attempt integer NOT NULL DEFAULT 1;

CREATE OR REPLACE FUNCTION ramp.requirement_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status = 'IN_PROGRESS'
    WHEN 'IN_PROGRESS' THEN to_status IN ('COMPLETED', 'FAILED', 'PENDING')
    ELSE false
  END;
