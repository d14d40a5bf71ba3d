import type { Relation } from "../../model/endpoint.js";
import { sql, type Statement } from "../sql.js";
import { RelationMissing, type ResultColumn, type ResultColumns } from "../warehouse.js";
import { ClickhouseError } from "./errors.js";
import { finished, parameter } from "./parameters.js";
import { type Functions, readFunctions, type ReadRows, type Storage, storageOf } from "./storage.js";

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

  async columns(relation: Relation): Promise<ResultColumns> {
    const [columns, { id, scannedRows }] = await Promise.all([
      this.#read<ResultColumn>(columnsOf(relation)),
      this.#storageOf(relation),
    ]);
    if (columns.length === 0) throw new RelationMissing(relation.join("."));
    return columns.map((column) => ({ ...column, storage: id, scannedRows }));
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

/** The columns of a relation with their types. */
function columnsOf([database, table]: Relation): Statement {
  return finished(sql`SELECT name, type FROM system.columns
    WHERE database = ${parameter(database, "String")} AND table = ${parameter(table, "String")} AND default_kind <> 'EPHEMERAL'
    ORDER BY position FORMAT JSONEachRow`);
}
