-- Up Migration

-- Everything of the ramp lives in its own schema. What a project owns carries its project_id and is seen through
-- row-level security only: the service takes the role routewright_ramp_project and names one project before it may
-- read or write a row (database/ramp-database.ts).
CREATE SCHEMA IF NOT EXISTS ramp;

DO $$
BEGIN
  -- Row-level security does not bind a superuser: one that owns the tables steps down to this role for a project's work.
  IF (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    CREATE ROLE routewright_ramp_project NOLOGIN NOSUPERUSER NOBYPASSRLS;
  END IF;
EXCEPTION
  -- Roles belong to the whole server: another database may have brought it.
  WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;

CREATE FUNCTION ramp.current_project() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN NULLIF(current_setting('ramp.project_id', true), '')::uuid;

-- Whether the work spans projects: set-up commands, sign-in and the sweeps of the background work.
CREATE FUNCTION ramp.is_operator() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
  RETURN COALESCE(current_setting('ramp.operator', true), '') = 'on';

CREATE TABLE ramp.organizations (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (name <> ''),
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ramp.projects (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES ramp.organizations (id),
  name text NOT NULL CHECK (name <> ''),
  client_id text NOT NULL UNIQUE,
  -- Added to the expiry of a subject token (runtime/ramp/README.md, Customer tokens).
  token_ttl_seconds integer NOT NULL DEFAULT 0 CHECK (token_ttl_seconds BETWEEN 0 AND 31536000),
  -- Origins that may frame the hosted pages.
  page_origins text[] NOT NULL DEFAULT '{}',
  -- Hosts of the sites whose wallet sign-ins the project accepts.
  wallet_domains text[] NOT NULL DEFAULT '{}',
  -- Addresses of Ethereum nodes by chain id, as sealed JSON: they often carry an API key.
  wallet_rpc bytea,
  -- Longest lifetime of a customer token.
  max_token_seconds integer NOT NULL DEFAULT 86400 CHECK (max_token_seconds BETWEEN 60 AND 2592000),
  -- Origins that redirect URLs may have; empty: any.
  redirect_origins text[] NOT NULL DEFAULT '{}',
  -- How far, in percent, the received amount may be from the held price (runtime/ramp/README.md, Amounts).
  amount_tolerance numeric NOT NULL DEFAULT 0.5 CHECK (amount_tolerance BETWEEN 0 AND 50),
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ramp.client_secrets (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES ramp.projects (id),
  hash bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz
);
CREATE INDEX ON ramp.client_secrets (project_id) WHERE revoked_at IS NULL;

-- At most two valid secrets of a project: the old and the new one during a rotation.
CREATE FUNCTION ramp.two_secrets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- NO KEY UPDATE: two inserts at once both hold the foreign key's KEY SHARE lock on the project, and FOR UPDATE would wait for
  -- the other's in a deadlock.
  PERFORM FROM ramp.projects WHERE id = NEW.project_id FOR NO KEY UPDATE;
  IF (SELECT count(*) FROM ramp.client_secrets WHERE project_id = NEW.project_id AND revoked_at IS NULL) > 2 THEN
    RAISE EXCEPTION 'A project has at most two valid client secrets: revoke one first.' USING ERRCODE = 'RW002';
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER two_secrets AFTER INSERT ON ramp.client_secrets FOR EACH ROW EXECUTE FUNCTION ramp.two_secrets();

CREATE TABLE ramp.signing_keys (
  kid text PRIMARY KEY,
  private_key bytea NOT NULL,
  public_key text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Neither signs nor verifies.
  revoked_at timestamptz,
  -- No longer signs; verifies until the last token that it signed has expired.
  retired_at timestamptz
);

CREATE TABLE ramp.wallet_nonces (
  nonce text PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX ON ramp.wallet_nonces (expires_at);

CREATE TABLE ramp.blockchains (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  code text NOT NULL UNIQUE,
  name text NOT NULL,
  address_pattern text NOT NULL
);

CREATE TABLE ramp.currencies (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  code text NOT NULL UNIQUE,
  ticker text NOT NULL,
  name text NOT NULL,
  decimals integer NOT NULL CHECK (decimals BETWEEN 0 AND 18),
  type text NOT NULL CHECK (type IN ('FIAT', 'CRYPTO')),
  blockchain_id uuid REFERENCES ramp.blockchains (id),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((type = 'CRYPTO') = (blockchain_id IS NOT NULL))
);
-- Callers may write a code in any letter case.
CREATE UNIQUE INDEX ON ramp.currencies (upper(code));

CREATE TABLE ramp.customers (
  project_id uuid NOT NULL DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  -- A UUID (runtime/ramp/README.md, Customers).
  id text NOT NULL CHECK (id <> '' AND length(id) <= 256),
  -- The caller's own id.
  external_id text NOT NULL CHECK (external_id <> '' AND length(external_id) <= 256),
  -- What providers know the customer by.
  reference uuid NOT NULL,
  metadata jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id)
);
CREATE INDEX ON ramp.customers (project_id, created_at DESC, id DESC);
CREATE INDEX ON ramp.customers (project_id, external_id);

-- Tokens of a customer that were issued until `revoked_at` are refused. Kept for as long as such a token could live.
CREATE TABLE ramp.token_revocations (
  project_id uuid NOT NULL DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  customer_id text NOT NULL,
  revoked_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, customer_id)
);

CREATE TABLE ramp.identity_providers (
  project_id uuid NOT NULL DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  id uuid NOT NULL,
  issuer text NOT NULL,
  audiences text[] NOT NULL CHECK (cardinality(audiences) > 0),
  clock_skew_seconds integer NOT NULL DEFAULT 0 CHECK (clock_skew_seconds BETWEEN 0 AND 600),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id),
  UNIQUE (project_id, issuer)
);

-- A customer and a user of an identity provider belong to each other, one to one.
CREATE TABLE ramp.customer_identities (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  customer_id text NOT NULL,
  issuer text NOT NULL,
  subject text NOT NULL,
  -- Proven by a signature of the wallet itself, through our own sign-in.
  is_wallet boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, customer_id, issuer),
  UNIQUE (project_id, issuer, subject),
  FOREIGN KEY (project_id, customer_id) REFERENCES ramp.customers (project_id, id)
);

