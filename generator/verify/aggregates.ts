import type {
  Aggregate,
  AggregateMeasure,
  AggregateRelation,
  AskedGrouping,
  TimeSpine,
} from "@routewright/runtime/model";
import { columnNamed, withDigest } from "@routewright/runtime/model";
import { DatabaseUnreachable, loadMetrics, type Warehouse } from "@routewright/runtime/server";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { jsonKindOf } from "../catalogue/types/json-schema.js";
import { dataTypeOf } from "../catalogue/types/read-type.js";
import { list, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt } from "./checks.js";
import type { RunQuery, SqlNames } from "./relations.js";

/** What aggregates need of rows: no duplicates where they are joined, and every period in a time spine. */
export async function verifyAggregateRows(
  { entries }: Catalogue,
  query: RunQuery,
  names: SqlNames,
  isToCheck: (entry: CatalogueEntry) => boolean,
  warehouse: Pick<Warehouse, "columns">,
): Promise<readonly Mismatch[]> {
  const ask = remembered(query);
  const differences: Mismatch[] = [];
  for (const entry of entries) {
    if (entry.aggregate === undefined || !isToCheck(entry)) continue;
    const aggregate = await withOwnNames(entry.aggregate, warehouse);
    for (const fact of aggregate.facts)
      for (const { to, on, onFact = [], valid } of fact.joins) {
        // Of rows that hold for a time one of each start.
        const pairs = [...on, ...onFact];
        const keys = [...pairs.map(([, key]) => key), ...(valid === undefined ? [] : [valid.from])];
        differences.push(...(await verifyJoin({ entry, aggregate, to, keys }, ask, names)));
      }
    for (const spine of aggregate.spines)
      differences.push(...(await verifySpine({ entry, aggregate, spine }, ask, names)));
  }
  return differences;
}

/** With the relations' own names of their columns, which a model may write in another letter case. */
async function withOwnNames(aggregate: Aggregate, warehouse: Pick<Warehouse, "columns">): Promise<Aggregate> {
  const relations = aggregate.relations.map(async (of) => {
    const columns = await warehouse.columns(of.relation, null);
    const values = of.values.map((value) =>
      "column" in value
        ? { ...value, column: columnNamed(columns, value.column)?.name ?? value.column }
        : value,
    );
    return { ...of, values };
  });
  return { ...aggregate, relations: await Promise.all(relations) };
}

interface Joined {
  readonly entry: CatalogueEntry;
  readonly aggregate: Aggregate;
  readonly to: string;
  readonly keys: readonly string[];
}

async function verifyJoin(
  { entry, aggregate, to, keys }: Joined,
  ask: Ask,
  names: SqlNames,
): Promise<readonly Mismatch[]> {
  const relation = aggregate.relations.find(({ name }) => name === to);
  if (relation === undefined) return [];
  const values = keys.map((key) => valueText(relation, key, names));
  const all = values.join(", ");
  const { quote, own, above } = names;
  const set = values.map((value) => `${value} IS NOT NULL`).join(" AND ");
  const keyed = `SELECT 1 AS one FROM ${relation.relation.map(quote).join(".")} AS s WHERE ${set} GROUP BY ${all} HAVING ${own}count(*) ${above} 1`;
  const [row] = await ask(`SELECT ${own}count(*) AS found FROM (${keyed}) AS d`);
  const found = Number(row?.["found"] ?? 0);
  if (found === 0) return [];
  return mismatchAt(
    entry,
    "duplicate-join",
    sentence`${relation.relation.join(".")} has ${String(found)} values of ${keys.join(", ")} in more than one row: what is joined to them is counted more than once.`,
    "Remove the duplicates in the model's SQL, and test the columns with `unique`.",
  );
}

function valueText({ values }: AggregateRelation, name: string, { quote }: SqlNames): string {
  const value = values.find((each) => each.name === name);
  if (value === undefined) return quote(name);
  return "column" in value ? `s.${quote(value.column)}` : `(${value.sql})`;
}

interface Spine {
  readonly entry: CatalogueEntry;
  readonly aggregate: Aggregate;
  readonly spine: TimeSpine;
}

async function verifySpine(
  { entry, aggregate, spine }: Spine,
  ask: Ask,
  names: SqlNames,
): Promise<readonly Mismatch[]> {
  const relation = aggregate.relations.find(({ name }) => name === spine.relation);
  if (relation === undefined) return [];
  const { quote, own } = names;
  const value = valueText(relation, spine.value, names);
  const [row] = await ask(
    `SELECT ${own}count(DISTINCT ${value}) AS found, CAST(${own}min(${value}) AS ${own}text) AS first, CAST(${own}max(${value}) AS ${own}text) AS last FROM ${relation.relation.map(quote).join(".")} AS s`,
  );
  const found = Number(row?.["found"] ?? 0);
  const name = relation.relation.join(".");
  const [first, last] = [row?.["first"], row?.["last"]].map((each) => (typeof each === "string" ? each : ""));
  const expected = periodsBetween(first ?? "", last ?? "", spine.grain);
  if (found > 0 && (expected === null || found >= expected)) return [];
  const message =
    found === 0
      ? sentence`The time spine ${name} has no rows: answers that need its periods are empty.`
      : sentence`The time spine ${name} lacks ${String((expected ?? 0) - found)} periods of ${spine.grain} between ${first ?? ""} and ${last ?? ""}: answers lack them.`;
  return mismatchAt(
    entry,
    "time-spine-gaps",
    message,
    "Give it a row for every period, and run `dbt build` for it.",
  );
}

