import type { Relation } from "../../model/endpoint.js";
import { sql, type Statement } from "../sql.js";
import { type DescribedRelation, RelationMissing } from "../warehouse.js";
import { ClickhouseError } from "./errors.js";
import { finished, parameter } from "./parameters.js";
import { type Functions, readFunctions, type ReadRows, type Storage, storageOf } from "./storage.js";

interface ColumnRow {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

/** Looks relations up: their columns, and what identifies their rows. */
export class RelationLookup {
  readonly #warn: (error: Error, message: string) => void;
  readonly #read: ReadRows;
  #functions: Promise<Functions> | null = null;
  #hasWarned = false;

  constructor(warn: (error: Error, message: string) => void, read: ReadRows) {
    this.#warn = warn;
    this.#read = read;
  }

  async describe(relation: Relation): Promise<DescribedRelation> {
    const [rows, { id: storage, scannedRows }] = await Promise.all([
      this.#read<ColumnRow>(columnsOf(relation)),
      this.#storageOf(relation),
    ]);
    const [first] = rows;
    if (first === undefined) throw new RelationMissing(relation.join("."));
    return { id: first.id, columns: rows.map(({ name, type }) => ({ name, type, storage, scannedRows })) };
  }

  async #storageOf(relation: Relation): Promise<Storage> {
    try {
      const functions = await (this.#functions ??= readFunctions(this.#read));
      return await storageOf(relation, this.#read, functions);
    } catch (error) {
      this.#functions = null;
      if (!(error instanceof ClickhouseError)) throw error;
      if (!this.#hasWarned) this.#warn(error, NO_VERSIONS);
      this.#hasWarned = true;
      return UNPROVEN;
    }
  }
}

const UNPROVEN: Storage = { id: null, scannedRows: 0 };

const NO_VERSIONS =
  "responses have no data version: the role needs SELECT on system.tables, system.columns, system.parts and system.functions";

/** The columns of a relation with their types. `EXCHANGE` changes the id of a table, `CREATE OR REPLACE` and `ALTER` that of a view. */
function columnsOf([database, table]: Relation): Statement {
  const isTable = sql`database = ${parameter(database, "String")} AND name = ${parameter(table, "String")}`;
  const id = sql`(SELECT concat(toString(uuid), ' ', toString(metadata_modification_time)) FROM system.tables WHERE ${isTable})`;
  return finished(sql`SELECT ifNull(${id}, '') AS id, name, type FROM system.columns
    WHERE database = ${parameter(database, "String")} AND table = ${parameter(table, "String")} AND default_kind <> 'EPHEMERAL'
    ORDER BY position FORMAT JSONEachRow`);
}
