import type { Relation } from "../../model/endpoint.js";
import { escapedIdentifier, join, sql, type Sql, type Statement } from "../sql.js";
import { type DescribedRelation, type DescribedSelect, RelationMissing } from "../warehouse.js";
import { ClickhouseError, isRelationUnknown } from "./errors.js";
import { finished, parameter } from "./parameters.js";
import { type ReadRows, scannedRowsOf } from "./scanned-rows.js";

interface ColumnRow {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

interface LookupOptions {
  readonly read: ReadRows;
  /** Whether queries are limited by the rows that they read. */
  readonly isLimited: boolean;
  readonly warn: (error: Error, message: string) => void;
}

/** Looks relations up: their columns, and where it is limited, how many rows each query reads. */
export class RelationLookup {
  readonly #options: LookupOptions;
  #hasWarned = false;

  constructor(options: LookupOptions) {
    this.#options = options;
  }

  async describe(relation: Relation): Promise<DescribedRelation> {
    const { read, isLimited } = this.#options;
    const [rows, scannedRows] = await Promise.all([
      read<ColumnRow>(columnsOf(relation)),
      isLimited ? this.#scannedRowsOf(relation) : 0,
    ]);
    const [first] = rows;
    if (first === undefined) throw await this.#missing(relation);
    const results = await this.#resultsOf(relation, rows);
    const columns = rows.map(({ name, type }) => {
      const result = results.get(name);
      return {
        name,
        type: result ?? type,
        ...(result !== undefined && { isState: true as const }),
        scannedRows,
      };
    });
    return { id: first.id, columns };
  }

  /** The columns of a statement, and the rows that it reads whatever it selects. */
  async describeSelect({ select, relations }: DescribedSelect): Promise<DescribedRelation> {
    const { read, isLimited } = this.#options;
    const body = sql`DESCRIBE (${select as Sql}) FORMAT JSONEachRow`;
    const rows = await read<Omit<ColumnRow, "id">>(finished(body)).catch((error: unknown) => {
      throw isRelationUnknown(error) ? new RelationMissing(relations[0]?.join(".") ?? "") : error;
    });
    const scanned = isLimited
      ? await Promise.all(relations.map((relation) => this.#scannedRowsOf(relation)))
      : [];
    const scannedRows = scanned.reduce((sum, each) => sum + each, 0);
    return { id: "", columns: rows.map(({ name, type }) => ({ name, type, scannedRows })) };
  }

  async #missing(relation: Relation): Promise<RelationMissing> {
    const name = relation.join(".");
    const isParameterized = (await this.#options.read(parametersOf(relation))).length > 0;
    return new RelationMissing(
      name,
      isParameterized
        ? `${name} is a view with parameters, which no request gives it: serve a view of it that gives them values.`
        : null,
    );
  }

  /** The types of the results of columns that hold states of aggregate functions. */
  async #resultsOf(relation: Relation, rows: readonly ColumnRow[]): Promise<ReadonlyMap<string, string>> {
    const names = rows.filter(({ type }) => type.startsWith("AggregateFunction(")).map(({ name }) => name);
    if (names.length === 0) return new Map();
    const results = names.map((name) => {
      const column = escapedIdentifier(name);
      return sql`finalizeAggregation(${column}) AS ${column}`;
    });
    const described = await this.#options.read<Omit<ColumnRow, "id">>(
      finished(
        sql`DESCRIBE (SELECT ${join(results, ", ")} FROM ${escapedIdentifier(...relation)}) FORMAT JSONEachRow`,
      ),
    );
    return new Map(described.map(({ name, type }) => [name, type]));
  }

  async #scannedRowsOf(relation: Relation): Promise<number> {
    try {
      return await scannedRowsOf(relation, this.#options.read);
    } catch (error) {
      if (!(error instanceof ClickhouseError)) throw error;
      if (!this.#hasWarned) this.#options.warn(error, NOT_LIMITED);
      this.#hasWarned = true;
      return 0;
    }
  }
}

const NOT_LIMITED =
  "MAX_ROWS_READ does not count tables without parts: the role needs SELECT on system.tables and system.table_functions";

const isNamed = ([database, table]: Relation): Sql =>
  sql`database = ${parameter(database, "String")} AND name = ${parameter(table, "String")}`;

/** A row where the relation is a view with parameters: ClickHouse has no columns of it. */
function parametersOf(relation: Relation): Statement {
  return finished(
    sql`SELECT 1 AS found FROM system.tables WHERE ${isNamed(relation)} AND engine = 'View' AND match(as_select, '[{]\\w+:') FORMAT JSONEachRow`,
  );
}

/** The columns of a relation with their types. `EXCHANGE` changes the id of a table, `CREATE OR REPLACE` and `ALTER` that of a view. */
function columnsOf(relation: Relation): Statement {
  const [database, table] = relation;
  const id = sql`(SELECT concat(toString(uuid), ' ', toString(metadata_modification_time)) FROM system.tables WHERE ${isNamed(relation)})`;
  return finished(sql`SELECT ifNull(${id}, '') AS id, name, type FROM system.columns
    WHERE database = ${parameter(database, "String")} AND table = ${parameter(table, "String")} AND default_kind <> 'EPHEMERAL'
    ORDER BY position FORMAT JSONEachRow`);
}