CREATE TABLE ramp.provider_connections (
  project_id uuid NOT NULL DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  id uuid NOT NULL,
  code text NOT NULL,
  -- Version of address and credentials for new intents.
  version integer NOT NULL DEFAULT 1,
  -- The provider's latest capabilities (providers/protocol.ts).
  capabilities jsonb NOT NULL,
  capabilities_at timestamptz NOT NULL DEFAULT now(),
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id),
  UNIQUE (project_id, code)
);

-- An intent keeps the address and the credentials that it was made with: each change of them is a version of the connection.
CREATE TABLE ramp.provider_credentials (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  connection_id uuid NOT NULL,
  version integer NOT NULL,
  url text NOT NULL,
  key_id text NOT NULL,
  -- Encrypted (vault.ts).
  secret bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, connection_id, version),
  UNIQUE (project_id, connection_id, url, key_id),
  FOREIGN KEY (project_id, connection_id) REFERENCES ramp.provider_connections (project_id, id)
);

-- Quotes whose price the provider holds until they expire.
CREATE TABLE ramp.quotes (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  id uuid NOT NULL,
  connection_id uuid NOT NULL,
  connection_version integer NOT NULL,
  src_currency text NOT NULL REFERENCES ramp.currencies (code),
  dest_currency text NOT NULL REFERENCES ramp.currencies (code),
  src_amount numeric NOT NULL,
  country_code text NOT NULL,
  rail text NOT NULL,
  -- What an intent keeps of it (intents/intent.ts, Price).
  price jsonb NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The intent that was made with it: one quote is for one intent.
  intent_id uuid,
  PRIMARY KEY (project_id, id),
  FOREIGN KEY (project_id, connection_id) REFERENCES ramp.provider_connections (project_id, id)
);
CREATE INDEX ON ramp.quotes (expires_at);

