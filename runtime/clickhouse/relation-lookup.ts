import type { Relation } from "../core/model/endpoint.js";
import { escapedIdentifier, join, sql, type Sql, type Statement } from "../core/warehouse/sql.js";
import { RelationMissing } from "../core/warehouse/query-errors.js";
import type { DescribedRelation, DescribedSelect, ResultColumn } from "../core/warehouse/warehouse.js";
import { ClickhouseError, isRelationUnknown } from "./errors.js";
import { finished, isNamed } from "./parameters.js";
import { type ReadRows, scannedRowsOf } from "./scanned-rows.js";
import { isStored } from "./stored-relations.js";
import { finishedStates, holdsStates, resultType, unnamedValue } from "./states.js";

type TypedColumn = Pick<ResultColumn, "name" | "type" | "states">;

interface ColumnRow extends TypedColumn {
  readonly id: string;
}

/** `is_subcolumn`: where the role has `describe_include_subcolumns`. */
interface DescribedColumn extends TypedColumn {
  readonly is_subcolumn?: number;
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
    const [rows, hasStored, scannedRows] = await Promise.all([
      read<ColumnRow>(columnsOf(relation)),
      isStored(relation, read),
      isLimited ? this.#scannedRowsOf(relation) : 0,
    ]);
    const [first] = rows;
    if (first === undefined) throw await this.#missing(relation);
    const columns = await this.#withResults(rows, escapedIdentifier(...relation));
    return {
      id: first.id,
      columns: columns.map((column) => ({ ...column, scannedRows, isStored: hasStored })),
    };
  }

  /** The columns of a statement, and the rows that it reads whatever it selects. */
  async describeSelect({ select, relations }: DescribedSelect): Promise<DescribedRelation> {
    const rows = await this.#columnsOf(select as Sql).catch((error: unknown) => {
      throw isRelationUnknown(error) ? new RelationMissing(relations[0]?.join(".") ?? "") : error;
    });
    const scanned = this.#options.isLimited
      ? await Promise.all(relations.map((relation) => this.#scannedRowsOf(relation)))
      : [];
    const scannedRows = scanned.reduce((sum, each) => sum + each, 0);
    const columns = await this.#withResults(rows, sql`(${select as Sql})`);
    return { id: "", columns: columns.map((column) => ({ ...column, scannedRows })) };
  }

  async #columnsOf(select: Sql): Promise<readonly TypedColumn[]> {
    const statement = finished(sql`DESCRIBE (${select}) FORMAT JSONEachRow`);
    const described = await this.#options.read<DescribedColumn>(statement);
    return described.filter((column) => column.is_subcolumn !== 1);
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

  /**
   * Columns that hold states of aggregate functions, with the types of their results. The result of a state can be a state: then
   * they are looked up once more.
   */
  async #withResults(rows: readonly TypedColumn[], from: Sql): Promise<readonly TypedColumn[]> {
    const stateful = rows.filter(({ type }) => holdsStates(type));
    if (stateful.length === 0)
      return rows.map(({ name, type, states }) => ({ name, type, ...(states && { states }) }));
    const values = stateful.map((column) => {
      const before = finishedStates(column, escapedIdentifier(column.name));
      return sql`${unnamedValue(before, column.type)} AS ${escapedIdentifier(column.name)}`;
    });
    const select = sql`SELECT ${join(values, ", ")} FROM ${from}`;
    const described = await this.#columnsOf(select);
    const results = new Map(described.map(({ name, type }) => [name, type]));
    const finishedRows = rows.map(({ name, type, states = [] }) => {
      const result = results.get(name);
      return result === undefined
        ? { name, type, ...(states.length > 0 && { states }) }
        : { name, type: resultType(type, result), states: [...states, type] };
    });
    return this.#withResults(finishedRows, from);
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

/** A row where the relation is a view with parameters: ClickHouse has no columns of it. */
function parametersOf(relation: Relation): Statement {
  return finished(
    sql`SELECT 1 AS found FROM system.tables WHERE ${isNamed(relation)} AND engine = 'View' AND match(as_select, '[{]\\w+:') FORMAT JSONEachRow`,
  );
}

/** The columns of a relation with their types. `EXCHANGE` changes the id of a table, `CREATE OR REPLACE` and `ALTER` that of a view. */
function columnsOf(relation: Relation): Statement {
  const id = sql`(SELECT concat(toString(uuid), ' ', toString(metadata_modification_time)) FROM system.tables WHERE ${isNamed(relation)})`;
  return finished(sql`SELECT ifNull(${id}, '') AS id, name, type FROM system.columns
    WHERE ${isNamed(relation, "table")} AND default_kind <> 'EPHEMERAL'
    ORDER BY position FORMAT JSONEachRow`);
}
