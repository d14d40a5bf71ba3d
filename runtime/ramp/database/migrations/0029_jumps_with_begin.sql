-- Up Migration

-- Fails a transaction of a server that does not know all jumps of the clock. It is sent with BEGIN (database/ramp-database.ts).
CREATE FUNCTION ramp.require_jumps(known float8) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT COALESCE(sum(milliseconds), 0) FROM ramp.clock_jumps) <> known THEN
    RAISE EXCEPTION 'The clock has jumped: the transaction is rolled back.' USING ERRCODE = 'RW003';
  END IF;
END
$$;
