import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { RowFormat, Selection, TextFormat } from "../../runtime/model/query.js";
import { openPostgres } from "../../runtime/warehouse/postgres/engine.js";
import { framedRows, ROW_SEPARATORS, type Rows } from "../../runtime/warehouse/warehouse.js";
import { atEnd } from "../support/at-end.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { queryContext } from "../support/query-context.js";

/** SQL expressions, and the value in the format. */
const CSV = [
  ["null::text", ""],
  ["''::text", '""'],
  ["'plain'::text", '"plain"'],
  [`'say "hi", twice' || E'\\r\\n' || 'please'`, '"say ""hi"", twice\r\nplease"'],
  ["18446744073709551615::numeric", "18446744073709551615"],
  ["'NaN'::float8", ""],
  ["0.1::float8", "0.1"],
  ["true", "true"],
  ["date '2024-02-29'", "2024-02-29"],
  ["timestamptz '2024-02-29 12:00:00.5+02'", "2024-02-29T10:00:00.5Z"],
  ["ARRAY['a', 'b\"c']", String.raw`"[""a"",""b\""c""]"`],
  [`'{"a": [1, 2]}'::jsonb`, '"{""a"": [1, 2]}"'],
  [`' {"a": 1} '::json`, '"{""a"": 1}"'],
  [`'null'::json`, ""],
  [`'"\\u0000"'::json`, String.raw`"""\u0000"""`],
  ["interval '1 day'", '"1 day"'],
  ["'ab'::char(4)", '"ab  "'],
  ["'10.0.0.1'::inet", '"10.0.0.1"'],
] as const;

const FORMULAS = [
  ["'=1+1'::text", `"'=1+1"`],
  ["'a=1'::text", '"a=1"'],
  ["-1", "-1"],
  [`'"+x"'::json`, `"'+x"`],
] as const;

const JSON_VALUES = [
  ["date '0001-01-01'", '"0001-01-01"'],
  ["date '9999-12-31'", '"9999-12-31"'],
  ["date '10000-01-01'", '"+010000-01-01"'],
  ["date '5874897-12-31'", '"+5874897-12-31"'],
  ["date '0001-12-31 BC'", '"0000-12-31"'],
  ["date '0044-03-15 BC'", '"-000043-03-15"'],
  ["date '4713-01-01 BC'", '"-004712-01-01"'],
  ["date '-infinity'", "null"],
  ["timestamp 'infinity'", "null"],
  ["timestamp '12026-01-01 00:00:00'", '"+012026-01-01T00:00:00Z"'],
  ["timestamp '0044-03-15 12:00:00.5 BC'", '"-000043-03-15T12:00:00.5Z"'],
  ["timestamptz '-infinity'", "null"],
  ["timestamptz '0044-03-15 12:00:00.5+00 BC'", '"-000043-03-15T12:00:00.5Z"'],
  ["timestamptz '0001-01-01 00:00:00+01'", '"0000-12-31T23:00:00Z"'],
  ["timestamptz '294276-12-31 23:59:59.999999+00'", '"+294276-12-31T23:59:59.999999Z"'],
  ["timestamptz '2026-02-28 23:59:59.5-07'", '"2026-03-01T06:59:59.5Z"'],
  ["'-Infinity'::float4", "null"],
  ["'NaN'::numeric", "null"],
  ["-1.5e-300::float8", "-1.5e-300"],
  ["123456789012345678901234567890.000", "123456789012345678901234567890.000"],
] as const;

const MARKS = [
  [String.raw`E'a\x1fb'::text`, "a\u001fb"],
  [String.raw`E'\x1e'::text`, "\u001e"],
  [String.raw`E'\x1f'::text`, "\u001f"],
  [String.raw`E'\x1e\x1f"'::text`, '\u001e\u001f"'],
] as const;

/** Line breaks between the tokens of a document. */
const BROKEN = `E'{\\r\\n "a":\\t"x\\\\n"}'::json`;

/** A relation for each of them. */
const EXPRESSIONS: readonly string[] = [...CSV, ...FORMULAS, ...JSON_VALUES, ...MARKS, [BROKEN]].map(
  ([sql]) => sql,
);

const schema = await ownSchema(
  EXPRESSIONS.map((sql, i) => `CREATE VIEW @.one_${String(i)} AS SELECT ${sql} AS v`).join("; "),
);
const warehouse = openPostgres({
  url: databaseUrl,
  statementTimeoutMs: 60_000,
  warn: (error) => {
    throw error;
  },
});
atEnd(() => warehouse.close());

/** The limits choose how a page is read: rows, one text per column, and a stream. */
const WAYS = { rows: 10, columns: 1000, stream: 200_000 } as const;

