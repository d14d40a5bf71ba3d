/** Each number in the chart of each endpoint, beside what SQL says of all rows. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { groupedBy } from "../../../runtime/core/model/grouped.js";
import { clickhouse, ownDatabase } from "../../support/clickhouse.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { engine } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { KEYS, serveManifest, startFolder } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { type DrawnPoint, drawnPoints, isWritten, type SaidChart, saidChart } from "./drawn-chart.js";
import { visit } from "./page.js";
import { type RandomTable, randomTables } from "./random-tables.js";

interface Described {
  readonly path: string;
  readonly relation: readonly [schema: string, name: string];
  readonly columns: readonly { readonly name: string; readonly type: string | null }[];
  readonly allowUnfiltered?: boolean;
  readonly parameters?: readonly {
    readonly name: string;
    readonly column: string;
    readonly operator: string;
  }[];
}

const GENERATED = fileURLToPath(new URL("../../../generated", import.meta.url));
const STARTER = (
  JSON.parse(readFileSync(`${GENERATED}/catalogue.json`, "utf8")) as { endpoints: readonly Described[] }
).endpoints;

/** `CHARTED_ENDPOINTS=475` draws as many endpoints of random shapes as make 503 with the starter's. */
const RANDOM = Number(process.env["CHARTED_ENDPOINTS"] ?? 8);

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A request that the endpoint answers: with its first filter, where it requires one, and the same in SQL. */
async function filterOf({ relation, allowUnfiltered, parameters = [] }: Described) {
  const filter = parameters.find(({ operator }) => operator !== "LIKE");
  if (allowUnfiltered !== false || filter === undefined) return { search: "", where: "true" };
  const column = quoted(filter.column);
  const [row] = await query(
    `SELECT min(${column})::text AS value FROM ${relation.map(quoted).join(".")} WHERE ${column} IS NOT NULL`,
  );
  const value = String(row?.["value"]);
  const operator = filter.operator === "IN" ? "=" : filter.operator;
  return {
    search: `&p.${filter.name}=${encodeURIComponent(value)}`,
    where: `${column} ${operator} ${literal(value)}`,
  };
}

interface Sum {
  readonly key: string;
  readonly series: string;
  readonly value: number | null;
}

/** The points as SQL has them, over all rows. */
async function sumsOf({ relation, columns }: Described, where: string, chart: SaidChart) {
  const types = new Map(columns.map(({ name, type }) => [name, type ?? ""]));
  const isTime = /^(date|timestamp)/.test(types.get(chart.x) ?? "");
  const x = quoted(chart.x);
  const at = chart.grain === null ? x : `date_trunc('${chart.grain}', ${x})`;
  const key = isTime ? `to_char(${at}, 'YYYY-MM-DD"T"HH24:MI:SS')` : `${at}::text`;
  const conditions = [
    where,
    `${x} IS NOT NULL`,
    ...(chart.only === null ? [] : [`${quoted(chart.only.column)}::text = ${literal(chart.only.value)}`]),
    ...chart.totals.map(
      ([name, values]) => `coalesce(${quoted(name)}, '') NOT IN (${values.map(literal).join(", ")})`,
    ),
  ];
  const combine = chart.aggregate === "average" ? "avg" : "sum";
  const series = chart.series === null ? null : `coalesce(${quoted(chart.series)}::text, '(none)')`;
  const all = chart.measures.map(
    (name) =>
      `SELECT ${key} AS key, ${series ?? literal(name)} AS series, ${combine}(${quoted(name)})::text AS value,
       count(*) AS rows FROM ${relation.map(quoted).join(".")} WHERE ${conditions.join(" AND ")} GROUP BY 1, 2`,
  );
  const rows = await query(`SET TIME ZONE 'UTC'; ${all.join(" UNION ALL ")}`);
  return rows.map((row): Sum & { readonly rows: number } => ({
    key: isTime ? String(Date.parse(`${String(row["key"])}Z`)) : String(row["key"]),
    series: String(row["series"]),
    value: row["value"] === null ? null : Number(row["value"]),
    rows: Number(row["rows"]),
  }));
}

const instant = (label: string): string => {
  const text = label.replace(" ", "T");
  return String(Date.parse(text.includes("T") && !/Z|[+-]\d\d:?\d\d$/.test(text) ? `${text}Z` : text));
};

