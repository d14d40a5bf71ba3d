import { isTable, type ResolvedQuery, type RowFormat } from "../core/model/query.js";
import type { PerTier, Tier } from "../core/model/tier.js";
import {
  EMPTY,
  escapedIdentifier,
  escapedLiteral,
  join,
  sql,
  type Sql,
  type Statement,
} from "../core/warehouse/sql.js";
import { QueryTooLarge, TooManyRows } from "../core/warehouse/query-errors.js";
import type { ResultColumns } from "../core/warehouse/warehouse.js";
import { isTooManyRows } from "./errors.js";
import { finished, parameter } from "./parameters.js";

type EngineSettings = Readonly<Record<string, string>>;

/** `JSONEachRow` writes a row per line, or a list. */
const LINES: EngineSettings = { output_format_json_array_of_rows: "0" };
const LIST: EngineSettings = { output_format_json_array_of_rows: "1" };

const CSV: EngineSettings = {
  output_format_csv_crlf_end_of_line: "1",
  format_csv_delimiter: ",",
  format_csv_null_representation: "",
};

/** Readers skip the empty line that a record of one empty field is. */
const ONE_COLUMN: EngineSettings = { ...CSV, format_csv_null_representation: '""' };

const TABLE: EngineSettings = {
  output_format_parquet_string_as_string: "1",
  output_format_arrow_string_as_string: "1",
  output_format_arrow_low_cardinality_as_dictionary: "0",
  output_format_arrow_use_native_writer: "0",
  // Snappy, as from PostgreSQL. Arrow is compressed by the server as the client accepts: few readers know its own codecs.
  output_format_parquet_compression_method: "snappy",
  output_format_arrow_compression_method: "none",
  // Bounds the memory of readers and writers.
  output_format_parquet_row_group_size: "65536",
};

/** Settings that one format alone reads, and functions of views (`formatRow`). All 55 settings of a query took 0.3 to 0.5 ms of ClickHouse's processor time. */
const FORMS = { lines: LINES, list: LIST, csv: CSV, oneColumn: ONE_COLUMN, table: TABLE };

type RowForm = keyof typeof FORMS;

/** All of them: a profile may refuse the settings of one. */
export const ROW_FORMS = Object.keys(FORMS) as readonly RowForm[];

/** How so many columns are written in a format. */
export function rowFormOf(format: RowFormat, columns: number): RowForm {
  if (isTable(format)) return "table";
  if (format === "csv" || format === "spreadsheet") return columns === 1 ? "oneColumn" : "csv";
  return format === "ndjson" ? "lines" : "list";
}

/** The rows of the statement: not fewer, none of before the last build, and no extreme values after them. */
const WHOLE_RESULT: EngineSettings = { limit: "0", offset: "0", extremes: "0", use_query_cache: "0" };

/**
 * Settings that limit a query, choose how it runs, or make a missing part of the rows an error. No expression reads them:
 * a view under them has the rows that the role's own client gets, or fails.
 */
const LIMITS: EngineSettings = {
  // ClickHouse ends a query without data changes when its connection closes, if the request says so itself.
  readonly: "2",
  cancel_http_readonly_queries_on_client_close: "1",
  // Part of the rows is an error: a dead shard, and each limit that a profile may tell to stop silently.
  skip_unavailable_shards: "0",
  timeout_overflow_mode: "throw",
  timeout_overflow_mode_leaf: "throw",
  read_overflow_mode: "throw",
  read_overflow_mode_leaf: "throw",
  result_overflow_mode: "throw",
  sort_overflow_mode: "throw",
  group_by_overflow_mode: "throw",
  distinct_overflow_mode: "throw",
  join_overflow_mode: "throw",
  set_overflow_mode: "throw",
  transfer_overflow_mode: "throw",
  partial_result_on_first_cancel: "0",
  discard_query_data: "0",
  ...WHOLE_RESULT,
  // Both lose rows of a float that is NaN somewhere: sorted pages missed rows (ClickHouse 26.7, tests/clickhouse/random-relations.test.ts).
  use_top_k_dynamic_filtering: "0",
  use_skip_indexes_for_top_k: "0",
  // Older servers would write an error as if it were a row.
  http_write_exception_in_output_format: "0",
};

/**
 * Settings that write values as text. Functions of views read them too (`toJSONString`, `formatRow`), so a statement reads
 * its relation under the role's own values of them, and only writes its rows under these.
 */