async function read(
  name: string,
  format: RowFormat,
  { limit = 1000, offset = 0, sort = [] }: { limit?: number; offset?: number; sort?: Selection["sort"] } = {},
): Promise<string> {
  const page = { limit, offset, lookAhead: true };
  const selection: Selection = { conditions: [], sort, page };
  const relation = [schema, name] as const;
  return textOf(await warehouse.rows({ relation, selection, format, timeoutMs: 0 }, queryContext()));
}

async function textOf(rows: Rows): Promise<string> {
  if (rows.kind === "buffered") return framedRows(rows.text).toString();
  const chunks: string[] = [];
  for (;;) {
    const { done, value } = await rows.chunks.next();
    if (done === true) return chunks.join("");
    chunks.push(value.toString());
  }
}

function valueOf(expression: string, format: RowFormat, limit: number): Promise<string> {
  return read(`one_${String(EXPRESSIONS.indexOf(expression))}`, format, { limit });
}

describe.each([
  ["rows", WAYS.rows],
  ["one text per column", WAYS.columns],
])("a row read as %s", (_, limit) => {
  it.each(CSV)("of CSV has %s as RFC 4180 asks for it", async (expression, field) => {
    expect(await valueOf(expression, "csv", limit)).toBe(field);
  });

  it.each(FORMULAS)("of CSV for spreadsheets has %s as %s, not as a formula", async (expression, field) => {
    expect(await valueOf(expression, "spreadsheet", limit)).toBe(field);
  });

  it("of NDJSON is one line, whatever white space a column of type json holds", async () => {
    const line = await valueOf(BROKEN, "ndjson", limit);
    expect(line).not.toMatch(/[\r\n]/);
    expect(JSON.parse(line)).toEqual({ v: { a: "x\n" } });
  });

  it.each(JSON_VALUES)("of JSON has %s as %s", async (expression, json) => {
    expect(await valueOf(expression, "json", limit)).toBe(`{"v":${json}}`);
  });

  it.each(MARKS)("has the separator and the mark of null as values: %s", async (expression, value) => {
    const json = await valueOf(expression, "json", limit);
    expect(json).toBe(`{"v":${JSON.stringify(value)}}`);
    expect(JSON.parse(json)).toEqual({ v: value });
  });
});

/** PostgreSQL's own JSON for the values of the API: NaN and infinities are null, times in UTC with `Z`. */
const TYPES: Readonly<Record<string, readonly [type: string, random: string, json?: string]>> = {
  small: ["smallint", "(random() * 65535 - 32768)::int"],
  whole: ["bigint", "((random() - 0.5) * 1.8e19)::numeric::bigint"],
  exact: [
    "numeric",
    "pick(i, '{NaN,Infinity,-Infinity,0.10,-1e40,1e-40}'::numeric[], (random() * 1e12)::numeric)",
    "nullif(nullif(nullif(V, 'NaN'), 'Infinity'), '-Infinity')",
  ],
  single: [
    "real",
    "pick(i, '{NaN,Infinity,-0,1e38}'::real[], random()::real)",
    "CASE WHEN V - V = 0 THEN V END",
  ],
  double: [
    "float8",
    "pick(i, '{NaN,-Infinity,-0,1e300,5e-324}'::float8[], random() * 1e6)",
    "CASE WHEN V - V = 0 THEN V END",
  ],
  flag: ["boolean", "random() < 0.5"],
  day: ["date", "date '1000-01-01' + (random() * 3000000)::int"],
  local: [
    "timestamp",
    "timestamp '1000-01-01' + random() * interval '8000 years'",
    "replace(V::text, ' ', 'T') || 'Z'",
  ],
  at: [
    "timestamptz",
    "timestamptz '1000-01-01' + random() * interval '8000 years'",
    "replace(replace(V::text, ' ', 'T'), '+00', 'Z')",
  ],
  code: ["uuid", "md5(random()::text)::uuid"],
  label: [
    "text",
    String.raw`pick(i, ARRAY['', ' ', 'null', '"', '\', E'\n', E'\t\x01\x7f', 'é', '😀', E'\u2028', '\u0041', E'a\x1fb', E'\x1e'], md5(i::text))`,
  ],
  kind: ["varchar(40)", "md5(random()::text)"],
  padded: ["char(4)", "chr(97 + i % 26)"],
  tags: ["text[]", `pick(i, ARRAY['{}', '{a,NULL,"b\\"c"}', '{{a,b},{c,d}}'], '{x}')::text[]`],
  doc: ["jsonb", `jsonb_build_object('i', i, 't', E'a"\\n')`],
  raw: ["json", `pick(i, ARRAY['null', '[1, 2]', '"a"', '1.10'], '{"b":1,"a":{}}')::json`],
  span: ["interval", "random() * interval '400 days'"],
  host: ["inet", "('10.0.0.0'::inet + i)"],
  bytes: ["bytea", "decode(md5(i::text), 'hex')"],
};
const NAMES = Object.keys(TYPES);

