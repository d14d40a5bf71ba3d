import { describe, expect, it } from "vitest";
import { unqualifiedNames } from "../support/unqualified-names.js";

describe("the reader of statements", () => {
  it.each([
    ["SELECT a = 1", ["operator ="]],
    ["SELECT s.a FROM t WHERE lower(a) OPERATOR(pg_catalog.=) 'x'", ["lower()"]],
    ["SELECT a::text, b::pg_catalog.text[], c::int", ["type text"]],
    ["SELECT CAST(a AS text), CAST(b AS pg_catalog.text)", ["type text"]],
    ["SELECT date '2026-01-01', interval '1 day'", ["type date"]],
    [
      "SELECT a IN (1, 2), b IS NOT DISTINCT FROM c, nullif(a, b), a IS DISTINCT FROM NULL",
      ["in", "is distinct from", "nullif"],
    ],
    ["SELECT CASE a WHEN 1 THEN 2 END, CASE WHEN a THEN -1 END", ["case"]],
    ["SELECT a BETWEEN 1 AND 2, a ILIKE 'x', a COLLATE \"C\"", ["between", "ilike", 'collate "C"']],
    ["SELECT * FROM a JOIN b USING (id)", ["using"]],
    ["SELECT count(*) FROM pg_catalog.unnest($1::pg_catalog.text[]) AS v(a)", ["count()"]],
    ["SELECT * FROM pg_catalog.json_to_recordset($1) AS r(day date, n pg_catalog.int8)", ["type date"]],
    ["DO $$ BEGIN PERFORM set_config('a', 'b', true); END $$", ["set_config()"]],
    ["SELECT a -- = 1\n, 'b = c' /* = */, E'it\\'s = ', \"d = e\", $x$ f $x$", []],
    [
      "WITH n (a) AS (SELECT 1) INSERT INTO s.t AS known (a, b) SELECT a, -1 FROM n ON CONFLICT (a) DO UPDATE SET a = known.b",
      [],
    ],
    ["SET a = 'b'; SELECT x = y", ["operator ="]],
    [
      "SELECT pg_catalog.sum(a) FILTER (WHERE b) OVER (PARTITION BY c ORDER BY d), EXISTS (SELECT 1), ARRAY(SELECT 2)",
      [],
    ],
  ] as const)("finds what the path decides: %s", (statement, found) => {
    expect(unqualifiedNames(statement)).toEqual(found);
  });
});
