import fc from "fast-check";
import pg from "pg";
import { afterAll, expect, it } from "vitest";
import { databaseUrl } from "../../support/database.js";
import { byEngine, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";
import {
  COLUMNS,
  evaluate,
  expressions,
  randomRows,
  sqlOf,
  type TestExpression,
  type TestRow,
  textOf,
} from "./filter-expressions.js";

/** `FILTER_EXPRESSIONS=100000` for the full number, and a fifth of it with own rows; `FILTER_SEED` for others. */
const COUNT = Number(process.env["FILTER_EXPRESSIONS"] ?? 150);
const SEED = Number(process.env["FILTER_SEED"] ?? 73);
const DEPTH = 6;

const ROWS = randomRows(80, 1);

const TYPES = byEngine({
  postgres: {
    ...{ id: "integer", org: "text", whole: "bigint", amount: "numeric(20,4)", ratio: "double precision" },
    ...{ day: "date", at: "timestamptz", label: "text", flag: "boolean", code: "uuid" },
  },
  clickhouse: {
    ...{ id: "Int32", org: "Nullable(String)", whole: "Nullable(Int64)", amount: "Nullable(Decimal(20, 4))" },
    ...{ ratio: "Nullable(Float64)", day: "Nullable(Date32)", at: "Nullable(DateTime64(3, 'UTC'))" },
    ...{ label: "Nullable(String)", flag: "Nullable(Bool)", code: "Nullable(UUID)" },
  },
});

const NAMES = ["id", "org", ...COLUMNS] as const;
const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
const valueOf = (row: TestRow, name: (typeof NAMES)[number], quote: (text: string) => string): string => {
  const value = row[name];
  return value === null ? "NULL" : typeof value === "number" ? String(value) : quote(value);
};
const values = (quote: (text: string) => string): string =>
  ROWS.map((row) => `(${NAMES.map((name) => valueOf(row, name, quote)).join(", ")})`).join(", ");
const definition = Object.entries(TYPES)
  .map(
    ([name, type]) =>
      `${name} ${type}${name === "label" ? byEngine({ postgres: ' COLLATE "C"', clickhouse: "" }) : ""}`,
  )
  .join(", ");
const schema = await ownTables({
  postgres: `CREATE TABLE @.filtered (${definition}); INSERT INTO @.filtered VALUES ${values((text) => `E'${escaped(text)}'`)}`,
  clickhouse: [
    `CREATE TABLE @.filtered (${definition}) ORDER BY id`,
    `INSERT INTO @.filtered VALUES ${values((text) => `'${escaped(text.replace(/(\d)T(\d)/, "$1 $2").replace(/(\d)Z$/, "$1"))}'`)}`,
  ],
});

const model = (name: string, rows?: object) => ({
  name,
  schema,
  alias: "filtered",
  columns: TYPES,
  api: { methods: ["GET", "POST"], allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }] },
  routewright: { filters: COLUMNS, filter: true, ...(rows && { rows }) },
});
const OWN = { column: "org", equals: "org" };
const url = await serveManifest(manifestOf([model("all"), model("own", OWN)]), {
  API_KEYS: JSON.stringify({
    sk_live_all: { tier: "tier3", user: "all" },
    sk_live_acme: { tier: "tier3", user: "someone", org: "acme" },
  }),
  RATE_LIMITS: "tier3=1000000000",
});

/** The rows that a filter selects, by GET and by POST in turn. */
async function served(
  path: string,
  key: string,
  filter: string,
  isGet: boolean,
): Promise<readonly number[] | string> {
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const response = isGet
    ? await fetch(`${url}${path}?${new URLSearchParams({ filter }).toString()}`, { headers })
    : await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify({ filter }) });
  const text = await response.text();
  // Under load the service refuses some, with how long to wait.
  if (response.status === 503) {
    await new Promise((resolve) =>
      setTimeout(resolve, Number(response.headers.get("Retry-After") ?? 1) * 1000),
    );
    return served(path, key, filter, isGet);
  }
  if (response.status !== 200) return `${String(response.status)} ${text}`;
  return (JSON.parse(text) as readonly { id: number; org: string | null }[]).map(({ id }) => id);
}

const idsWhere = (test: (row: TestRow) => boolean): readonly number[] =>
  ROWS.filter(test).map(({ id }) => id);

interface Difference {
  readonly filter: string;
  readonly expected: readonly number[];
  readonly found: readonly number[] | string;
}

/** Compares expressions, some at a time; those whose text a request cannot have are left out. */
async function differences(
  count: number,
  seed: number,
  compare: (expression: TestExpression, text: string, i: number) => Promise<readonly Difference[]>,
): Promise<{ readonly compared: number; readonly found: readonly Difference[] }> {
  const found: Difference[] = [];
  let compared = 0;
  for (let begin = 0; begin < count; begin += 1000) {
    const numRuns = Math.min(1000, count - begin);
    const all = fc.sample(expressions(DEPTH), { numRuns, seed: seed + begin });
    const fitting = all.map((each) => [each, textOf(each)] as const).filter(([, text]) => fits(text));
    compared += fitting.length;
    for (let i = 0; i < fitting.length; i += 8) {
      const each = fitting.slice(i, i + 8).map(([expression, text], j) => compare(expression, text, i + j));
      found.push(...(await Promise.all(each)).flat());
    }
    if (found.length > 0) console.log(JSON.stringify(found[0]));
    if (found.length > 10) break;
  }
  return { compared, found };
}

/** An address holds 16 KiB, and a value has three characters where it is not of ASCII. */
const fits = (text: string): boolean => text.length < 4000 && (text.match(/ /g)?.length ?? 0) < 1000;

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
afterAll(() => pool.end());

async function inPostgres(expression: TestExpression): Promise<readonly number[]> {
  const text = `SELECT id FROM "${schema}".filtered WHERE ${sqlOf(expression)} ORDER BY id`;
  return (await pool.query<{ id: number }>(text)).rows.map(({ id }) => id);
}
const isPostgres = byEngine({ postgres: true, clickhouse: false });

it(`selects the rows of ${String(COUNT)} random expressions, as an evaluator over the rows does, and SQL`, async () => {
  const { compared, found } = await differences(COUNT, SEED, async (expression, filter, i) => {
    const rows = await served("/v1/shop/all", "sk_live_all", filter, i % 2 === 0);
    const expected = idsWhere((row) => evaluate(expression, row) === true);
    const bySql = isPostgres ? await inPostgres(expression) : expected;
    return [
      ...(same(rows, expected) ? [] : [{ filter, expected, found: rows }]),
      ...(same(bySql, expected) ? [] : [{ filter: sqlOf(expression), expected, found: bySql }]),
    ];
  });
  console.log(`${String(compared)} expressions: ${String(found.length)} differ`);
  expect(found.slice(0, 3).map((each) => JSON.stringify(each))).toEqual([]);
  expect(compared).toBeGreaterThan(COUNT / 2);
}, 0);

it("never selects a row of another organization", async () => {
  const { compared, found } = await differences(
    Math.ceil(COUNT / 5),
    SEED + 1e6,
    async (expression, filter, i) => {
      const rows = await served("/v1/shop/own", "sk_live_acme", filter, i % 2 === 0);
      const expected = idsWhere((row) => row.org === "acme" && evaluate(expression, row) === true);
      return same(rows, expected) ? [] : [{ filter, expected, found: rows }];
    },
  );
  console.log(`${String(compared)} expressions with own rows: ${String(found.length)} differ`);
  expect(found.slice(0, 3).map((each) => JSON.stringify(each))).toEqual([]);
}, 0);
