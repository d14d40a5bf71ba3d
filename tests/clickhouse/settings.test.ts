import { describe, expect, it } from "vitest";
import { sendRequest } from "../support/http-client.js";
import { clickhouse, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { roleOf } from "./role.js";
import { KEYS, serveManifest } from "../support/service.js";

/** Views whose rows depend on settings: on names, time zones, formats, limits, nulls, joins, sets. */
const VIEWS: readonly string[] = [
  "SELECT toStartOfMonth(day) AS day, sum(amount) AS amount FROM @.days GROUP BY day",
  "SELECT toString(amount) AS amount FROM @.days WHERE amount = '5'",
  "SELECT amount + 1 AS amount, amount * 2 AS twice FROM @.days WHERE amount < 4",
  "SELECT toYear(day) AS day, count() AS n FROM @.days GROUP BY day HAVING n > 1",
  "SELECT -amount AS amount FROM @.days ORDER BY amount LIMIT 2",
  "SELECT sum(amount) AS amount FROM @.days",
  "SELECT if(amount > 2, 'many', 'few') AS amount, count() AS n FROM @.days GROUP BY amount",
  "SELECT day AS amount, amount AS day FROM @.days WHERE toString(amount) > '2024-02'",
  "SELECT toDate(at) AS day, count() AS n FROM @.times GROUP BY day",
  "SELECT toDate(at, 'Asia/Tokyo') AS day FROM @.times",
  "SELECT toStartOfDay(at) AS day FROM @.times",
  "SELECT toHour(at) AS hour, toDayOfWeek(at) AS weekday FROM @.times",
  "SELECT formatDateTime(at, '%F %T') AS text FROM @.times",
  "SELECT toString(at) AS text, toString(exact) AS more FROM @.times",
  "SELECT toDateTime('2024-03-10 02:30:00') AS at",
  "SELECT toDateTime64('2024-11-03 01:30:00.5', 3) AS at",
  "SELECT parseDateTimeBestEffort('2024-06-01 00:00:00') AS at",
  "SELECT toStartOfInterval(at, INTERVAL 1 DAY) AS day FROM @.times",
  "SELECT dateDiff('day', at, toDateTime('2025-01-01 00:00:00')) AS days FROM @.times",
  "SELECT timezone() AS zone, toTypeName(toDateTime(0)) AS type",
  "SELECT toTimezone(at, timezone()) AS at FROM @.times",
  "SELECT at + INTERVAL 1 MONTH AS later FROM @.times",
  "SELECT toUnixTimestamp('2024-01-01 00:00:00') AS seconds",
  "SELECT CAST('2024-01-01 00:00:00' AS DateTime) AS at",
  "SELECT toJSONString(tuple(at, exact)) AS text FROM @.times",
  "SELECT formatRow('CSV', at, true, NULL) AS text FROM @.times",
  "SELECT formatRow('TSV', exact, 1.50::Decimal(9, 2)) AS text FROM @.times",
  "SELECT formatRowNoNewline('JSONEachRow', at, '/') AS text FROM @.times",
  "SELECT formatRow('JSONEachRow', map('a', 1), tuple(1 AS b, NULL AS c)) AS text",
  "SELECT formatRow('Values', at, true) AS text FROM @.times",
  "SELECT toJSONString(map('k', 18446744073709551615)) AS text",
  "SELECT toJSONString(tuple(nan, inf, 1.5)) AS text",
  "SELECT toJSONString(CAST((1, NULL), 'Tuple(a UInt8, b Nullable(UInt8))')) AS text",
  "SELECT toJSONString(tuple('a/b', unhex('ff'))) AS text",
  "SELECT toJSONString(12.30::Decimal(9, 2)) AS text",
  "SELECT toString(true) AS yes, toString(1 = 2) AS no, CAST(false AS String) AS none",
  "SELECT concat('is ', toString(amount > 2 AS big)) AS text, big::Bool::String AS word FROM @.days",
  "SELECT toString(12.30::Decimal(9, 2)) AS text, toString(1e30) AS large, toString(0.1::Float32) AS small",
  "SELECT toString([true, false]) AS list, toString(tuple(true, toDateTime(0))) AS pair, toString(map('a', true)) AS map",
  "SELECT toString([toDateTime(0)]) AS list, toString(tuple(NULL, 'x')) AS pair",
  "SELECT CAST(tuple(true, 12.30::Decimal(9, 2)) AS String) AS text",
  "SELECT [at, at] AS list, map('at', at) AS map, tuple(at, true) AS pair FROM @.times",
  "WITH (SELECT toJSONString(tuple(max(at), nan)) FROM @.times) AS text SELECT text, length(text) AS n",
  "SELECT n FROM (SELECT toJSONString(tuple(nan)) AS n) WHERE n IN (SELECT toJSONString(tuple(nan)))",
  "WITH toJSONString(tuple(nan)) AS n SELECT n, arrayMap(x -> toJSONString(tuple(x)), [nan, inf]) AS all",
  "SELECT a.n AS n FROM (SELECT toJSONString(tuple(nan)) AS n) AS a JOIN (SELECT toJSONString(tuple(nan)) AS n) AS b USING n",
  "SELECT toJSONString(tuple(nan)) AS n UNION ALL SELECT toJSONString(tuple(toDateTime(0)))",
  "SELECT groupArray(toJSONString(tuple(at))) AS list FROM @.times",
  "SELECT text FROM @.inner_view",
  "SELECT text, aliased FROM @.with_alias",
  "SELECT cityHash64(toJSONString(tuple(at))) AS hash FROM @.times",
  "SELECT JSONExtractString(toJSONString(map('at', at)), 'at') AS text FROM @.times",
  "SELECT day, row_number() OVER (ORDER BY day DESC) AS n FROM @.days LIMIT 3",
  "SELECT DISTINCT toMonth(day) AS day FROM @.days",
  "SELECT count() AS limit, sum(amount) AS offset FROM @.days",
  "SELECT a.day AS day, b.amount AS amount FROM @.days AS a LEFT JOIN @.days AS b ON a.amount = b.amount + 50",
  "SELECT ifNull(toNullable(amount) IN (NULL, 1), 7) AS found, amount NOT IN (1, NULL) AS one FROM @.days LIMIT 2",
  "SELECT sum(amount) AS total, any(amount) AS some FROM @.days WHERE amount > 1000",
  "SELECT CAST(NULL AS Nullable(String)) AS text, 7 / 2 AS half, intDiv(7, 2) AS whole",
  "SELECT id, v FROM @.nested ARRAY JOIN list AS v",
  "SELECT getSetting('session_timezone') AS zone, getSetting('date_time_output_format') AS format",
];

const database = await ownDatabase([
  "CREATE TABLE @.days (day Date, amount UInt32) ORDER BY day",
  "INSERT INTO @.days SELECT toDate('2024-01-01') + number, number + 1 FROM numbers(60)",
  "CREATE TABLE @.times (at DateTime, exact DateTime64(6)) ORDER BY at",
  "INSERT INTO @.times SELECT toDateTime('2024-01-01 02:03:04', 'UTC'), toDateTime64('2024-07-01 23:30:00.000001', 6, 'UTC')",
  "CREATE VIEW @.inner_view AS SELECT toJSONString(tuple(at, nan)) AS text FROM @.times",
  "CREATE TABLE @.with_alias (text String, aliased String ALIAS toJSONString(tuple(toDateTime(0), true))) ORDER BY text",
  "INSERT INTO @.with_alias VALUES ('x')",
  "CREATE TABLE @.nested (id UInt8, list Array(Nullable(String))) ORDER BY id",
  "INSERT INTO @.nested VALUES (1, ['a', NULL]), (2, [])",
  ...VIEWS.map((select, i) => `CREATE VIEW @.v${String(i)} AS ${select}`),
]);

/** Profiles of the role. */
const PROFILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  usual: {},
  "other expressions": {
    ...{ session_timezone: "America/New_York", prefer_column_name_to_alias: "1" },
    output_format_json_skip_null_value_in_named_tuples: "1",
  },
  "other formats": {
    ...{ date_time_output_format: "unix_timestamp", bool_true_representation: "yes" },
    ...{ bool_false_representation: "no", format_csv_delimiter: ";", format_csv_null_representation: "nil" },
    ...{ output_format_json_quote_64bit_integers: "1", output_format_json_quote_decimals: "1" },
    ...{ output_format_json_quote_64bit_floats: "1", output_format_json_quote_denormals: "1" },
    ...{ output_format_decimal_trailing_zeros: "0", output_format_json_escape_forward_slashes: "1" },
    ...{ output_format_json_named_tuples_as_objects: "0", output_format_json_map_as_array_of_tuples: "1" },
    ...{ output_format_json_array_of_rows: "1", extremes: "1", limit: "1", offset: "1" },
  },
};

