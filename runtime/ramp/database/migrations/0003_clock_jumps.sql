-- Up Migration

-- Jumps of the database's clock that a server saw, and moved the deadlines for (clock-jumps.ts).
CREATE TABLE ramp.clock_jumps (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL DEFAULT now(),
  milliseconds bigint NOT NULL
);

-- Each transaction reads what a server may not have noticed yet.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'routewright_ramp_project')
    AND (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
    GRANT SELECT ON ramp.clock_jumps TO routewright_ramp_project;
  END IF;
END
$$;