CREATE TABLE ramp.external_accounts (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  id uuid NOT NULL,
  customer_id text NOT NULL,
  currency_code text NOT NULL REFERENCES ramp.currencies (code),
  metadata jsonb NOT NULL,
  label text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Intents may name a deleted account, so its row stays.
  deleted_at timestamptz,
  PRIMARY KEY (project_id, id),
  FOREIGN KEY (project_id, customer_id) REFERENCES ramp.customers (project_id, id)
);
CREATE INDEX ON ramp.external_accounts (project_id, customer_id);
CREATE INDEX ON ramp.external_accounts (project_id, customer_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

-- States and moves (runtime/ramp/README.md, States). intents/intent.ts has the same table; a test compares the two.
CREATE FUNCTION ramp.intent_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status IN ('COMPLIANCE_IN_PROGRESS', 'COMPLIANCE_APPROVED', 'COMPLIANCE_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'COMPLIANCE_IN_PROGRESS' THEN to_status IN ('COMPLIANCE_APPROVED', 'COMPLIANCE_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'COMPLIANCE_APPROVED' THEN to_status IN ('PENDING_PAYMENT', 'EXPIRED', 'CANCELLED')
    WHEN 'PENDING_PAYMENT' THEN to_status IN ('TRANSACTION_IN_PROGRESS', 'EXPIRED', 'CANCELLED')
    WHEN 'TRANSACTION_IN_PROGRESS' THEN to_status IN ('COMPLETED', 'AMOUNT_MISMATCH', 'TRANSACTION_FAILED', 'EXPIRED', 'CANCELLED')
    WHEN 'AMOUNT_MISMATCH' THEN to_status IN ('COMPLETED', 'TRANSACTION_FAILED')
    ELSE false
  END;

-- The operator records how an intent ended that the provider left unclear (runtime/ramp/README.md, Operations).
CREATE FUNCTION ramp.may_resolve(to_status text) RETURNS boolean LANGUAGE sql STABLE
  RETURN ramp.is_operator() AND to_status IN ('COMPLETED', 'TRANSACTION_FAILED', 'SUCCESS', 'FAILED');

CREATE FUNCTION ramp.transaction_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status = 'IN_PROGRESS'
    WHEN 'IN_PROGRESS' THEN to_status IN ('SUCCESS', 'FAILED', 'CANCELLED')
    WHEN 'SUCCESS' THEN to_status = 'REFUNDED'
    ELSE false
  END;

CREATE FUNCTION ramp.requirement_may_move(from_status text, to_status text) RETURNS boolean LANGUAGE sql IMMUTABLE
  RETURN CASE from_status
    WHEN 'PENDING' THEN to_status = 'IN_PROGRESS'
    WHEN 'IN_PROGRESS' THEN to_status IN ('COMPLETED', 'FAILED')
    ELSE false
  END;

CREATE TABLE ramp.intents (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  id uuid NOT NULL,
  customer_id text NOT NULL,
  connection_id uuid NOT NULL,
  connection_version integer NOT NULL DEFAULT 1,
  type text NOT NULL CHECK (type IN ('ONRAMP', 'OFFRAMP')),
  status text NOT NULL CHECK (status IN ('PENDING', 'COMPLIANCE_IN_PROGRESS', 'COMPLIANCE_APPROVED', 'PENDING_PAYMENT',
    'TRANSACTION_IN_PROGRESS', 'COMPLETED', 'AMOUNT_MISMATCH', 'COMPLIANCE_FAILED', 'TRANSACTION_FAILED', 'EXPIRED', 'CANCELLED')),
  is_ended boolean NOT NULL GENERATED ALWAYS AS
    (status IN ('COMPLETED', 'COMPLIANCE_FAILED', 'TRANSACTION_FAILED', 'EXPIRED', 'CANCELLED')) STORED,
  src_currency text NOT NULL REFERENCES ramp.currencies (code),
  src_details jsonb NOT NULL,
  dest_currency text NOT NULL REFERENCES ramp.currencies (code),
  dest_details jsonb NOT NULL,
  -- Kept with exactly the currency's decimals.
  src_amount numeric NOT NULL CHECK (src_amount > 0),
  rail text NOT NULL,
  -- The price that the payment is checked against; null: nothing is ordered yet.
  price jsonb,
  -- The caller's own data.
  metadata jsonb,
  -- Whether the provider moves no real money.
  sandbox boolean NOT NULL DEFAULT false,
  -- The bytes of the onboarding order: repeats are the same.
  onboarding_order text,
  auto_execute boolean NOT NULL,
  onboarding_redirect_url text,
  checkout_redirect_url text,
  failure_reason text,
  expires_at timestamptz NOT NULL,
  -- The customer cancelled: as at expiry, an execution is cancelled at the provider first.
  cancel_requested_at timestamptz,
  -- When background work polls the intent next; null once nothing is left to do.
  next_poll_at timestamptz,
  -- Set while a lease is held: the provider is polled again as soon as the lease ends.
  poll_requested boolean NOT NULL DEFAULT false,
  -- One process at a time calls the provider about an intent: it holds a lease, which expires if the process crashes.
  lease_owner uuid,
  lease_expires_at timestamptz,
  -- Attempts in a row that the provider has not answered.
  failed_attempts integer NOT NULL DEFAULT 0,
  -- What stays unclear goes to the operator: why the intent needs attention (intents/attention.ts), and since when.
  attention jsonb NOT NULL DEFAULT '{}',
  attention_since timestamptz,
  -- Reasons that the operator has resolved: about the same, they need no attention again.
  acknowledged jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id),
  FOREIGN KEY (project_id, customer_id) REFERENCES ramp.customers (project_id, id),
  FOREIGN KEY (project_id, connection_id) REFERENCES ramp.provider_connections (project_id, id),
  CHECK ((status IN ('COMPLIANCE_FAILED', 'TRANSACTION_FAILED')) = (failure_reason IS NOT NULL)),
  CHECK ((attention = '{}') = (attention_since IS NULL)),
  CHECK (attention - ARRAY['AMOUNT_MISMATCH', 'FEE_MISMATCH', 'RECEIPT_CHANGED', 'REFUND_MISMATCH', 'CHARGEBACK', 'LATE_PAYMENT',
    'RECEIPT_MISSING', 'REFUND_REFUSED', 'INVALID_INSTRUCTIONS', 'CONTRADICTION', 'REFERENCE_CHANGED', 'UNKNOWN_ORDER',
    'PROVIDER_FAILS'] = '{}')
);
CREATE INDEX ON ramp.intents (project_id, customer_id, created_at DESC, id DESC);
-- Due intents are found per connection, open ones first: one with many must not hide those of others.
CREATE INDEX ON ramp.intents (project_id, connection_id, is_ended, next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE INDEX ON ramp.intents (attention_since) WHERE attention_since IS NOT NULL;
-- A project reads its intents newest first, by status, or by what changed since.
CREATE INDEX ON ramp.intents (project_id, created_at DESC, id DESC);
CREATE INDEX ON ramp.intents (project_id, updated_at);

CREATE TABLE ramp.requirements (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  intent_id uuid NOT NULL,
  code text NOT NULL,
  status text NOT NULL CHECK (status IN ('PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED')),
  position integer NOT NULL,
  -- What the hosted page shows and asks for (providers/protocol.ts).
  title text NOT NULL,
  form jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, intent_id, code),
  FOREIGN KEY (project_id, intent_id) REFERENCES ramp.intents (project_id, id)
);

CREATE TABLE ramp.transactions (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  id uuid NOT NULL,
  intent_id uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('PENDING', 'IN_PROGRESS', 'SUCCESS', 'FAILED', 'CANCELLED', 'REFUNDED')),
  provider_reference text,
  instructions jsonb NOT NULL DEFAULT '[]',
  failure_reason text,
  -- The bytes of the order: repeats are the same.
  order_body text,
  receipt jsonb,
  refunds jsonb NOT NULL DEFAULT '[]',
  -- Why the provider refused the order, recorded before the order is withdrawn; null once it is.
  refusal_reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id),
  -- One per intent, for life.
  UNIQUE (project_id, intent_id),
  FOREIGN KEY (project_id, intent_id) REFERENCES ramp.intents (project_id, id)
);

