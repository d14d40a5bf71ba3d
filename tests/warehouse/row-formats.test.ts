import { describe, expect, it } from "vitest";
import { postgresDialect } from "../../runtime/warehouse/postgres/postgres-select.js";
import type { Selection } from "../../runtime/model/query.js";
import { ownSchema, query } from "../support/database.js";

const schema = await ownSchema("");
const NOTHING: Selection = { conditions: [], sort: [], page: null };

describe("a row", () => {
  const row = async (expression: string, type: string, format: "csv" | "ndjson"): Promise<unknown> => {
    await query(
      `DROP TABLE IF EXISTS "${schema}".one; CREATE TABLE "${schema}".one AS SELECT ${expression} AS v`,
    );
    const { text } = postgresDialect.selectEach([schema, "one"], [{ name: "v", type }], NOTHING, format);
    const [found] = await query(`SET timezone = 'UTC'; SET datestyle = 'ISO'`).then(() => query(text));
    return Object.values(found ?? {})[0];
  };

  it.each([
    ["null::text", "text", ""],
    ["''", "text", '""'],
    ["'plain'", "text", '"plain"'],
    [`'say "hi", twice' || E'\\r\\n' || 'please'`, "text", '"say ""hi"", twice\r\nplease"'],
    ["18446744073709551615::numeric", "numeric", "18446744073709551615"],
    ["'NaN'::float8", "float8", ""],
    ["0.1::float8", "float8", "0.1"],
    ["true", "bool", "true"],
    ["date '2024-02-29'", "date", "2024-02-29"],
    ["timestamptz '2024-02-29 12:00:00.5+02'", "timestamptz", "2024-02-29T10:00:00.5Z"],
    ["ARRAY['a', 'b\"c']", "_text", String.raw`"[""a"",""b\""c""]"`],
    [`'{"a": [1, 2]}'::jsonb`, "jsonb", '"{""a"": [1, 2]}"'],
    ["interval '1 day'", "interval", '"1 day"'],
  ])("of CSV has %s as RFC 4180 asks for it", async (expression, type, field) => {
    expect(await row(expression, type, "csv")).toBe(field);
  });

  it("of NDJSON is one line, whatever white space a column of type json holds", async () => {
    const line = await row(`E'{\\r\\n "a":\\t"x\\\\n"}'::json`, "json", "ndjson");
    expect(line).not.toMatch(/[\r\n]/);
    expect(JSON.parse(String(line))).toEqual({ v: { a: "x\n" } });
  });
});
