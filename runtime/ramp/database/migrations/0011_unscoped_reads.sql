-- Up Migration

-- Who reads a project's rows without a project, and not as the operator, gets an error and not an empty result: a backup of a database whose
-- owner is bound by row-level security would hold no rows and look complete.
CREATE FUNCTION ramp.refuse_unscoped() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RAISE EXCEPTION 'Neither a project nor the operator is set: no row is read.' USING ERRCODE = 'RW007',
    HINT = 'A backup reads as the operator: PGOPTIONS=''-c ramp.operator=on'' pg_dump --enable-row-security.';
END
$$;

CREATE OR REPLACE FUNCTION ramp.is_operator() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
  RETURN CASE
    WHEN COALESCE(current_setting('ramp.operator', true), '') = 'on' THEN true
    WHEN COALESCE(current_setting('ramp.project_id', true), '') <> '' THEN false
    ELSE ramp.refuse_unscoped()
  END;

-- A trigger asks on behalf of whoever writes.
CREATE OR REPLACE FUNCTION ramp.may_resolve(to_status text) RETURNS boolean LANGUAGE sql STABLE
  RETURN COALESCE(current_setting('ramp.operator', true), '') = 'on'
    AND to_status IN ('COMPLETED', 'TRANSACTION_FAILED', 'SUCCESS', 'FAILED');
