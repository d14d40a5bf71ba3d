-- Up Migration

-- Figures of an organization that go before those of its plan; null: the plan's.
ALTER TABLE routewright_keys.organizations
  -- Stays when the id changes: what was used is counted by it.
  ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  ADD COLUMN requests_per_minute integer CHECK (requests_per_minute > 0),
  ADD COLUMN month_requests bigint CHECK (month_requests > 0),
  ADD COLUMN month_rows bigint CHECK (month_rows > 0),
  ADD COLUMN month_bytes bigint CHECK (month_bytes > 0),
  ADD COLUMN max_keys integer CHECK (max_keys > 0),
  ADD COLUMN max_members integer CHECK (max_members > 0);

CREATE TRIGGER touch_keys_of_figures
  AFTER UPDATE OF requests_per_minute, month_requests, month_rows, month_bytes ON routewright_keys.organizations
  FOR EACH ROW EXECUTE FUNCTION routewright_keys.touch_keys();

-- A process of a server that reports what it has counted.
CREATE TABLE routewright_keys.processes (
  id uuid PRIMARY KEY,
  -- The last report that was counted: one that arrives again is not.
  batch bigint NOT NULL DEFAULT 0,
  seen_at timestamptz NOT NULL DEFAULT now(),
  -- It has reported what it counted before this time.
  reported_until timestamptz NOT NULL,
  -- When it stopped, or was taken for dead; null while it runs.
  ended_at timestamptz
);

-- What processes may still use of the quota of the month: no other process gets it.
CREATE TABLE routewright_keys.shares (
  organization bigint NOT NULL,
  process uuid NOT NULL REFERENCES routewright_keys.processes (id) ON DELETE CASCADE,
  requests bigint NOT NULL,
  rows bigint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (organization, process)
);
CREATE INDEX ON routewright_keys.shares (process);

-- What organizations have used, by their number and the calendar month in UTC.
CREATE TABLE routewright_keys.month_use (
  organization bigint NOT NULL,
  month date NOT NULL,
  requests bigint NOT NULL DEFAULT 0,
  rows bigint NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (organization, month)
);

-- One row. Hours before `closed_until` are closed: later counts go to the first open one.
CREATE TABLE routewright_keys.metering (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  closed_until timestamptz NOT NULL,
  -- Of this database: what it meters has identifiers that no other one has.
  installation text NOT NULL DEFAULT encode(sha256(convert_to(random()::text || clock_timestamp()::text, 'UTF8')), 'hex')
);
INSERT INTO routewright_keys.metering (closed_until) VALUES (date_trunc('hour', now(), 'UTC'));

-- The same by key, endpoint and hour.
CREATE TABLE routewright_keys.metered (
  id text NOT NULL UNIQUE,
  hour timestamptz NOT NULL,
  organization bigint NOT NULL,
  key text NOT NULL,
  endpoint text NOT NULL,
  requests bigint NOT NULL,
  rows bigint NOT NULL,
  bytes bigint NOT NULL,
  -- Milliseconds that the database took.
  database_ms bigint NOT NULL,
  -- Until then a process sends it to METERING_URL.
  claimed_until timestamptz,
  -- When METERING_URL has acknowledged it.
  sent_at timestamptz,
  PRIMARY KEY (hour, organization, key, endpoint)
);
CREATE INDEX ON routewright_keys.metered (hour, id) WHERE sent_at IS NULL;

-- 80 and 100 percent of a quota, once each in a month and once more where the quota is another.
CREATE TABLE routewright_keys.quota_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  organization bigint NOT NULL,
  month date NOT NULL,
  unit text NOT NULL,
  percent smallint NOT NULL,
  quota bigint NOT NULL,
  used bigint NOT NULL,
  UNIQUE (organization, month, unit, percent, quota)
);

-- Called in the transaction that counts what reaches 80 or 100 percent.
CREATE FUNCTION routewright_keys.quota_reached(
  organization bigint, month date, unit text, percent integer, quota bigint, used bigint
) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO routewright_keys.quota_events (organization, month, unit, percent, quota, used)
  VALUES (quota_reached.organization, quota_reached.month, quota_reached.unit, quota_reached.percent, quota_reached.quota, quota_reached.used)
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    NOTIFY routewright_quotas;
  END IF;