CREATE FUNCTION ramp.guard_status() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  allowed boolean;
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.status <> 'PENDING' THEN
      RAISE EXCEPTION '% starts as PENDING, not as %', TG_TABLE_NAME, NEW.status USING ERRCODE = 'RW001';
    END IF;
  ELSIF NEW.status <> OLD.status AND NOT ramp.may_resolve(NEW.status) THEN
    allowed := CASE TG_TABLE_NAME
      WHEN 'intents' THEN ramp.intent_may_move(OLD.status, NEW.status)
      WHEN 'transactions' THEN ramp.transaction_may_move(OLD.status, NEW.status)
      ELSE ramp.requirement_may_move(OLD.status, NEW.status)
    END;
    IF NOT allowed THEN
      RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, OLD.status, NEW.status USING ERRCODE = 'RW001';
    END IF;
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER guard_status BEFORE INSERT OR UPDATE OF status ON ramp.intents FOR EACH ROW EXECUTE FUNCTION ramp.guard_status();
CREATE TRIGGER guard_status BEFORE INSERT OR UPDATE OF status ON ramp.requirements FOR EACH ROW EXECUTE FUNCTION ramp.guard_status();
CREATE TRIGGER guard_status BEFORE INSERT OR UPDATE OF status ON ramp.transactions FOR EACH ROW EXECUTE FUNCTION ramp.guard_status();

