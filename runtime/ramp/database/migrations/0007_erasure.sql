-- Up Migration

-- Intents of an erased customer belong to a nameless one, which nobody gets by an id and no list shows (api/erase-customer.ts).
ALTER TABLE ramp.customers ADD COLUMN erased_at timestamptz;

-- Row-level security binds the owner of the tables too.
SELECT set_config('ramp.operator', 'on', true);

-- Customers that were erased before kept their intents, and a row without a name.
WITH erased AS (
  SELECT project_id, customer_id, gen_random_uuid()::text AS nameless FROM ramp.intents
  WHERE onboarding_order IS NULL GROUP BY project_id, customer_id),
customer AS (
  INSERT INTO ramp.customers (project_id, id, external_id, reference, erased_at)
  SELECT project_id, nameless, nameless, gen_random_uuid(), now() FROM erased)
UPDATE ramp.intents i SET customer_id = erased.nameless FROM erased
WHERE i.project_id = erased.project_id AND i.customer_id = erased.customer_id AND i.onboarding_order IS NULL;

-- The erasure revoked the tokens in the same transaction: who has not returned since has the same time in both rows.
DELETE FROM ramp.customers c USING ramp.token_revocations r
WHERE r.project_id = c.project_id AND r.customer_id = c.id AND r.revoked_at = c.updated_at AND c.external_id = c.id AND c.metadata IS NULL
  AND NOT EXISTS (SELECT FROM ramp.intents i WHERE i.project_id = c.project_id AND i.customer_id = c.id)
  AND NOT EXISTS (SELECT FROM ramp.external_accounts a WHERE a.project_id = c.project_id AND a.customer_id = c.id)
  AND NOT EXISTS (SELECT FROM ramp.customer_identities n WHERE n.project_id = c.project_id AND n.customer_id = c.id);

-- What people and providers wrote of them, which those erasures left (api/erase-customer.ts).
CREATE TEMPORARY TABLE nameless ON COMMIT DROP AS
  SELECT i.project_id, i.id FROM ramp.intents i JOIN ramp.customers c ON c.project_id = i.project_id AND c.id = i.customer_id
  WHERE c.erased_at IS NOT NULL;
UPDATE ramp.intents i SET failure_reason = 'Erased.' FROM nameless n
WHERE i.project_id = n.project_id AND i.id = n.id AND failure_reason IS NOT NULL;
UPDATE ramp.requirements r SET title = code, form = NULL FROM nameless n WHERE r.project_id = n.project_id AND r.intent_id = n.id;
UPDATE ramp.transactions t SET
  refunds = COALESCE((SELECT jsonb_agg(r || '{"reason": ""}'::jsonb) FROM jsonb_array_elements(refunds) r), '[]'),
  failure_reason = CASE WHEN failure_reason IS NOT NULL THEN 'Erased.' END,
  refusal_reason = CASE WHEN refusal_reason IS NOT NULL THEN 'Erased.' END
FROM nameless n WHERE t.project_id = n.project_id AND t.intent_id = n.id;
UPDATE ramp.refund_requests r SET reason = '' FROM nameless n
WHERE r.project_id = n.project_id AND r.intent_id = n.id AND r.state <> 'REQUESTED';

-- A request of a project is valid for as long as its client secret is, also in the transaction that writes.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT SELECT (id, project_id, revoked_at) ON ramp.client_secrets TO routewright_ramp_project;
  END IF;
END
$$;