const manifest = manifestOf(
  VIEWS.flatMap((_, i) =>
    ["v", "copy"].map((kind) => ({
      name: `${kind}${String(i)}`,
      schema: database,
      tags: ["production", "views", `api:${kind}${String(i)}`],
    })),
  ),
  { adapter_type: "clickhouse" },
);

describe.skipIf(!hasClickhouse)("a view under a profile", () => {
  it.each(Object.entries(PROFILES))(
    "has the rows that the role's own client gets: %s",
    async (_, settings) => {
      for (const [i] of VIEWS.entries()) {
        const select = `SELECT * FROM ${database}.v${String(i)}`;
        const own = { ...settings, limit: "0", offset: "0" };
        await clickhouse(
          `CREATE OR REPLACE TABLE ${database}.copy${String(i)} ENGINE = Memory AS ${select}`,
          own,
        );
      }
      const url = await serveManifest(manifest, { DATABASE_URL: await roleOf(() => settings) });
      const rowsOf = async (target: string): Promise<readonly string[]> => {
        const reply = await sendRequest(url, `/v1/views/${target}`, { key: KEYS.tier3 });
        return [
          String(reply.status),
          ...reply.text
            .replace(/^\[|\]$/g, "")
            .split(/,?\r?\n/)
            .sort(),
        ];
      };
      const different = [];
      for (const [i, select] of VIEWS.entries())
        for (const format of settings === PROFILES["other formats"] ? ["json", "csv"] : ["json"]) {
          const [view, copy] = [
            await rowsOf(`v${String(i)}.${format}`),
            await rowsOf(`copy${String(i)}.${format}`),
          ];
          if (view[0] !== "200" || view.join("\n") !== copy.join("\n"))
            different.push({ select, view, copy });
        }
      expect(different).toEqual([]);
    },
  );
});
