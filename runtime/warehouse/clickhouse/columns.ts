import type { Relation } from "../../model/endpoint.js";
import { sql, type Statement } from "../sql.js";
import { DatabaseUnreachable, RelationMissing, type ResultColumn, type ResultColumns } from "../warehouse.js";
import type { ClickhouseConnection } from "./connect.js";
import { ClickhouseError } from "./errors.js";
import { finished, parameter } from "./parameters.js";
import { type Functions, readFunctions, type Storage, storageOf } from "./storage.js";
import type { ClickhouseServer } from "./connect.js";

/** Runs a statement, on any server or on this one, and parses its rows. */
type ReadOn = <Row>(statement: Statement, server?: ClickhouseServer) => Promise<readonly Row[]>;

/** Looks relations up: their columns, and what identifies their rows. */
export class RelationLookup {
  readonly #connection: ClickhouseConnection;
  readonly #warn: (error: Error, message: string) => void;
  readonly #read: ReadOn;
  #functions: Promise<Functions> | null = null;
  #hasWarned = false;

  constructor(connection: ClickhouseConnection, warn: (error: Error, message: string) => void, read: ReadOn) {
    this.#connection = connection;
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

  /** Several servers have a storage only while all of them have the same: a caller reads any of them. */
  async #storageOf(relation: Relation): Promise<Storage> {
    const servers = this.#connection.likelyServers;
    const isReplicated = this.#connection.up.of > 1;
    try {
      const functions = await (this.#functions ??= readFunctions((statement) => this.#read(statement)));
      const [first, ...others] = await Promise.all(
        servers.map((server) =>
          storageOf(relation, (statement) => this.#read(statement, server), { functions, isReplicated }),
        ),
      );
      return first !== undefined && others.every(({ id }) => id === first.id) ? first : UNPROVEN;
    } catch (error) {
      this.#functions = null;
      if (error instanceof DatabaseUnreachable && servers.length > 1) return UNPROVEN;
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
