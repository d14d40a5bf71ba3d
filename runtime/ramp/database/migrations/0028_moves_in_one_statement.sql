-- Up Migration

-- One statement can make several moves of a status: `via` names the statuses in between, in order (database/session.ts). The guard checks each
-- move, and empties it.
ALTER TABLE ramp.intents ADD COLUMN via text[];
ALTER TABLE ramp.requirements ADD COLUMN via text[];
ALTER TABLE ramp.transactions ADD COLUMN via text[];
ALTER TABLE ramp.deposit_accounts ADD COLUMN via text[];

CREATE OR REPLACE FUNCTION ramp.guard_status() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  reached text;
  next text;
  allowed boolean;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    reached := OLD.status;
  END IF;
  FOREACH next IN ARRAY NEW.via || NEW.status LOOP
    IF reached IS NULL THEN
      IF next IS DISTINCT FROM 'PENDING' THEN
        RAISE EXCEPTION '% starts as PENDING, not as %', TG_TABLE_NAME, next USING ERRCODE = 'RW001';
      END IF;
    ELSE
      allowed := next = reached OR CASE TG_TABLE_NAME
        WHEN 'intents' THEN ramp.intent_may_move(reached, next)
        WHEN 'transactions' THEN ramp.transaction_may_move(reached, next)
        WHEN 'deposit_accounts' THEN ramp.deposit_account_may_move(reached, next)
        ELSE ramp.requirement_may_move(reached, next)
      END OR ramp.may_resolve(next);
      IF allowed IS NOT TRUE THEN
        RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, reached, next USING ERRCODE = 'RW001';
      END IF;
    END IF;
    reached := next;
  END LOOP;
  NEW.via := NULL;
  RETURN NEW;
END
$$;

DO $$
DECLARE
  name text;
BEGIN
  DROP TRIGGER guard_deposit_account ON ramp.deposit_accounts;
  FOREACH name IN ARRAY ARRAY['intents', 'requirements', 'transactions', 'deposit_accounts'] LOOP
    EXECUTE format('DROP TRIGGER IF EXISTS guard_status ON ramp.%I', name);
    EXECUTE format('CREATE TRIGGER guard_status BEFORE INSERT OR UPDATE OF status, via ON ramp.%I
      FOR EACH ROW EXECUTE FUNCTION ramp.guard_status()', name);
  END LOOP;
END
$$;
DROP FUNCTION ramp.guard_deposit_account();
