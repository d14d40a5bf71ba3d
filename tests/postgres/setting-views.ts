/** Views whose expressions depend on settings, and the tables and functions that they read; `@` stands for the schema. */

/** Times on both sides of changes of the clock, and values at which texts of settings differ. */
export const TABLES = `
  CREATE TABLE @.base (id int PRIMARY KEY, at timestamptz, local timestamp, day date, ratio float8, narrow float4, amount numeric(12, 4),
    paid money, took interval, code bytea, name text, clock time, zoned timetz);
  INSERT INTO @.base SELECT i, '2024-03-10 00:30+00'::timestamptz + i * interval '83 minutes 0.125 seconds',
    '2024-10-26 22:15'::timestamp + i * interval '97 minutes', '2024-01-29'::date + i * 5, i / 7.0::float8 + 0.1::float8, i / 3.0::float4, i * 10.125 - 40,
    (i * 333.25 - 1000)::numeric::money, make_interval(months => i - 5, days => 9 - i, secs => i * 1234.5),
    decode(lpad(to_hex(i * 37), 4, '0') || '5c27', 'hex'), (ARRAY['Running cats', 'The İstanbul offices', '02/01/2024', 'NULL', 'a\\b''c', 'Häuser & <b>'])[i % 6 + 1],
    '00:00'::time + i * interval '71 minutes', ('00:00'::time + i * interval '71 minutes')::text::timetz FROM generate_series(1, 18) i;
  INSERT INTO @.base (id) VALUES (19);
  CREATE TYPE @.pair AS (at timestamptz, took interval, ratio float8, code bytea);
  CREATE FUNCTION @.is_null(text) RETURNS bool LANGUAGE sql AS 'SELECT $1 = NULL';
  CREATE FUNCTION @.as_day(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN extract(epoch FROM $1::date)::text; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END';
  CREATE FUNCTION @.as_xml(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN $1::xml::text; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END';
  CREATE FUNCTION @.as_text(text) RETURNS text LANGUAGE plpgsql AS
    'DECLARE made text; BEGIN EXECUTE ''SELECT '' || $1 INTO made; RETURN made; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END';`;

/** What the API sets, or its connection: a view that reads these by name sees the API's. */
export const OWN_SETTINGS = [
  ...["default_transaction_read_only", "transaction_read_only", "statement_timeout", "lock_timeout", "jit"],
  ...["max_parallel_workers_per_gather", "client_connection_check_interval", "application_name"],
];

const ALL_SETTINGS = `(SELECT string_agg(name || '=' || setting, ', ' ORDER BY name) FROM pg_catalog.pg_settings
  WHERE context = 'user' AND name !~ '[.]' AND name NOT IN (${OWN_SETTINGS.map((name) => `'${name}'`).join(", ")}))`;

/** The value of a row of `base`, whose other column is the row's id. */
const VALUES: readonly string[] = [
  // Days and hours of the session's zone.
  "at::date",
  "at::time",
  "at::timetz",
  "at::timestamp",
  "date_trunc('day', at)",
  "date_trunc('week', at) - at",
  "local::timestamptz",
  "day::timestamptz",
  "extract(hour FROM at)",
  "extract(timezone FROM at)",
  "at >= local",
  "at + interval '1 day'",
  "age(at, local::timestamptz)",
  "make_timestamptz(2024, 3, id % 28 + 1, 2, 30, 0)",
  "to_timestamp(to_char(local, 'YYYY-MM-DD HH24:MI'), 'YYYY-MM-DD HH24:MI')",
  "clock::text::timetz",
  "(SELECT count(*) FROM generate_series(at, at + interval '2 days', interval '1 day') g WHERE extract(hour FROM g) = extract(hour FROM at))",
  "(SELECT array_agg(g) FROM generate_series(at, at + interval '2 days', interval '1 day') g)",
  "tstzrange(day, day + 1)",
  "width_bucket(at, ARRAY['2024-03-10'::text::timestamptz, '2024-03-11'::text::timestamptz])",
  // Texts.
  "at::text",
  "local::text",
  "day::text",
  "took::text",
  "ratio::text",
  "narrow::text",
  "code::text",
  "paid::text",
  "zoned::text",
  "concat(ratio, ' ', narrow, ' ', day)",
  "format('%s %I', took, name)",
  "to_json(at)::text",
  "row_to_json(ROW(ratio, local, code))::text",
  "jsonb_build_object('at', at, 'ratio', ratio, 'took', took, 'paid', paid)",
  "ARRAY[at]::text",
  "ROW(at, took, ratio, code)::@.pair::text",
  "daterange(day, day + 9)::text",
  "point(ratio, narrow)::text",
  "length(code::text)",
  "md5(ratio::text || at::text)",
  "string_to_array(day::text, '-')",
  "to_char(at, 'YYYY-MM-DD HH24:MI TZ OF')",
  "to_char(day, 'TMDay TMMonth')",
  "to_char(amount, 'L9G999D99')",
  "quote_ident(name)",
  "name ~* 'i' OR name ILIKE '%ı%'",
  // Reading, parsing, searching.
  "@.as_day(name)",
  "@.is_null(CASE WHEN id % 2 = 0 THEN name END)",
  "@.as_xml('<!-- x --><a>' || id || '</a>text')",
  "@.as_text($$'a\\\\b' || '\\n'$$ || '::text')",
  "('{1,NULL}'::text)::text[]",
  "xmlelement(name code, code)",
  "to_tsvector(name)",
  "to_tsvector('english', name) @@ to_tsquery('running | office')",
  "plainto_tsquery(name)",
  "pg_get_viewdef('@.v0'::text::regclass)",
  "current_setting('TimeZone') || current_setting('DateStyle') || current_setting('IntervalStyle')",
  ALL_SETTINGS,
  // Values whose form is ours.
  "ratio",
  "narrow * 1e20::float4",
  "paid",
  "took",
  "code",
  "ROW(at, took, ratio, code)::@.pair",
  "ARRAY[ROW(local::timestamptz, took, narrow, code)::@.pair]",
  "ARRAY[ratio, narrow]",
  "ARRAY[took]",
  "numrange(amount, amount + 1)",
  "sum(ratio) OVER (ORDER BY id)",
  "box(point(ratio, 0), point(narrow, 1))",
  // Values that filters compare.
  "amount",
  "local",
  "clock",
  "zoned",
  "took * 1.37",
  "at",
  "day",
  "name::varchar",
  "name::char(30)",
  "id % 3 = 0",
  "id::bit(9)",
  "id::bit(9)::varbit",
  "md5(name)::uuid",
  "('10.0.0.' || id)::inet",
  "('10.0.' || id || '.0/24')::cidr",
  "('08:00:2b:01:02:' || id + 10)::macaddr",
  "int4range(id % 5, id + 3)",
  "int8range(id, NULL)",
  "numrange(amount, NULL, '(]')",
  "daterange(day, NULL)",
  "tsrange(local, local + interval '1 day')",
  "datemultirange(daterange(day, day + 1), daterange(day + 5, day + 7))",
];

export const VIEWS = VALUES.map((_, i) => `v${String(i)}`);

export const VIEW_STATEMENTS = VALUES.map(
  (value, i) => `CREATE VIEW @.v${String(i)} AS SELECT id, ${value} AS v FROM @.base;`,
).join("\n");