const SECONDS = { second: 1, minute: 60, hour: 3600, day: 86_400, week: 604_800 } as const;
const MONTHS = { month: 1, quarter: 3, year: 12 } as const;

/** Both included; null for a grain that is too fine to count. */
function periodsBetween(first: string, last: string, grain: TimeSpine["grain"]): number | null {
  const [from, to] = [first, last].map(timeOf) as [Date, Date];
  if (Number.isNaN(from.getTime()) || Number.isNaN(to.getTime())) return null;
  if (grain in SECONDS) {
    const seconds = SECONDS[grain as keyof typeof SECONDS];
    return Math.round((to.getTime() - from.getTime()) / 1000 / seconds) + 1;
  }
  if (!(grain in MONTHS)) return null;
  const months = (date: Date): number => date.getUTCFullYear() * 12 + date.getUTCMonth();
  return Math.floor((months(to) - months(from)) / MONTHS[grain as keyof typeof MONTHS]) + 1;
}

/** `2026-01-31`, or `2026-01-31 00:00:00`, which is taken as UTC: only the distance counts. */
function timeOf(text: string): Date {
  const [day = "", time = "00:00:00"] = text.split(/[ T]/);
  return new Date(`${day}T${time.slice(0, 8)}Z`);
}

type AnsweredRow = Readonly<Record<string, unknown>>;
type Ask = (text: string) => Promise<readonly AnsweredRow[]>;

/** ClickHouse answers lines of JSON. */
function rowOf(row: unknown): AnsweredRow {
  return (typeof row === "string" ? JSON.parse(row) : row) as AnsweredRow;
}

/** Endpoints share what they join. */
function remembered(query: RunQuery): Ask {
  const known = new Map<string, ReturnType<Ask>>();
  return (text) => {
    const asked = known.get(text) ?? query(text).then((rows) => rows.map(rowOf));
    known.set(text, asked);
    return asked;
  };
}

/** Whether the database takes the statement of each measure by all of its groups, as it is served, and the types of its columns. */
export async function verifyGroupings(
  { entries }: Catalogue,
  warehouse: Pick<Warehouse, "columnsOf">,
  isToCheck: (entry: CatalogueEntry) => boolean,
): Promise<readonly Mismatch[]> {
  const differences: Mismatch[] = [];
  for (const entry of entries) {
    if (entry.aggregate === undefined || !isToCheck(entry)) continue;
    const { saved, measures } = entry.aggregate;
    // A saved query is one statement.
    for (const asked of saved === undefined ? measures.map((measure) => [measure]) : [measures])
      differences.push(...(await verifyMeasures(entry, entry.aggregate, asked, warehouse)));
  }
  return differences;
}

async function verifyMeasures(
  entry: CatalogueEntry,
  aggregate: Aggregate,
  measures: readonly AggregateMeasure[],
  warehouse: Pick<Warehouse, "columnsOf">,
): Promise<readonly Mismatch[]> {
  const { measureConditions } = await loadMetrics();
  const grouping = groupingOf(aggregate, measures);
  const selection = { grouping, conditions: measureConditions(measures), sort: [], page: null };
  try {
    const query = { relation: entry.relation, selection, format: "json", timeoutMs: 0 } as const;
    const { columns } = await warehouse.columnsOf(query, null);
    return columns.flatMap(({ name, type }) => compareType(entry, name, type));
  } catch (error) {
    if (!(error instanceof Error) || error instanceof DatabaseUnreachable) throw error;
    return mismatchAt(
      entry,
      "refused-measure",
      sentence`The database refuses the statement of ${list(measures.map(({ name }) => name))}: ${error.message}.`,
      "Correct the expression that the message names, in the semantic model or the metric.",
    );
  }
}

/** Measures by all of their groups, or by those of the saved query. */
export function groupingOf(aggregate: Aggregate, measures: readonly AggregateMeasure[]): AskedGrouping {
  const groups =
    aggregate.saved?.groups ??
    (measures[0]?.groups ?? []).map(({ name, grain }) => ({
      key: name,
      name,
      ...(grain !== undefined && { grain }),
    }));
  return { aggregate: withDigest(aggregate), groups, measures };
}

function compareType(entry: CatalogueEntry, name: string, live: string): readonly Mismatch[] {
  const documented = entry.aggregate?.columns.find((column) => column.name === name)?.type ?? null;
  if (documented === null) return [];
  // A statement's columns have no digits and no lengths.
  const [declared, actual] = [documented, live].map((type) => jsonKindOf(dataTypeOf(type)));
  const isBare = live === "numeric" && /^(?:numeric|decimal)\b/i.test(documented);
  if (declared === actual || isBare || declared === "unknown" || actual === "unknown") return [];
  return mismatchAt(
    entry,
    "column-type",
    sentence`The column ${name} is documented as ${documented}, and the database makes it ${live}.`,
    "Correct `data_type` of the aggregated column in the model's schema.yml, or cast it in its SQL.",
  );
}