const FORMATS: EngineSettings = {
  // Exact digits; NaN and infinities are null; times are RFC 3339 in UTC.
  output_format_json_quote_64bit_integers: "0",
  output_format_json_quote_decimals: "0",
  output_format_json_quote_64bit_floats: "0",
  output_format_json_quote_denormals: "0",
  output_format_decimal_trailing_zeros: "1",
  output_format_always_write_decimal_point_in_float_and_decimal: "0",
  output_format_float_precision: "0",
  interval_output_format: "numeric",
  date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands: "0",
  output_format_json_escape_forward_slashes: "0",
  output_format_json_validate_utf8: "1",
  output_format_json_named_tuples_as_objects: "1",
  output_format_json_map_as_array_of_tuples: "0",
  output_format_json_skip_null_value_in_named_tuples: "0",
  // Of texts in lists and objects too; known to newer servers only.
  output_format_trim_fixed_string: "1",
  bool_true_representation: "true",
  bool_false_representation: "false",
  date_time_output_format: "iso",
};

/** Settings of every query, whatever the profile of the role says. */
const SETTINGS: EngineSettings = { ...LIMITS, ...FORMATS };

/** Those of every query or of some, each with the values that are sent. */
const SENT = [LIMITS, FORMATS, ...Object.values(FORMS)].flatMap((settings) => Object.entries(settings));

/** The setting that `system.query_log` has a column for. */
const COMMENT = "log_comment";

/** The role's own value of each of these settings that the server knows, and of the limits that the role may not change. */
type OwnSettings = ReadonlyMap<string, string>;

/** A changed profile of the role takes effect within this time. */
const FRESH_MS = 60_000;

interface SettingsQuery {
  readonly statement: Statement;
  /** As a query string. */
  readonly settings: string;
}

/** The role as it was looked up. */
interface ReadRole {
  readonly own: OwnSettings;
  /** The end of a subquery that is evaluated under its own settings. */
  readonly roleSettingsClause: Sql;
  /** Settings as query strings, which are the same for most requests: writing one of 45 settings takes 60 µs. */
  readonly encoded: Map<string, string>;
}

const NO_ROLE: ReadRole = { own: new Map(), roleSettingsClause: EMPTY, encoded: new Map() };

/** Looks the role's own settings up, and again after a minute. */
export class RoleSettings {
  readonly #read: (query: SettingsQuery) => Promise<string>;
  #lookedUpAt = -Infinity;
  #role = Promise.resolve(NO_ROLE);

  /** `read`: runs a statement under no other settings. */
  constructor(read: (query: SettingsQuery) => Promise<string>) {
    this.#read = read;
  }

  /** The end of a subquery that is evaluated under the role's own settings. */
  async roleSettingsClause(): Promise<Sql> {
    const { roleSettingsClause } = await this.#current();
    return roleSettingsClause;
  }

  #current(): Promise<ReadRole> {
    if (performance.now() - this.#lookedUpAt > FRESH_MS) {
      this.#lookedUpAt = performance.now();
      this.#role = this.#lookUp();
      this.#role.catch(() => (this.#lookedUpAt = -Infinity));
    }
    return this.#role;
  }

  /**
   * The settings to send, as a query string: a server refuses those that it does not know. `comment` names the request in
   * `system.query_log`, where the role may set it.
   */
  async toSend(limits: ClickhouseLimits, form: RowForm, comment?: string): Promise<string> {
    const { own, encoded } = await this.#current();
    const key = `${form} ${limits.tier} ${String(limits.timeoutMs)} ${String(limits.maxRows)}`;
    let text = encoded.get(key);
    if (text === undefined) {
      const known = Object.entries({ ...SETTINGS, ...FORMS[form] }).filter(([name]) => own.has(name));
      const changed = Object.entries(limitSettings(limits)).filter(
        ([name, value]) => !holds(name, own.get(name), value),
      );
      text = searchOf(Object.fromEntries([...known, ...changed]));
      encoded.set(key, text);
    }
    return comment === undefined || !own.has(COMMENT) ? text : `${text}&${searchOf({ [COMMENT]: comment })}`;
  }

  async #lookUp(): Promise<ReadRole> {
    const names = namesIn(Object.fromEntries(SENT));
    const limits = namesIn(limitSettings({ tier: "tier0", timeoutMs: 1, maxRows: 1 }));
    // In hexadecimal digits, which no format writes in another way.
    // `readonly`: a constraint of the profile refuses another value.
    const select = sql`SELECT name, hex(value) FROM system.settings WHERE name IN (${names}) OR (name = ${parameter(COMMENT, "String")} AND NOT readonly) OR (name IN (${limits}) AND readonly) FORMAT TSV`;
    const text = await this.#read({ statement: finished(select), settings: searchOf(WHOLE_RESULT) });
    const own = new Map(
      [...text.matchAll(/^(\w+)\t(\w*)\r?$/gm)].map(([, name = "", value = ""]) => [name, unhex(value)]),
    );
    return { own, roleSettingsClause: clauseOf(own), encoded: new Map() };
  }
}