-- Refunds that operators want, recorded before they are sent.
CREATE TABLE ramp.refund_requests (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  id uuid NOT NULL,
  intent_id uuid NOT NULL,
  amount numeric NOT NULL CHECK (amount > 0),
  reason text NOT NULL,
  state text NOT NULL DEFAULT 'REQUESTED' CHECK (state IN ('REQUESTED', 'ACCEPTED', 'REFUSED')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id),
  FOREIGN KEY (project_id, intent_id) REFERENCES ramp.intents (project_id, id)
);
CREATE INDEX ON ramp.refund_requests (project_id, intent_id);

-- The journal (intents/journal.ts): append-only, and each entry balanced per currency.
CREATE TABLE ramp.postings (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  entry_id uuid NOT NULL,
  line integer NOT NULL,
  intent_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('order', 'void', 'receipt', 'delivery', 'fee', 'refund', 'refund_reversal', 'goodwill',
    'chargeback', 'correction', 'resolution')),
  -- What it is about: order, payment, delivery, fee, chargeback, or a refund with its id.
  about text NOT NULL,
  account text NOT NULL CHECK (account IN ('customer', 'provider', 'exchange', 'fees', 'returned', 'suspense', 'write_off')),
  -- Why an amount is in suspense.
  reason text CHECK (reason IN ('AMOUNT_MISMATCH', 'FEE_MISMATCH', 'RECEIPT_CHANGED', 'REFUND_MISMATCH', 'CHARGEBACK', 'LATE_PAYMENT')),
  currency text NOT NULL REFERENCES ramp.currencies (code),
  amount numeric NOT NULL CHECK (amount <> 0),
  -- The date of the posting, by the database's clock: reports go by it.
  posted_at timestamptz NOT NULL DEFAULT now(),
  -- The provider's own date of the movement.
  provider_date timestamptz,
  PRIMARY KEY (project_id, entry_id, line),
  FOREIGN KEY (project_id, intent_id) REFERENCES ramp.intents (project_id, id),
  CHECK ((account = 'suspense') = (reason IS NOT NULL))
);
CREATE INDEX ON ramp.postings (project_id, intent_id);
CREATE INDEX ON ramp.postings (posted_at);

