-- Up Migration

-- Records an event for operators (runtime/docs/events.md) in the transaction of what it reports. Where there is no schema of events,
-- or the owner of this function may not write it, the change counts without an event.
CREATE FUNCTION routewright_keys.record_event(id text, type text, organization text, data jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF EXISTS (
    SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = 'routewright_events' AND relname = 'events'
      AND has_schema_privilege(pg_namespace.oid, 'USAGE') AND has_table_privilege(pg_class.oid, 'INSERT')
  ) THEN
    PERFORM routewright_events.record(
      $1, $2, $3, jsonb_build_object('organization', $3) || $4
    );
  END IF;
END $$;

-- A key's row is made by its creation, its import, or a rotation, which replaces another key.
CREATE FUNCTION routewright_keys.key_created() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  PERFORM routewright_keys.record_event(
    'key.created ' || NEW.id, 'key.created', NEW.organization,
    jsonb_build_object('key', NEW.id, 'tier', NEW.tier, 'replaces', NEW.replaces)
  );
  RETURN NULL;
END $$;

CREATE TRIGGER key_created AFTER INSERT ON routewright_keys.keys
  FOR EACH ROW EXECUTE FUNCTION routewright_keys.key_created();

CREATE FUNCTION routewright_keys.plan_changed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  before text := CASE WHEN TG_OP = 'UPDATE' THEN OLD.plan END;
BEGIN
  IF NEW.plan IS DISTINCT FROM before THEN
    PERFORM routewright_keys.record_event(
      'plan.changed ' || gen_random_uuid(), 'plan.changed', NEW.id,
      jsonb_build_object('plan', NEW.plan, 'before', before)
    );
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER plan_changed AFTER INSERT OR UPDATE OF plan ON routewright_keys.organizations
  FOR EACH ROW EXECUTE FUNCTION routewright_keys.plan_changed();

-- The row is written once for a quota and a percentage, so that the event is recorded once.
CREATE FUNCTION routewright_keys.quota_event() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  PERFORM routewright_keys.record_event(
    concat_ws(' ', 'quota.reached', NEW.organization, to_char(NEW.month, 'YYYY-MM'), NEW.unit, NEW.percent, NEW.quota),
    'quota.reached', (SELECT organizations.id FROM routewright_keys.organizations WHERE number = NEW.organization),
    jsonb_build_object(
      'month', to_char(NEW.month, 'YYYY-MM'), 'unit', NEW.unit, 'percent', NEW.percent, 'quota', NEW.quota, 'used', NEW.used)
  );
  RETURN NULL;
END $$;

CREATE TRIGGER quota_event AFTER INSERT ON routewright_keys.quota_events
  FOR EACH ROW EXECUTE FUNCTION routewright_keys.quota_event();
