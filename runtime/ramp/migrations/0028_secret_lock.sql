-- Up Migration

-- NO KEY UPDATE: two inserts at once both hold the foreign key's KEY SHARE lock on the project, and FOR UPDATE would wait for
-- the other's in a deadlock.
CREATE OR REPLACE FUNCTION ramp.two_secrets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM ramp.projects WHERE id = NEW.project_id FOR NO KEY UPDATE;
  IF (SELECT count(*) FROM ramp.client_secrets WHERE project_id = NEW.project_id AND revoked_at IS NULL) > 2 THEN
    RAISE EXCEPTION 'A project has at most two valid client secrets: revoke one first.' USING ERRCODE = 'RW002';
  END IF;
  RETURN NULL;
END
$$;
