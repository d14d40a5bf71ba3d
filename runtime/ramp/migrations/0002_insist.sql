-- Up Migration

-- Fails a transaction whose statements were pipelined when a row that it requires is missing
-- (database/ramp-database.ts, `requireRow`; 0003_standard_names.sql renames the function).
CREATE FUNCTION ramp.insist(is_found boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT is_found THEN
    RAISE EXCEPTION 'Somebody else has it: nothing of this transaction is done.' USING ERRCODE = 'RW003';
  END IF;
END
$$;
