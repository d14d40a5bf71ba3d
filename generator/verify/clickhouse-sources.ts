import { messageOf } from "@routewright/runtime/model";
import type { Read, ReadSource, LiveSource } from "./build-promises.js";
import type { RunQuery } from "./relations.js";

interface Table {
  readonly relation: string;
  readonly name: string;
  readonly engine: string;
  readonly engine_full: string;
  readonly as_select: string;
  readonly create_table_query: string;
}

const TABLES = `SELECT concat(database, '.', name) AS relation, name, engine, engine_full, as_select, create_table_query
  FROM system.tables WHERE engine = 'MaterializedView' OR relation IN `;

/** The flag has another name in older versions; aggregate functions have none. */
const FUNCTIONS =
  "SELECT COLUMNS('^(name|origin|deterministic|is_deterministic)$') FROM system.functions WHERE NOT is_aggregate";

/** Functions that ClickHouse calls nondeterministic, and whose result a role always gets again. */
const SAME =
  /^(arrayJoin|current(User|Database|Schemas)|timezone|serverTimezone|toColumnTypeName|dumpColumnStructure|isConstant|lowCardinality(Indices|Keys)|arrayPartial(Reverse)?Sort)$/i;

/** Tables whose rows are always the same. */
const FIXED_TABLES = /^system\.(one|numbers|numbers_mt|zeros|zeros_mt)$/;
const FIXED_FUNCTIONS = /^(numbers|numbers_mt|zeros|zeros_mt|values|generate_?series|null|format|primes)$/i;

/** Engines that store rows. */
const STORING = /(MergeTree|^Log|^TinyLog|^StripeLog|^Memory|^Set|^Join|^Null|^EmbeddedRocksDB)$/;

/** What a relation of ClickHouse reads, by the analysed query of a view, and what fills or empties a table. */
export function clickhouseSources(query: RunQuery): ReadSource {
  const changing = once(() => changingFunctions(query));
  return async (read) => {
    const tables = rowsOf(await query(`${TABLES}(${quoted(read.relation)})`)) as readonly Table[];
    const table = tables.find(({ relation }) => relation === read.relation);
    if (table === undefined) return NOTHING;
    const views = tables.filter(({ engine }) => engine === "MaterializedView");
    if (table.engine === "View") return querySource(table.as_select, query, await changing());
    const filling = views.filter((view) => view === table || targetOf(view) === read.relation);
    const filled = await Promise.all(filling.map((view) => filledBy(view, query)));
    return {
      reads: filled.flatMap(({ reads }) => reads),
      functions: [],
      reasons: [...tableReasons(table, read), ...filled.flatMap(({ reasons }) => reasons)],
    };
  };
}

const NOTHING: LiveSource = { reads: [], functions: [], reasons: [] };

/** How the names of the tables on each node go on. */
const OWN_SHARDS: readonly string[] = ["_local'", "__shard_"];

function tableReasons(
  { name, engine, engine_full: full }: Table,
  { isFinal = false }: Read,
): readonly string[] {
  // dbt's, or those of `routewright ddl --cluster`: they fill the tables on the nodes, and nobody else.
  const isOwn = engine === "Distributed" && OWN_SHARDS.some((suffix) => full.includes(`, '${name}${suffix}`));
  if (!STORING.test(engine) && engine !== "MaterializedView" && !isOwn)
    return [`has the engine ${engine}, whose rows are kept elsewhere`];
  return [
    ...(/(Replacing|Collapsing|Summing|Aggregating|Coalescing|Graphite)MergeTree$/.test(engine) && !isFinal
      ? [`has the engine ${engine}, whose rows change when it merges, and is read without FINAL`]
      : []),
    ...(/ TTL /.test(full) ? ["has a TTL, which removes or changes rows"] : []),
  ];
}

/** A materialized view calls functions when it stores rows, not when they are read. */
async function filledBy(view: Table, query: RunQuery): Promise<LiveSource> {
  if (/^CREATE MATERIALIZED VIEW \S+ REFRESH /.test(view.create_table_query))
    return { ...NOTHING, reasons: [`is filled by ${view.relation}, which refreshes by itself`] };
  return querySource(view.as_select, query, new Set());
}

/** `<database>.<name>` of the table that a materialized view writes. */
function targetOf({ create_table_query: statement }: Table): string | undefined {
  const name = String.raw`(?:\x60((?:[^\x60\\]|\\.)+)\x60|(\w+))`;
  const target = new RegExp(`^CREATE MATERIALIZED VIEW .*? TO ${name}\.${name}`, "s").exec(statement);
  const parts = (target ?? []).slice(1).filter(Boolean);
  return parts.length === 2 ? parts.map((part) => part.replace(/\\(.)/g, "$1")).join(".") : undefined;
}

/** Views that a view reads are one table of its analysed query each. */
async function querySource(
  select: string,
  query: RunQuery,
  changing: ReadonlySet<string>,
): Promise<LiveSource> {
  try {
    const rows = await query(`EXPLAIN QUERY TREE ${select}`);
    return sourceOf(
      (rowsOf(rows) as readonly { explain: string }[]).map(({ explain }) => explain),
      changing,
    );
  } catch (error) {
    // Such as a view of another role, whose tables this one may not read.
    return { ...NOTHING, reasons: [`cannot be checked: ${messageOf(error).replace(/\.$/, "")}`] };
  }
}

const TABLE = /^ *TABLE id: \d+, (?:alias: \S+, )?table_name: (.*?)(, final: 1)?(?:, sample_\w+: .*)?$/;
const FUNCTION = /^ *FUNCTION id: \d+, function_name: (\S+), function_type: ordinary/;
const TABLE_FUNCTION = /^ *TABLE_FUNCTION id: .*?table_function_name: (\w+)/;

function sourceOf(lines: readonly string[], changing: ReadonlySet<string>): LiveSource {
  const namesIn = (pattern: RegExp): readonly string[] => lines.map((line) => pattern.exec(line)?.[1] ?? "");
  const reads = lines.flatMap((line) => {
    const [, relation = "", final] = TABLE.exec(line) ?? [];
    const isFixed = relation === "" || FIXED_TABLES.test(relation);
    return isFixed ? [] : [{ relation, isFinal: final !== undefined }];
  });
  const called = namesIn(FUNCTION).filter((name) => changing.has(name));
  const generating = namesIn(TABLE_FUNCTION).filter((name) => name !== "" && !FIXED_FUNCTIONS.test(name));
  return { reads, functions: [...called, ...generating], reasons: [] };
}

interface Called {
  readonly name: string;
  readonly origin?: string;
  readonly deterministic?: number | null;
  readonly is_deterministic?: number | null;
}

async function changingFunctions(query: RunQuery): Promise<ReadonlySet<string>> {
  const isChanging = ({ name, origin = "", deterministic, is_deterministic: former }: Called): boolean =>
    !SAME.test(name) && ((deterministic ?? former) === 0 || origin.startsWith("Executable"));
  return new Set(
    (rowsOf(await query(FUNCTIONS)) as readonly Called[]).filter(isChanging).map(({ name }) => name),
  );
}

function rowsOf(lines: readonly unknown[]): readonly unknown[] {
  return (lines as readonly string[]).map((line) => JSON.parse(line) as unknown);
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return () => (value ??= read());
}