const RANDOM_ROWS = 100_000;

/** Each column is null in some rows. One in 7 values is a special one. `clean` is without the separator. */
async function createRandomRows(): Promise<void> {
  await query(`
    SET search_path = "${schema}";
    SELECT setseed(0.25);
    CREATE FUNCTION pick(i int, specials anyarray, value anyelement) RETURNS anyelement LANGUAGE sql VOLATILE
      AS $$ SELECT CASE WHEN i % 7 = 0 THEN specials[1 + i / 7 % array_length(specials, 1)] ELSE value END $$;
    CREATE TABLE random AS SELECT i AS id, ${NAMES.map((name, n) => {
      const [type, random] = TYPES[name] ?? [];
      return `CASE WHEN i % ${String(n + 5)} > 0 THEN (${String(random)})::${String(type)} END AS "${name}"`;
    }).join(", ")} FROM generate_series(1, ${String(RANDOM_ROWS)}) i;
    CREATE UNIQUE INDEX ON random (id);
    CREATE VIEW first AS SELECT * FROM random WHERE id <= 1100;
    CREATE VIEW clean AS SELECT id, ${NAMES.map((name) => (name === "label" ? String.raw`translate(label, E'\x1e\x1f', '') AS label` : `"${name}"`)).join(", ")} FROM random;`);
}

/** What psql prints for these rows. */
function fromPsql(name: string, from: number, to: number): string {
  const values = NAMES.map((column) => {
    const json = (TYPES[column]?.[2] ?? "V").replaceAll("V", `"${column}"`);
    return `${json} AS "${column}"`;
  });
  const sql = `SELECT row_to_json(t) FROM (SELECT id, ${values.join(", ")} FROM "${schema}".${name} WHERE id > ${String(from)} AND id <= ${String(to)} ORDER BY id) t`;
  const text = execFileSync("psql", ["-X", "-A", "-t", "-d", databaseUrl, "-c", sql], {
    encoding: "utf8",
    maxBuffer: 1 << 30,
    env: { ...process.env, PGTZ: "UTC", PGDATESTYLE: "ISO" },
  }).trimEnd();
  return text.replace(EXPONENTIAL, (_, name: string, digits: string) => name + withoutPlus(digits));
}

/** A float as both engines have it. */
const EXPONENTIAL = /("(?:single|double)":)([-\d.]+e[-+]\d+)/g;
const withoutPlus = (digits: string): string => String(Number(digits)).replace("e+", "e");

describe("random rows of every type", async () => {
  await createRandomRows();
  const sort = [["id", "ASC"]] as const;

  it(`are those of psql, all ${String(RANDOM_ROWS)} of them in a stream`, async () => {
    const text = await read("random", "ndjson", { limit: WAYS.stream, sort });
    expect(text === fromPsql("random", 0, RANDOM_ROWS)).toBe(true);
  }, 60_000);

  it("are those of psql in pages of one text, and of rows where a value has the separator", async () => {
    for (let offset = 0; offset < RANDOM_ROWS; offset += 25_000) {
      for (const name of ["clean", "random"]) {
        const expected = fromPsql(name, offset, offset + 1000);
        expect(await read(name, "ndjson", { limit: WAYS.columns, offset, sort })).toBe(expected);
        const rows = expected.split("\n");
        expect(await read(name, "json", { limit: WAYS.columns, offset, sort })).toBe(rows.join(","));
        expect(await read(name, "json", { limit: WAYS.rows, offset, sort })).toBe(
          rows.slice(0, 10).join(","),
        );
      }
    }
  }, 60_000);

  it.each(Object.keys(ROW_SEPARATORS) as TextFormat[])(
    "are the same in each way of reading: %s",
    async (format) => {
      const separator = ROW_SEPARATORS[format];
      const limit = WAYS.rows;
      const pages: string[] = [];
      for (let offset = 0; offset < 200; offset += limit)
        pages.push(await read("first", format, { limit, offset, sort }));
      const rows = pages.join(separator);
      expect(await read("first", format, { limit: 200, sort })).toBe(rows);
      expect((await read("first", format, { limit: WAYS.stream, sort })).startsWith(rows + separator)).toBe(
        true,
      );
    },
  );
});