/** What is wrong with the numbers of a picture; nothing where all are those of SQL. */
function differences(chart: SaidChart, points: readonly DrawnPoint[], sums: readonly Sum[], isTime: boolean) {
  const keyOf = ({ label }: DrawnPoint): string => (isTime ? instant(label) : label);
  const isOther = ({ label }: DrawnPoint): boolean => /^other \(\d+\)$/.test(label);
  const keys = new Set(points.filter((point) => !isOther(point)).map(keyOf));
  const named = new Set(points.flatMap(({ values }) => values.map(([series]) => series)));
  const byKey = groupedBy(sums, ({ key }) => key);
  const ofOthers = sums.filter(({ key }) => !keys.has(key));
  const exact = (point: DrawnPoint, series: string): number | null => {
    const ofPoint = isOther(point) ? ofOthers : (byKey.get(keyOf(point)) ?? []);
    const found = ofPoint.filter(
      (sum) => sum.series === series || (series === "other" && !named.has(sum.series)),
    );
    const values = found.flatMap(({ value }) => value ?? []);
    return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
  };
  const wrong = points.flatMap((point) =>
    [...named].flatMap((series) => {
      const written = point.values.find(([name]) => name === series)?.[1];
      const value = exact(point, series);
      const isSame = written === undefined ? value === null : value !== null && isWritten(written, value);
      return isSame
        ? []
        : [`${point.label} ${series}: ${written ?? "nothing"}, by SQL ${String(value ?? "nothing")}`];
    }),
  );
  return [...wrong, ...missing(chart, { keys, named, points, sums })];
}

interface Drawn {
  readonly keys: ReadonlySet<string>;
  readonly named: ReadonlySet<string>;
  readonly points: readonly DrawnPoint[];
  readonly sums: readonly Sum[];
}