const namesIn = (settings: EngineSettings): Sql =>
  join(
    Object.keys(settings).map((name) => parameter(name, "String")),
    ", ",
  );

const searchOf = (settings: EngineSettings): string => new URLSearchParams(settings).toString();

const unhex = (digits: string): string => Buffer.from(digits, "hex").toString();

function clauseOf(own: OwnSettings): Sql {
  const changed = SENT.filter(([name, sent]) => !(name in LIMITS) && (own.get(name) ?? sent) !== sent);
  const settings = [...new Set(changed.map(([name]) => name))].map(
    (name) => sql`${escapedIdentifier(name)} = ${escapedLiteral(own.get(name) ?? "")}`,
  );
  return settings.length === 0 ? EMPTY : sql` SETTINGS ${join(settings, ", ")}`;
}

/** Processors of the server for one query: the queries of higher tiers are fewer. */
const MAX_THREADS: PerTier<number> = { tier0: 1, tier1: 2, tier2: 4, tier3: 4 };

/**
 * How often a server of a `Distributed` table reports the rows that it has read, in microseconds: those of a `Memory` or `Log` table
 * there are limited by these reports only. At a limit of 100,000 it read 10 M rows of
 * 10 M with the default of 100 ms, 0.6 to 7.5 M with 1 ms.
 */
const REPORT_US = "1000";

/** What a query may use of the server. */
interface ClickhouseLimits {
  readonly tier: Tier;
  /** For the server, which counts the time in which the client does not read too; 0: no limit. */
  readonly timeoutMs: number;
  /** Rows that it may read; 0: no limit. */
  readonly maxRows: number;
}

function limitSettings({ tier, timeoutMs, maxRows }: ClickhouseLimits): EngineSettings {
  return {
    max_threads: String(MAX_THREADS[tier]),
    max_execution_time: String(timeoutMs / 1000),
    ...(maxRows > 0 && {
      max_rows_to_read: String(maxRows),
      max_rows_to_read_leaf: String(maxRows),
      interactive_delay: REPORT_US,
    }),
  };
}

/**
 * Whether a limit that the role may not change stays as it is: ClickHouse would refuse each query that changes it. Threads protect
 * nothing; another limit must be at least as strict, else it is sent, and `/health` says that the role is refused.
 */
function holds(name: string, own: string | undefined, sent: string): boolean {
  if (own === undefined || name === "max_threads") return own !== undefined;
  const [limit, wanted] = [Number(own), Number(sent)];
  return limit > 0 && (limit <= wanted || wanted === 0);
}

/**
 * Rejects with `TooManyRows` when each query of a relation reads more rows than `limit`. ClickHouse itself refuses to read more of
 * tables with parts (`max_rows_to_read`), but lets a query read all of a `Memory` or `Log` table: 1,000,000 rows at a limit of
 * 100,000. Those have no index, so that each query reads them whole; their rows are known before. Of a table function that may read
 * any table (`merge`, `url`) they are not, and count as too many.
 */
function requireAtMost(limit: number, [column]: ResultColumns): void {
  if (limit > 0 && (column?.scannedRows ?? 0) > limit) throw new TooManyRows(limit);
}

/** Runs a query that may read no more rows than its limit. Rejects with `TooManyRows`. */
export async function withinLimit<T>(
  { columns }: { readonly columns: ResultColumns },
  { maxRowsRead: limit = 0 }: Pick<ResolvedQuery, "maxRowsRead">,
  run: () => Promise<T>,
): Promise<T> {
  requireAtMost(limit, columns);
  try {
    return await run();
  } catch (error) {
    if (limit === 0 || !(error instanceof QueryTooLarge && isTooManyRows(error))) throw error;
    throw new TooManyRows(limit);
  }
}