END $$;

-- Counts what a process has used, and sets its shares, in one transaction. `report`: process, batch, until, counts, shares and whether
-- the process ends. Processes lock in one order: their own row, then the month's rows of organizations by number.
CREATE FUNCTION routewright_keys.report_use(report json) RETURNS json
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
  reporter uuid := report ->> 'process';
  ends boolean := coalesce((report ->> 'ends')::boolean, false);
  this_month date := date_trunc('month', now() AT TIME ZONE 'UTC');
  counted bigint;
  open_hour timestamptz;
  database text;
  answer json;
BEGIN
  INSERT INTO routewright_keys.processes (id, reported_until)
  VALUES (reporter, (report ->> 'until')::timestamptz) ON CONFLICT DO NOTHING;
  SELECT batch INTO STRICT counted FROM routewright_keys.processes WHERE id = reporter FOR UPDATE;

  INSERT INTO routewright_keys.month_use (organization, month)
  SELECT DISTINCT organization, this_month FROM (
    SELECT organization FROM json_to_recordset(report -> 'counts') AS r(organization bigint)
    UNION ALL SELECT organization FROM json_to_recordset(report -> 'shares') AS r(organization bigint)
  ) AS named ORDER BY organization ON CONFLICT DO NOTHING;
  PERFORM FROM routewright_keys.month_use WHERE month = this_month AND organization IN (
    SELECT organization FROM json_to_recordset(report -> 'counts') AS r(organization bigint)
    UNION ALL SELECT organization FROM json_to_recordset(report -> 'shares') AS r(organization bigint)
  ) ORDER BY organization FOR UPDATE;

  IF (report ->> 'batch')::bigint > counted THEN
    -- No hour is closed meanwhile.
    PERFORM pg_advisory_xact_lock_shared(7262004);
    SELECT closed_until, installation INTO STRICT open_hour, database FROM routewright_keys.metering;
    WITH given AS (
      SELECT greatest(hour, open_hour) AS hour, organization, key, endpoint, sum(requests) AS requests, sum(rows) AS rows,
        sum(bytes) AS bytes, sum(database_ms) AS database_ms
      FROM json_to_recordset(report -> 'counts') AS r(hour timestamptz, organization bigint, key text, endpoint text,
        requests bigint, rows bigint, bytes bigint, database_ms bigint)
      GROUP BY 1, 2, 3, 4
    ), metered AS (
      INSERT INTO routewright_keys.metered AS known (id, hour, organization, key, endpoint, requests, rows, bytes, database_ms)
      SELECT left(encode(sha256(convert_to(concat_ws(' ', database, date_part('epoch', hour), organization, key, endpoint), 'UTF8')), 'hex'), 32), given.* FROM given ORDER BY 2, 3, 4, 5
      ON CONFLICT (hour, organization, key, endpoint) DO UPDATE SET
        requests = known.requests + excluded.requests,
        rows = known.rows + excluded.rows,
        bytes = known.bytes + excluded.bytes,
        database_ms = known.database_ms + excluded.database_ms
    )
    INSERT INTO routewright_keys.month_use AS known (organization, month, requests, rows, bytes)
    SELECT organization, date_trunc('month', hour AT TIME ZONE 'UTC')::date, sum(requests), sum(rows), sum(bytes)
    FROM given GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (organization, month) DO UPDATE SET
      requests = known.requests + excluded.requests,
      rows = known.rows + excluded.rows,
      bytes = known.bytes + excluded.bytes;
  END IF;
  UPDATE routewright_keys.processes SET
    batch = greatest(batch, (report ->> 'batch')::bigint),
    seen_at = now(),
    reported_until = greatest(reported_until, (report ->> 'until')::timestamptz),
    ended_at = CASE WHEN ends THEN now() END
  WHERE id = reporter;

  -- A share is what is asked, at most what is left; what the process has given away of the one before stays its own.
  WITH asked AS (
    SELECT * FROM json_to_recordset(report -> 'shares') AS r(organization bigint,
      requests bigint, rows bigint, bytes bigint, kept_requests bigint, kept_rows bigint, kept_bytes bigint,
      quota_requests bigint, quota_rows bigint, quota_bytes bigint)
  ), others AS (
    SELECT organization, sum(requests) AS requests, sum(rows) AS rows, sum(bytes) AS bytes
    FROM routewright_keys.shares WHERE process <> reporter AND organization IN (SELECT organization FROM asked)
    GROUP BY organization
  ), given AS (
    SELECT organization, used.requests AS used_requests, used.rows AS used_rows, used.bytes AS used_bytes,
      greatest(kept_requests, least(asked.requests, quota_requests - used.requests - coalesce(others.requests, 0)), 0) AS requests,
      greatest(kept_rows, least(asked.rows, quota_rows - used.rows - coalesce(others.rows, 0)), 0) AS rows,
      greatest(kept_bytes, least(asked.bytes, quota_bytes - used.bytes - coalesce(others.bytes, 0)), 0) AS bytes,
      quota_requests, quota_rows, quota_bytes
    FROM asked JOIN routewright_keys.month_use AS used USING (organization) LEFT JOIN others USING (organization)
    WHERE used.month = this_month
  ), stored AS (
    INSERT INTO routewright_keys.shares AS known (organization, process, requests, rows, bytes)
    SELECT organization, reporter, requests, rows, bytes FROM given WHERE NOT ends
    ON CONFLICT (organization, process) DO UPDATE SET
      requests = excluded.requests, rows = excluded.rows, bytes = excluded.bytes
  ), reached AS (
    SELECT routewright_keys.quota_reached(organization, this_month, unit, percent, quota, used)
    FROM given CROSS JOIN LATERAL (VALUES
      ('requests', quota_requests, used_requests), ('rows', quota_rows, used_rows), ('bytes', quota_bytes, used_bytes)
    ) AS units (unit, quota, used) CROSS JOIN (VALUES (80), (100)) AS percents (percent)
    WHERE used * 100 >= quota * percent AND NOT EXISTS (
      SELECT FROM routewright_keys.quota_events known WHERE known.organization = given.organization
        AND known.month = this_month AND known.unit = units.unit AND known.percent = percents.percent AND known.quota = units.quota
    )
  )
  SELECT json_agg(json_build_object(
    'organization', organization, 'requests', requests, 'rows', rows, 'bytes', bytes,
    'used_requests', used_requests, 'used_rows', used_rows, 'used_bytes', used_bytes
  )) INTO answer FROM given WHERE (SELECT count(*) FROM reached) >= 0;
  IF ends THEN
    DELETE FROM routewright_keys.shares WHERE process = reporter;
  END IF;
  RETURN coalesce(answer, '[]');