CREATE FUNCTION ramp.check_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM ramp.postings WHERE project_id = NEW.project_id AND entry_id = NEW.entry_id
      GROUP BY currency HAVING sum(amount) <> 0) THEN
    RAISE EXCEPTION 'The postings of entry % do not balance.', NEW.entry_id USING ERRCODE = 'RW006';
  END IF;
  RETURN NULL;
END
$$;
-- At the commit: what comes later to an entry is checked again.
CREATE CONSTRAINT TRIGGER balanced AFTER INSERT ON ramp.postings DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION ramp.check_balance();

-- The role of a project has no right to change postings either; this binds the owner of the tables too.
CREATE FUNCTION ramp.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: post a correction instead.', TG_TABLE_NAME USING ERRCODE = 'RW005';
END
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ramp.postings
  FOR EACH STATEMENT EXECUTE FUNCTION ramp.refuse_change();

-- What providers answered about an intent, each different answer of an operation once.
CREATE TABLE ramp.provider_answers (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  intent_id uuid NOT NULL,
  operation text NOT NULL,
  digest bytea NOT NULL,
  -- Encrypted (vault.ts).
  answer bytea NOT NULL,
  count integer NOT NULL DEFAULT 1,
  first_at timestamptz NOT NULL DEFAULT now(),
  last_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, intent_id, operation, digest)
);
CREATE INDEX ON ramp.provider_answers (last_at);

-- What operators did: who, when and why. Recorded before the change, with its outcome after it.
CREATE TABLE ramp.audit_log (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL,
  action text NOT NULL,
  project_id uuid,
  intent_id uuid,
  note text,
  -- What the command was given, without secrets.
  arguments jsonb NOT NULL,
  -- Null: under way, or ended by a crash.
  outcome text
);
CREATE INDEX ON ramp.audit_log (intent_id) WHERE intent_id IS NOT NULL;
CREATE INDEX ON ramp.audit_log (at);

CREATE TABLE ramp.idempotency_claims (
  project_id uuid NOT NULL DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  -- What the request creates, committed together with the claim: a takeover continues from here.
  resource_id text NOT NULL,
  owner uuid NOT NULL,
  owned_until timestamptz NOT NULL,
  response_status integer,
  -- Encrypted: an answer may hold a token.
  response_body bytea,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, key),
  CHECK ((response_status IS NULL) = (response_body IS NULL))
);
CREATE INDEX ON ramp.idempotency_claims (expires_at);

-- A number that grows with each event, so that receivers can order them.
CREATE SEQUENCE ramp.event_sequence;

CREATE TABLE ramp.events (
  project_id uuid NOT NULL DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  id uuid NOT NULL,
  type text NOT NULL,
  -- Null: the event is about no intent.
  intent_id uuid,
  sequence bigint NOT NULL,
  -- Text, so that every delivery sends the same bytes.
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX ON ramp.events (project_id, sequence);
CREATE INDEX ON ramp.events (project_id, intent_id, sequence) WHERE intent_id IS NOT NULL;
CREATE INDEX ON ramp.events (created_at);

CREATE TABLE ramp.webhook_endpoints (
  project_id uuid NOT NULL DEFAULT ramp.current_project() REFERENCES ramp.projects (id),
  id uuid NOT NULL,
  url text NOT NULL,
  secret bytea NOT NULL,
  -- After a rotation both secrets sign for a while.
  previous_secret bytea,
  previous_secret_until timestamptz,
  allow_private boolean NOT NULL DEFAULT false,
  -- Deliveries at a time, over all processes.
  concurrency integer NOT NULL DEFAULT 10 CHECK (concurrency BETWEEN 1 AND 100),
  enabled boolean NOT NULL DEFAULT true,
  -- Circuit breaker: failed attempts in a row, and until when nothing is sent.
  failures integer NOT NULL DEFAULT 0,
  paused_until timestamptz,
  -- Types of the events that it gets; null: all.
  event_types text[],
  deleted_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id),
  CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL))
);

