-- Up Migration

-- The caller's own id. `id` becomes a uuid in the code after this (database/migrate.ts): what names it follows.
SET LOCAL ramp.operator = 'on';
ALTER TABLE ramp.customers ADD COLUMN external_id text CHECK (external_id <> '' AND length(external_id) <= 256);
UPDATE ramp.customers SET external_id = id;
ALTER TABLE ramp.customers ALTER COLUMN external_id SET NOT NULL;
CREATE INDEX ON ramp.customers (project_id, external_id);
SET LOCAL ramp.operator = '';

ALTER TABLE ramp.customer_identities DROP CONSTRAINT customer_identities_project_id_customer_id_fkey;
ALTER TABLE ramp.customer_identities ADD FOREIGN KEY (project_id, customer_id) REFERENCES ramp.customers (project_id, id) ON UPDATE CASCADE;
ALTER TABLE ramp.external_accounts DROP CONSTRAINT external_accounts_project_id_customer_id_fkey;
ALTER TABLE ramp.external_accounts ADD FOREIGN KEY (project_id, customer_id) REFERENCES ramp.customers (project_id, id) ON UPDATE CASCADE;
ALTER TABLE ramp.intents DROP CONSTRAINT intents_project_id_customer_id_fkey;
ALTER TABLE ramp.intents ADD FOREIGN KEY (project_id, customer_id) REFERENCES ramp.customers (project_id, id) ON UPDATE CASCADE;

-- An order that the provider refuses moves its intent to TRANSACTION_IN_PROGRESS first, like all others.
CREATE OR REPLACE FUNCTION ramp.intent_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status IN ('COMPLIANCE_IN_PROGRESS', 'COMPLIANCE_APPROVED', 'COMPLIANCE_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'COMPLIANCE_IN_PROGRESS' THEN to_status IN ('COMPLIANCE_APPROVED', 'COMPLIANCE_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'COMPLIANCE_APPROVED' THEN to_status IN ('PENDING_PAYMENT', 'EXPIRED', 'CANCELLED')
    WHEN 'PENDING_PAYMENT' THEN to_status IN ('TRANSACTION_IN_PROGRESS', 'EXPIRED', 'CANCELLED')
    WHEN 'TRANSACTION_IN_PROGRESS' THEN to_status IN ('COMPLETED', 'TRANSACTION_FAILED', 'EXPIRED', 'CANCELLED')
    ELSE false
  END;