/** Points and series that SQL has and the picture neither draws nor says that it leaves out. */
function missing(chart: SaidChart, { keys, named, points, sums }: Drawn): readonly string[] {
  if (/Only the/.test(chart.notes)) return [];
  const hasRest = points.some(({ label }) => /^other \(/.test(label));
  return sums
    .filter(({ value }) => value !== null)
    .filter(({ key, series }) => (!hasRest && !keys.has(key)) || (!named.has("other") && !named.has(series)))
    .map(({ key, series }) => `not drawn: ${key} ${series}`);
}

interface Compared {
  readonly kind: "line" | "bar" | "figures" | "none";
  readonly wrong: readonly string[];
}

/** Opens the chart of an endpoint and compares it; what it is. */
async function compared(page: Page, address: string, endpoint: Described): Promise<Compared> {
  const { search, where } = await filterOf(endpoint);
  await page.goto(`${address}/explore?view=chart&endpoint=${encodeURIComponent(endpoint.path)}${search}`);
  // What stands there at the end: a picture, why there is none, or a failure. "Running" and "Loading" are notes too.
  const image = page.locator(".answer .plot .image");
  const failure = page.locator(".answer .problem");
  const none = page.locator(".answer .chart > .note").or(page.getByText("A chart needs rows with a number"));
  const end = image.or(none).or(failure).first();
  await end.waitFor({ timeout: 180_000 });
  if ((await failure.count()) > 0) return { kind: "none", wrong: [await failure.innerText()] };
  const label = await end.getAttribute("aria-label");
  if (label === null) return { kind: "none", wrong: [] };
  const chart = saidChart(label);
  if (chart === null) return figuresCompared(label, endpoint, where);
  const sums = await sumsOf(endpoint, where, chart);
  const type = endpoint.columns.find(({ name }) => name === chart.x)?.type ?? "";
  const points = await drawnPoints(page);
  // A point of several rows says that it is one.
  const unsaid = chart.aggregate === null ? sums.filter(({ rows }) => rows > 1).map(({ key }) => key) : [];
  const wrong = [...differences(chart, points, sums, /^(date|timestamp)/.test(type)), ...unsaid];
  return {
    kind: chart.kind,
    wrong: points.length === 0 ? [label] : wrong.map((each) => `${each} in ${label}`),
  };
}

/** Numbers of the one row, after the names of their columns. */
async function figuresCompared(
  label: string,
  { relation, columns }: Described,
  where: string,
): Promise<Compared> {
  const [row = {}] = await query(`SELECT * FROM ${relation.map(quoted).join(".")} WHERE ${where}`);
  const numbers = columns.filter(({ type }) => /^(double|numeric|bigint|int|small|real)/.test(type ?? ""));
  const said = numbers.flatMap(({ name }) => {
    const written = new RegExp(`(?:^|[,;] )${name} (\\S+)`).exec(label)?.[1];
    return written === undefined ? [] : [[name, written] as const];
  });
  const wrong = said.filter(([name, written]) => !isWritten(written, Number(row[name])));
  return {
    kind: "figures",
    wrong: said.length === 0 ? [label] : wrong.map(([name]) => `${name} in ${label}`),
  };
}

const CLICKHOUSE: Readonly<Record<string, string>> = {
  ...{ date: "Date32", timestamptz: "DateTime64(6, 'UTC')", text: "Nullable(String)", integer: "Int32" },
  ...{ bigint: "Int64", "double precision": "Float64", "numeric(18,2)": "Decimal(18, 2)" },
  numeric: "Nullable(Decimal(38, 4))",
};

const clickhouseTypes = (columns: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(columns).map(([name, type]) => [name, CLICKHOUSE[type] ?? type]));

/** The same rows in ClickHouse: PostgreSQL says what the picture of them has to say. */
async function copied(schema: string, tables: readonly RandomTable[]): Promise<string> {
  const database = await ownDatabase([]);
  for (const { name, columns } of tables) {
    const typed = Object.entries(clickhouseTypes(columns)).map(([column, type]) => `"${column}" ${type}`);
    await clickhouse(`CREATE TABLE ${database}.${name} (${typed.join(", ")}) ORDER BY row_id`);
    const rows = await query(
      `SET TIME ZONE 'UTC'; SELECT row_to_json(t)::text AS row FROM "${schema}"."${name}" t`,
    );
    const lines = rows.map(({ row }) => String(row)).join("\n");
    await clickhouse(`INSERT INTO ${database}.${name} FORMAT JSONEachRow ${lines}`, {
      date_time_input_format: "best_effort",
    });
  }
  return database;
}

describe.skipIf(!needs("chromium"))("the chart of every endpoint says what SQL says of all rows", () => {
  const browser = suiteBrowser();

  const draw = async (address: string, endpoints: readonly Described[]) => {
    const { page, problems } = await visit(browser.context, address, "/health", { key: KEYS.tier3 });
    const found = new Map<string, Compared>();
    for (const endpoint of endpoints) found.set(endpoint.path, await compared(page, address, endpoint));
    const wrong = [...found].filter(([, each]) => each.wrong.length > 0);
    expect(wrong.map(([path, each]) => [path, each.wrong.slice(0, 3)])).toEqual([]);
    expect(problems).toEqual([]);
    return [...found.values()].map(({ kind }) => kind);
  };

  it.skipIf(engine === "clickhouse")(
    "of the starter project",
    async () => {
      const { url } = await startFolder(GENERATED, { DATABASE_URL: databaseUrl, RATE_LIMITS: "100000" });
      const kinds = await draw(url, STARTER);
      // Registers of names and addresses have nothing to draw.
      expect(kinds.filter((kind) => kind === "none").length).toBeLessThan(4);
    },
    600_000,
  );

  it(`of ${String(RANDOM)} random tables`, async () => {
    const tables = randomTables(RANDOM);
    const schema = await ownSchema(
      tables.map(({ name, sql }) => `CREATE TABLE @.${name} AS ${sql};`).join("\n"),
    );
    const served = engine === "clickhouse" ? await copied(schema, tables) : schema;
    const models = tables.map(({ name, columns }) => ({
      ...{ name, schema: served, tags: ["production", "random", `api:${name}`] },
      columns: engine === "clickhouse" ? clickhouseTypes(columns) : columns,
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 100, max_limit: 5000 },
      },
      key: "row_id",
    }));
    const url = await serveManifest(manifestOf(models), { RATE_LIMITS: "1000000" });
    const endpoints = tables.map(({ name, columns }): Described => ({
      path: `/v1/random/${name}`,
      relation: [schema, name],
      columns: Object.entries(columns).map(([column, type]) => ({ name: column, type })),
    }));
    const kinds = await draw(url, endpoints);
    expect(kinds.filter((kind) => kind === "line" || kind === "bar").length).toBeGreaterThan(RANDOM / 2);
  }, 3_600_000);
});