CREATE TABLE ramp.webhook_deliveries (
  project_id uuid NOT NULL DEFAULT ramp.current_project(),
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  event_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'DELIVERED', 'EXHAUSTED')),
  attempts integer NOT NULL DEFAULT 0,
  -- When the next attempt is due.
  attempt_at timestamptz,
  -- While an attempt is under way: when it counts as lost.
  attempted_until timestamptz,
  -- HTTP status of the last attempt, or what went wrong.
  last_result text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, id),
  UNIQUE (project_id, event_id, endpoint_id),
  FOREIGN KEY (project_id, event_id) REFERENCES ramp.events (project_id, id),
  FOREIGN KEY (project_id, endpoint_id) REFERENCES ramp.webhook_endpoints (project_id, id),
  CHECK ((status = 'PENDING') = (attempt_at IS NOT NULL))
);
CREATE INDEX ON ramp.webhook_deliveries (attempt_at) WHERE status = 'PENDING';
CREATE INDEX ON ramp.webhook_deliveries (updated_at) WHERE status = 'EXHAUSTED';
CREATE INDEX ON ramp.webhook_deliveries (project_id, endpoint_id, attempt_at) WHERE status = 'PENDING';
CREATE INDEX ON ramp.webhook_deliveries (project_id, endpoint_id) WHERE attempted_until IS NOT NULL;

-- Fails a transaction whose statements were pipelined when a row that it requires is missing (database/ramp-database.ts, `requireRow`).
CREATE FUNCTION ramp.require_row(is_found boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT is_found THEN
    RAISE EXCEPTION 'A required row is missing: the transaction is rolled back.' USING ERRCODE = 'RW003';
  END IF;
END
$$;

-- Row-level security, for a table's owner too: without a project no rows.
ALTER TABLE ramp.projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE ramp.projects FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON ramp.projects USING (id = ramp.current_project());
CREATE POLICY operator ON ramp.projects USING (ramp.is_operator());
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN
    SELECT table_name FROM information_schema.columns
    WHERE table_schema = 'ramp' AND column_name = 'project_id'
  LOOP
    EXECUTE format('ALTER TABLE ramp.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE ramp.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own ON ramp.%I USING (project_id = ramp.current_project())', name);
    EXECUTE format('CREATE POLICY operator ON ramp.%I USING (ramp.is_operator())', name);
  END LOOP;
END
$$;

-- What the role of a project may do; nothing is ever deleted by it.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT USAGE ON SCHEMA ramp TO routewright_ramp_project;
    GRANT SELECT ON ramp.projects, ramp.blockchains, ramp.currencies TO routewright_ramp_project;
    GRANT SELECT, INSERT, UPDATE ON ramp.customers, ramp.identity_providers, ramp.customer_identities,
      ramp.provider_connections, ramp.provider_credentials, ramp.quotes, ramp.token_revocations, ramp.external_accounts, ramp.intents, ramp.requirements, ramp.transactions, ramp.provider_answers,
      ramp.idempotency_claims, ramp.events, ramp.webhook_endpoints, ramp.webhook_deliveries
      TO routewright_ramp_project;
    GRANT SELECT, INSERT ON ramp.postings TO routewright_ramp_project;
    GRANT SELECT, INSERT, UPDATE ON ramp.refund_requests TO routewright_ramp_project;
    GRANT USAGE ON SEQUENCE ramp.event_sequence TO routewright_ramp_project;
  END IF;
END
$$;
