-- Up Migration

-- Ends a transaction whose statements were sent without waiting for one another, when the one that decides whether the
-- rest may be done found nothing (store/database.ts, `insist`).
CREATE FUNCTION ramp.insist(is_found boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT is_found THEN
    RAISE EXCEPTION 'Somebody else has it: nothing of this transaction is done.' USING ERRCODE = 'RW003';
  END IF;
END
$$;
