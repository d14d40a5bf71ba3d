-- Up Migration

-- A refund is an object with a state, whoever made it (intents/refund.ts): asked for here, or made by the provider alone.
ALTER TABLE ramp.refund_requests
  DROP CONSTRAINT refund_requests_state_check,
  -- Providers choose ids too: two intents can have a refund of one id.
  DROP CONSTRAINT refund_requests_pkey, ADD PRIMARY KEY (project_id, intent_id, id),
  ADD COLUMN origin text NOT NULL DEFAULT 'REQUEST' CHECK (origin IN ('REQUEST', 'PROVIDER')),
  -- The id and the amount that the provider lists it with.
  ADD COLUMN provider_id text,
  ADD COLUMN listed_amount numeric,
  -- Matched by amount and time, since the provider lists it under an id that is not known.
  ADD COLUMN matched_by_amount boolean NOT NULL DEFAULT false,
  ADD COLUMN failure_reason text,
  -- Recorded before it is sent: from then on the provider can have it.
  ADD COLUMN sent_at timestamptz,
  ADD COLUMN cancel_requested_at timestamptz,
  ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();
DROP INDEX ramp.refund_requests_project_id_intent_id_idx;
CREATE UNIQUE INDEX ON ramp.refund_requests (project_id, intent_id, provider_id);

-- Row-level security binds the owner of the tables too.
SELECT set_config('ramp.operator', 'on', true);

-- What providers list: a refund that was asked for by its id, else by its amount, each once.
CREATE TEMPORARY TABLE listed ON COMMIT DROP AS
  SELECT t.project_id, t.intent_id, r ->> 'id' AS provider_id, (r ->> 'amount')::numeric AS amount, r ->> 'reason' AS reason, t.updated_at, n
  FROM ramp.transactions t, jsonb_array_elements(t.refunds) WITH ORDINALITY AS list (r, n);
UPDATE ramp.refund_requests q SET state = 'SUCCEEDED', provider_id = l.provider_id, listed_amount = l.amount
FROM listed l WHERE l.project_id = q.project_id AND l.intent_id = q.intent_id AND lower(l.provider_id) = q.id::text;
WITH open AS (
  SELECT q.*, row_number() OVER (PARTITION BY project_id, intent_id, amount ORDER BY state, created_at) AS at
  FROM ramp.refund_requests q WHERE state IN ('REQUESTED', 'ACCEPTED')),
free AS (
  SELECT l.*, row_number() OVER (PARTITION BY project_id, intent_id, amount ORDER BY n) AS at FROM listed l WHERE NOT EXISTS (
    SELECT FROM ramp.refund_requests q WHERE q.project_id = l.project_id AND q.intent_id = l.intent_id AND q.provider_id = l.provider_id))
UPDATE ramp.refund_requests q SET state = 'SUCCEEDED', provider_id = f.provider_id, listed_amount = f.amount, matched_by_amount = true
FROM open o JOIN free f USING (project_id, intent_id, amount, at)
WHERE q.project_id = o.project_id AND q.intent_id = o.intent_id AND q.id = o.id;
INSERT INTO ramp.refund_requests (project_id, id, intent_id, amount, reason, state, origin, provider_id, listed_amount, created_at)
SELECT project_id, gen_random_uuid(), intent_id, amount, reason, 'SUCCEEDED', 'PROVIDER', provider_id, amount, updated_at FROM listed l
WHERE amount > 0 AND NOT EXISTS (
  SELECT FROM ramp.refund_requests q WHERE q.project_id = l.project_id AND q.intent_id = l.intent_id AND q.provider_id = l.provider_id);

-- What is still open: a payment that is no longer there decides it.
UPDATE ramp.refund_requests q SET
  state = CASE WHEN q.state = 'REFUSED' THEN 'FAILED' WHEN NOT t.is_there AND q.state = 'ACCEPTED' THEN 'FAILED' WHEN NOT t.is_there THEN 'CANCELLED'
    WHEN q.state = 'ACCEPTED' THEN 'PENDING' ELSE q.state END,
  failure_reason = CASE WHEN q.state = 'REFUSED' THEN 'The provider refused it.' WHEN NOT t.is_there THEN 'The payment was returned before it was refunded.' END
FROM (SELECT t.project_id, t.intent_id, t.status = 'SUCCESS' AS is_there FROM ramp.transactions t) t
WHERE t.project_id = q.project_id AND t.intent_id = q.intent_id AND q.state IN ('REQUESTED', 'ACCEPTED', 'REFUSED');
-- A server may have sent it.
UPDATE ramp.refund_requests SET sent_at = created_at WHERE origin = 'REQUEST';

ALTER TABLE ramp.refund_requests
  ADD CONSTRAINT refund_requests_state_check CHECK (state IN ('REQUESTED', 'PENDING', 'SUCCEEDED', 'FAILED', 'CANCELLED'));

-- The moves of intents/refund.ts; a test compares the two.
CREATE FUNCTION ramp.refund_may_move(from_state text, to_state text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_state
    WHEN 'REQUESTED' THEN to_state IN ('PENDING', 'SUCCEEDED', 'FAILED', 'CANCELLED')
    WHEN 'PENDING' THEN to_state IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
    WHEN 'SUCCEEDED' THEN to_state = 'FAILED'
    WHEN 'FAILED' THEN to_state = 'SUCCEEDED'
    WHEN 'CANCELLED' THEN to_state = 'SUCCEEDED'
    ELSE false
  END;

-- A refund is asked for by those who may decide; what a server records beside is the provider's.
CREATE FUNCTION ramp.guard_refund() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.origin = 'REQUEST' AND (NEW.state <> 'REQUESTED' OR COALESCE(current_setting('ramp.operator', true), '') <> 'on') THEN
      RAISE EXCEPTION 'A refund is asked for by an operator, and starts as REQUESTED.' USING ERRCODE = 'RW001';
    END IF;
  ELSIF NEW.state <> OLD.state AND NOT ramp.refund_may_move(OLD.state, NEW.state) THEN
    RAISE EXCEPTION 'A refund cannot go from % to %', OLD.state, NEW.state USING ERRCODE = 'RW001';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER guard_refund BEFORE INSERT OR UPDATE OF state ON ramp.refund_requests FOR EACH ROW EXECUTE FUNCTION ramp.guard_refund();

-- A match by amount needs attention.
ALTER TABLE ramp.intents DROP CONSTRAINT intents_attention_check, ADD CONSTRAINT intents_attention_check CHECK (
  attention - ARRAY['AMOUNT_MISMATCH', 'FEE_MISMATCH', 'RECEIPT_CHANGED', 'REFUND_MISMATCH', 'CHARGEBACK', 'LATE_PAYMENT',
    'RECEIPT_MISSING', 'REFUND_REFUSED', 'REFUND_MATCHED', 'INVALID_INSTRUCTIONS', 'CONTRADICTION', 'REFERENCE_CHANGED', 'UNKNOWN_ORDER',
    'INVALID_ANSWER', 'PROVIDER_FAILS'] = '{}') NOT VALID;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT INSERT (id, intent_id, amount, reason, state, origin, provider_id, listed_amount, failure_reason, created_at, updated_at)
      ON ramp.refund_requests TO routewright_ramp_project;
    GRANT UPDATE (state, provider_id, listed_amount, matched_by_amount, failure_reason, sent_at, cancel_requested_at, updated_at)
      ON ramp.refund_requests TO routewright_ramp_project;
  END IF;
END
$$;
