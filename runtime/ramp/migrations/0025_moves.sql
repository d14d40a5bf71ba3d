-- Up Migration

-- The statuses that a row goes through in one statement, the last of them its new status. The guard checks each move and empties
-- the column, so it stores nothing: several moves of a transaction are one new version of the row.
ALTER TABLE ramp.intents ADD COLUMN moves text[];
ALTER TABLE ramp.requirements ADD COLUMN moves text[];
ALTER TABLE ramp.transactions ADD COLUMN moves text[];

CREATE OR REPLACE FUNCTION ramp.guard_status() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  moves text[] := COALESCE(NEW.moves, ARRAY[NEW.status]);
  current_status text;
  next_status text;
  allowed boolean;
BEGIN
  NEW.moves := NULL;
  IF TG_OP = 'INSERT' THEN
    IF moves[1] IS DISTINCT FROM 'PENDING' THEN
      RAISE EXCEPTION '% starts as PENDING, not as %', TG_TABLE_NAME, moves[1] USING ERRCODE = 'RW001';
    END IF;
    current_status := 'PENDING';
    moves := moves[2:];
  ELSE
    current_status := OLD.status;
    IF moves = ARRAY[current_status] THEN
      RETURN NEW;
    END IF;
  END IF;
  FOREACH next_status IN ARRAY moves LOOP
    allowed := CASE TG_TABLE_NAME
      WHEN 'intents' THEN ramp.intent_may_move(current_status, next_status)
      WHEN 'transactions' THEN ramp.transaction_may_move(current_status, next_status)
      ELSE ramp.requirement_may_move(current_status, next_status)
    END;
    IF NOT allowed THEN
      RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, current_status, next_status USING ERRCODE = 'RW001';
    END IF;
    current_status := next_status;
  END LOOP;
  IF current_status <> NEW.status THEN
    RAISE EXCEPTION '% ends its moves as %, not as %', TG_TABLE_NAME, current_status, NEW.status USING ERRCODE = 'RW001';
  END IF;
  RETURN NEW;
END
$$;

DROP TRIGGER guard_status ON ramp.intents;
DROP TRIGGER guard_status ON ramp.requirements;
DROP TRIGGER guard_status ON ramp.transactions;
CREATE TRIGGER guard_status BEFORE INSERT OR UPDATE OF status, moves ON ramp.intents FOR EACH ROW EXECUTE FUNCTION ramp.guard_status();
CREATE TRIGGER guard_status BEFORE INSERT OR UPDATE OF status, moves ON ramp.requirements FOR EACH ROW EXECUTE FUNCTION ramp.guard_status();
CREATE TRIGGER guard_status BEFORE INSERT OR UPDATE OF status, moves ON ramp.transactions FOR EACH ROW EXECUTE FUNCTION ramp.guard_status();