END $$;

-- Takes processes for dead that have not reported for 30 s, and closes the hours that all others have reported. What a dead one
-- reports later is counted in the open hour.
CREATE FUNCTION routewright_keys.close_hours() RETURNS timestamptz
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  dead uuid[];
  closable timestamptz;
  closed timestamptz;
BEGIN
  SELECT array_agg(id) INTO dead FROM (
    SELECT id FROM routewright_keys.processes
    WHERE ended_at IS NULL AND seen_at < now() - interval '30 seconds' FOR UPDATE SKIP LOCKED
  ) AS silent;
  UPDATE routewright_keys.processes SET ended_at = now() WHERE id = ANY (dead);
  DELETE FROM routewright_keys.shares WHERE process = ANY (dead);
  DELETE FROM routewright_keys.processes WHERE ended_at < now() - interval '35 days';
  SELECT date_trunc('hour', least(now(), min(reported_until)), 'UTC') INTO closable
  FROM routewright_keys.processes WHERE ended_at IS NULL;
  SELECT closed_until INTO STRICT closed FROM routewright_keys.metering;
  IF closable <= closed THEN
    RETURN closed;
  END IF;
  -- Reports that run are counted first.
  PERFORM pg_advisory_xact_lock(7262004);
  UPDATE routewright_keys.metering SET closed_until = greatest(closed_until, closable) RETURNING closed_until INTO closed;
  RETURN closed;
END $$;
