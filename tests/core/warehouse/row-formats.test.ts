import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { RowFormat, Selection, TextFormat } from "../../../runtime/core/model/query.js";
import { openPostgres } from "../../../runtime/postgres/engine.js";
import { ROW_SEPARATORS, type Rows } from "../../../runtime/core/warehouse/warehouse.js";
import { atEnd } from "../../support/at-end.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { needs, programPath } from "../../support/needs.js";
import { queryContext } from "../../support/query-context.js";

/** SQL expressions, and the value in the format. */
const CSV = [
  ["null::text", '""'],
  ["''::text", '""'],
  ["'plain'::text", '"plain"'],
  [`'say "hi", twice' || E'\\r\\n' || 'please'`, '"say ""hi"", twice\r\nplease"'],
  ["18446744073709551615::numeric", "18446744073709551615"],
  ["'NaN'::float8", '""'],
  ["0.1::float8", "0.1"],
  ["true", "true"],
  ["date '2024-02-29'", "2024-02-29"],
  ["timestamptz '2024-02-29 12:00:00.5+02'", "2024-02-29T10:00:00.5Z"],
  ["ARRAY['a', 'b\"c']", String.raw`"[""a"",""b\""c""]"`],
  [`'{"a": [1, 2]}'::jsonb`, '"{""a"": [1, 2]}"'],
  [`' {"a": 1} '::json`, '"{""a"": 1}"'],
  [`'null'::json`, '""'],
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

/** Line breaks between the tokens of a document. */
const BROKEN = `E'{\\r\\n "a":\\t"x\\\\n"}'::json`;

/** A relation for each of them. */
const EXPRESSIONS: readonly string[] = [...CSV, ...FORMULAS, [BROKEN]].map(([sql]) => sql);

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

async function read(
  name: string,
  format: RowFormat,
  { limit = 10, offset = 0, sort = [] }: { limit?: number; offset?: number; sort?: Selection["sort"] } = {},
): Promise<string> {
  const page = { limit, offset, lookAhead: true };
  const selection: Selection = { conditions: [], sort, page };
  const relation = [schema, name] as const;
  return textOf(await warehouse.rows({ relation, selection, format, timeoutMs: 0 }, queryContext()));
}

async function textOf(rows: Rows): Promise<string> {
  if (rows.kind === "buffered") return Buffer.concat(rows.parts).toString();
  const chunks: string[] = [];
  for (;;) {
    const { done, value } = await rows.chunks.next();
    if (done === true) return chunks.join("");
    chunks.push(value.toString());
  }
}

const valueOf = (expression: string, format: RowFormat): Promise<string> =>
  read(`one_${String(EXPRESSIONS.indexOf(expression))}`, format);

it.each(CSV)("CSV has %s as RFC 4180 asks for it", async (expression, field) => {
  expect(await valueOf(expression, "csv")).toBe(field);
});

it.each(FORMULAS)("CSV for spreadsheets has %s as %s, not as a formula", async (expression, field) => {
  expect(await valueOf(expression, "spreadsheet")).toBe(field);
});

it("a row of NDJSON is one line, whatever white space a column of type json holds", async () => {
  const line = await valueOf(BROKEN, "ndjson");
  expect(line).not.toMatch(/[\r\n]/);
  expect(JSON.parse(line)).toEqual({ v: { a: "x\n" } });
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

/** Each column is null in some rows. One in 7 values is a special one. */
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
    CREATE UNIQUE INDEX ON random (id)`);
}

/** What psql prints for these rows. */
function fromPsql(name: string, from: number, to: number): string {
  const values = NAMES.map((column) => {
    const json = (TYPES[column]?.[2] ?? "V").replaceAll("V", `"${column}"`);
    return `${json} AS "${column}"`;
  });
  const sql = `SELECT row_to_json(t) FROM (SELECT id, ${values.join(", ")} FROM "${schema}".${name} WHERE id > ${String(from)} AND id <= ${String(to)} ORDER BY id) t`;
  const text = execFileSync(programPath("psql"), ["-X", "-A", "-t", "-d", databaseUrl, "-c", sql], {
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

  it.skipIf(!needs("psql"))(
    `are those of psql, all ${String(RANDOM_ROWS)} of them in a stream`,
    async () => {
      const text = await read("random", "ndjson", { limit: 2 * RANDOM_ROWS, sort });
      const lines = text.split("\n");
      const expected = fromPsql("random", 0, RANDOM_ROWS).split("\n");
      const different = lines.findIndex((line, i) => line !== expected[i]);
      expect([lines.length, lines[different]]).toEqual([expected.length, expected[different]]);
    },
    60_000,
  );

  it.each(Object.keys(ROW_SEPARATORS) as TextFormat[])(
    "are the same in pages and in a stream: %s",
    async (format) => {
      const separator = ROW_SEPARATORS[format];
      const pages: string[] = [];
      for (let offset = 0; offset < 200; offset += 10)
        pages.push(await read("random", format, { offset, sort }));
      const rows = pages.join(separator);
      expect(await read("random", format, { limit: 200, sort })).toBe(rows);
      const stream = await read("random", format, { limit: 2 * RANDOM_ROWS, sort });
      expect(stream.startsWith(rows + separator)).toBe(true);
    },
  );
});
