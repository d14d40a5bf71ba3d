/** Every type of a column becomes every other one: what `diff` says, and what callers get from both. */
import { expect, it } from "vitest";
import { compareCatalogues } from "../../../generator/diff/compare-catalogues.js";
import { CHANGE_SEVERITIES, type ChangeSeverity } from "../../../generator/diff/change-kinds.js";
import { clickhouse } from "../../support/clickhouse.js";
import { query } from "../../support/database.js";
import { byEngine, engine, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { startManifest } from "../../support/service.js";
import { CALENDAR, catalogueFrom } from "../catalogues.js";
import { kindOf, rowsOf } from "./compare.js";
import { SQUARE_TYPES } from "./square-types.js";

/** Types by place; in CI some that change each time, `TYPE_SQUARE=all` takes all. */
const all = Object.entries(SQUARE_TYPES[engine]);
const seed = Date.now();
const types = process.env["TYPE_SQUARE"] === "all" ? all : all.filter((_, i) => (seed + i * 7) % 5 === 0);

const schema = await ownTables({
  postgres: `CREATE EXTENSION IF NOT EXISTS citext; CREATE EXTENSION IF NOT EXISTS hstore;
    CREATE TYPE @.mood AS ENUM ('sad', 'ok'); CREATE DOMAIN @.small AS int CHECK (VALUE < 100); CREATE TYPE @.pair AS (a int, b text)`,
  clickhouse: [],
});

const own = (type: string): string => type.replaceAll("@", `"${schema}"`);
const run = async (sql: string): Promise<unknown> => (engine === "clickhouse" ? clickhouse(sql) : query(sql));

/** As a model casts its source; PostgreSQL's types all go by their text. */
const cast = byEngine({
  postgres: (value: string, type: string) => `(${value})::text::${own(type)}`,
  clickhouse: (value: string, type: string) => `CAST(${value} AS ${type})`,
});

/** The columns of the relation of a type: itself, and each type that its values can be cast to. */
async function makeRelation(i: number, type: string, texts: readonly string[]): Promise<readonly number[]> {
  const quoted = (text: string): string =>
    engine === "clickhouse" ? `'${text.replace(/[\\']/g, "\\$&")}'` : `'${text.replaceAll("'", "''")}'`;
  const rows = texts
    .map((text, at) => {
      const value = text.startsWith("map(") ? text : quoted(text);
      return `SELECT ${String(at)} AS id, ${cast(value, type)} AS v`;
    })
    .join(" UNION ALL ");
  const into = await Promise.all(
    types.map(async ([to], j) => {
      if (j === i) return [];
      const made = await run(`SELECT ${cast("v", to)} AS c FROM (${rows}) AS s`).catch(() => null);
      return made === null ? [] : [j];
    }),
  );
  const columns = into.flat().map((j) => `${cast("v", types[j]?.[0] ?? "")} AS c${String(j)}`);
  const storage = engine === "clickhouse" ? " ENGINE = MergeTree ORDER BY id" : "";
  await run(
    `CREATE TABLE "${schema}"."t${String(i)}"${storage} AS SELECT ${["id", "v", ...columns].join(", ")} FROM (${rows}) AS s`,
  );
  return into.flat();
}

const castable = new Map<number, readonly number[]>();
for (const [i, [type, texts]] of types.entries()) castable.set(i, await makeRelation(i, type, texts));

const declared = (type: string): string => type.replaceAll("@.", "");
const modelOf = (name: string, columns: Readonly<Record<string, string>>, isFiltered: Filtered) => ({
  ...{ name, schema, columns: { id: byEngine({ postgres: "int", clickhouse: "UInt8" }), ...columns } },
  api: {
    allow_unfiltered: true,
    parameters: Object.entries(columns)
      .filter(([, type]) => isFiltered(type))
      .map(([column]) => ({ name: column, column, operator: "=", type: "string" })),
    sort: [{ column: "id", direction: "ASC" }],
  },
});

type Filtered = (type: string) => boolean;

const catalogueOf = (type: string, isFiltered: boolean) =>
  catalogueFrom(manifestOf([modelOf("t", { v: declared(type) }, () => isFiltered)]));

/** Types that filters have. */
const filtered = new Set(
  types.map(([type]) => type).filter((type) => catalogueOf(type, true).entries.length > 0),
);
const isFilteredType: Filtered = (type) => filtered.has(type) || filtered.has(`@.${type}`);

const { url } = await startManifest(
  manifestOf(
    types.map(([type], i) => {
      const into = castable.get(i) ?? [];
      const casts = into.map((j) => [`c${String(j)}`, declared(types[j]?.[0] ?? "")]);
      const columns = { v: declared(type), ...(Object.fromEntries(casts) as Record<string, string>) };
      return modelOf(`t${String(i)}`, columns, isFilteredType);
    }),
  ),
  { RATE_LIMITS: "2000000" },
);

const answers = await Promise.all(
  types.map(async (_, i) => {
    const response = await fetch(`${url}/v1/shop/t${String(i)}`);
    expect([types[i]?.[0], response.status]).toEqual([types[i]?.[0], 200]);
    return rowsOf(await response.text()).rows;
  }),
);

const valuesOf = (i: number, column: string): readonly string[] =>
  (answers[i] ?? []).map((row) => row.get(column) ?? "missing");

/** The text of a value in a query string. */
function sentText(value: string): string {
  const parsed = JSON.parse(value) as string | boolean | { number?: string } | null;
  if (typeof parsed === "string") return parsed;
  return typeof parsed === "object" && parsed?.number !== undefined ? parsed.number : JSON.stringify(parsed);
}

const known = new Map<string, Promise<number>>();
function statusOf(i: number, column: string, value: string): Promise<number> {
  const path = `/v1/shop/t${String(i)}?${new URLSearchParams({ [column]: sentText(value) }).toString()}`;
  const asked = known.get(path) ?? fetch(url + path).then(async (one) => (await one.text(), one.status));
  known.set(path, asked);
  return asked;
}

/** What callers of a column notice when it gets another type, with values that stay where they can be cast. */
async function noticed(i: number, j: number): Promise<ChangeSeverity | null> {
  const [at, column] = castable.get(i)?.includes(j) === true ? [i, `c${String(j)}`] : [j, "v"];
  const [before, after] = [valuesOf(i, "v"), valuesOf(at, column)];
  const kinds = new Set(before.map(kindOf));
  if (after.map(kindOf).some((kind) => !kinds.has(kind))) return "breaking";
  const areFiltered = [i, j].every((each) => filtered.has(types[each]?.[0] ?? ""));
  for (const value of areFiltered ? before : []) {
    if ((await statusOf(i, "v", value)) !== 200) continue;
    if ((await statusOf(at, column, value)) === 400) return "breaking";
  }
  return at === i && before.join("\n") !== after.join("\n") ? "warning" : null;
}

const catalogues = types.map(([type]) => ({
  filtered: filtered.has(type) ? catalogueOf(type, true) : null,
  plain: catalogueOf(type, false),
}));

interface Pair {
  readonly pair: string;
  readonly said: string;
  readonly seen: ChangeSeverity | "nothing";
}

const pairs: Pair[] = [];
for (const [i, [from]] of types.entries())
  for (const [j, [to]] of types.entries()) {
    const [base, head] = [catalogues[i], catalogues[j]];
    if (i === j || base === undefined || head === undefined) continue;
    const areFiltered = base.filtered !== null && head.filtered !== null;
    const changes = compareCatalogues(
      areFiltered ? (base.filtered ?? base.plain) : base.plain,
      areFiltered ? (head.filtered ?? head.plain) : head.plain,
      CALENDAR,
    );
    const said =
      CHANGE_SEVERITIES.find((severity) => changes.some((one) => one.severity === severity)) ?? "nothing";
    pairs.push({ pair: `${from} → ${to}`, said, seen: (await noticed(i, j)) ?? "nothing" });
  }

const isUnsaid = ({ said, seen }: Pair): boolean => {
  const isFailing = said === "exposing" || said === "breaking";
  return (seen === "breaking" && !isFailing) || (seen === "warning" && !isFailing && said !== "warning");
};

it("says no less of a pair of types than callers notice", () => {
  if (process.env["TYPE_SQUARE"] !== undefined) {
    const counts = ["breaking", "warning", "compatible", "nothing"].map((said) => {
      const of = pairs.filter((one) => one.said === said);
      const seen = ["breaking", "warning", "nothing"].map(
        (each) => `${String(of.filter((one) => one.seen === each).length)} ${each}`,
      );
      return `${said}: ${String(of.length)} said, of which ${seen.join(", ")} seen`;
    });
    process.stdout.write(
      `${String(types.length)} types, ${String(pairs.length)} pairs\n${counts.join("\n")}\n`,
    );
  }
  expect(pairs.filter(isUnsaid)).toEqual([]);
});
