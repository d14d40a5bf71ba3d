-- Up Migration

-- Standing instructions of a provider: each payment that arrives there becomes an intent of its own (intents/deposit-account.ts).
CREATE TABLE ramp.deposit_accounts (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  id uuid NOT NULL,
  customer_id text NOT NULL,
  connection_id uuid NOT NULL,
  connection_version integer NOT NULL,
  type text NOT NULL CHECK (type IN ('ONRAMP', 'OFFRAMP')),
  status text NOT NULL CHECK (status IN ('PENDING', 'ACTIVE', 'REFUSED', 'CLOSED')),
  src_currency text NOT NULL REFERENCES ramp.currencies (code),
  src_details jsonb NOT NULL,
  dest_currency text NOT NULL REFERENCES ramp.currencies (code),
  dest_details jsonb NOT NULL,
  rail text NOT NULL,
  sandbox boolean NOT NULL,
  -- The bytes of the order: repeats are the same. Null: the customer is erased.
  order_body text,
  instructions jsonb NOT NULL DEFAULT '[]',
  failure_reason text,
  -- The last payment that was read: the next look-up goes on after it.
  last_deposit text,
  close_requested_at timestamptz,
  -- What is wrong with the provider's answers; null: nothing is.
  attention text,
  next_poll_at timestamptz,
  -- Set while a look-up may be under way: there is another one right after it.
  poll_requested boolean NOT NULL DEFAULT false,
  failed_attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id),
  FOREIGN KEY (project_id, customer_id) REFERENCES ramp.customers (project_id, id),
  FOREIGN KEY (project_id, connection_id) REFERENCES ramp.provider_connections (project_id, id),
  CHECK ((status = 'REFUSED') = (failure_reason IS NOT NULL))
);
CREATE INDEX ON ramp.deposit_accounts (project_id, customer_id, created_at DESC, id DESC);
CREATE INDEX ON ramp.deposit_accounts (project_id, created_at DESC, id DESC);
CREATE INDEX ON ramp.deposit_accounts (next_poll_at) WHERE next_poll_at IS NOT NULL;
ALTER TABLE ramp.deposit_accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE ramp.deposit_accounts FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ramp.deposit_accounts USING (project_id = ramp.current_project());
CREATE POLICY operator ON ramp.deposit_accounts USING (ramp.is_operator());

-- The moves of intents/deposit-account.ts; a test compares the two.
CREATE FUNCTION ramp.deposit_account_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status IN ('ACTIVE', 'REFUSED', 'CLOSED')
    WHEN 'ACTIVE' THEN to_status = 'CLOSED'
    ELSE false
  END;
CREATE FUNCTION ramp.guard_deposit_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.status <> 'PENDING' THEN
      RAISE EXCEPTION 'A deposit account starts as PENDING, not as %', NEW.status USING ERRCODE = 'RW001';
    END IF;
  ELSIF NEW.status <> OLD.status AND NOT ramp.deposit_account_may_move(OLD.status, NEW.status) THEN
    RAISE EXCEPTION 'A deposit account cannot go from % to %', OLD.status, NEW.status USING ERRCODE = 'RW001';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER guard_deposit_account BEFORE INSERT OR UPDATE OF status ON ramp.deposit_accounts
  FOR EACH ROW EXECUTE FUNCTION ramp.guard_deposit_account();

-- Where an intent is a payment to a deposit account: which, the provider's id of the payment, its reference, and why it goes back.
ALTER TABLE ramp.intents
  ADD COLUMN deposit_account_id uuid,
  ADD COLUMN deposit_id text,
  ADD COLUMN deposit_reference text,
  ADD COLUMN return_reason text,
  ADD FOREIGN KEY (project_id, deposit_account_id) REFERENCES ramp.deposit_accounts (project_id, id),
  DROP CONSTRAINT intents_attention_check, ADD CONSTRAINT intents_attention_check CHECK (
    attention - ARRAY['AMOUNT_MISMATCH', 'FEE_MISMATCH', 'RECEIPT_CHANGED', 'REFUND_MISMATCH', 'CHARGEBACK', 'LATE_PAYMENT',
      'RECEIPT_MISSING', 'REFUND_REFUSED', 'REFUND_MATCHED', 'DUPLICATE_DEPOSIT', 'INVALID_INSTRUCTIONS', 'CONTRADICTION',
      'REFERENCE_CHANGED', 'UNKNOWN_ORDER', 'INVALID_ANSWER', 'PROVIDER_FAILS'] = '{}') NOT VALID;
CREATE UNIQUE INDEX ON ramp.intents (project_id, deposit_account_id, deposit_id) WHERE deposit_account_id IS NOT NULL;
CREATE INDEX ON ramp.intents (project_id, deposit_account_id, deposit_reference) WHERE deposit_reference IS NOT NULL;
-- An erasure finds the events of accounts, which are of no intent.
CREATE INDEX ON ramp.events (project_id) WHERE type = 'deposit_account.updated';

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT SELECT, INSERT, UPDATE ON ramp.deposit_accounts TO routewright_ramp_project;
  END IF;
END
$$;
