-- Up Migration

-- The date of a posting does not go back with the clock: days that were closed before a jump stay closed. After a jump of a week or
-- more, which no day can wait for, it does.
CREATE FUNCTION ramp.posting_time() RETURNS timestamptz STABLE LANGUAGE sql AS $$
  SELECT GREATEST(now(), (SELECT max(at - milliseconds * interval '1 millisecond') FROM ramp.clock_jumps
    WHERE milliseconds BETWEEN -604800000 AND 0 AND at > now() - interval '7 days'))
$$;
ALTER TABLE ramp.postings ALTER COLUMN posted_at SET DEFAULT ramp.posting_time();

-- The role of a project chooses no date of a posting, and changes nothing of a refund but its state.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    REVOKE INSERT ON ramp.postings FROM routewright_ramp_project;
    GRANT INSERT (entry_id, line, intent_id, kind, about, account, currency, amount, reason, provider_date)
      ON ramp.postings TO routewright_ramp_project;
    REVOKE INSERT, UPDATE ON ramp.refund_requests FROM routewright_ramp_project;
    GRANT UPDATE (state) ON ramp.refund_requests TO routewright_ramp_project;
  END IF;
END
$$;
