import type pg from "pg";
import type { BindValue } from "../query/sql.js";

/** The columns of a row as the database wrote them. */
export type Texts = readonly (string | null)[];

/** A statement that gives one row, whose columns are wanted as text. */
export interface Part {
  readonly text: string;
  readonly values: readonly BindValue[];
  /** What the database knows it by; empty for one that is not kept. */
  readonly name: string;
}

/**
 * Told that a part is over, by its place: there is a row unless there is an error, one without columns where the statement
 * gives none. The connection is free after the last part.
 */
export type Over = (place: number, error: Error | null, row: Texts) => void;

/** What `pg` remembers on a connection of the statements with a name. */
interface Wire extends pg.Connection {
  /** Texts by name, of those that the database has. */
  readonly parsedStatements: Record<string, string>;
  /** Texts by name, of those that are on their way. */
  readonly submittedNamedStatements: Record<string, string>;
}

/**
 * Statements that go to the database in one write and are answered one after the other. Each is a transaction of its own:
 * it holds its locks no longer than alone, and fails alone.
 * A query of `pg` also asks the database for the types of the columns and makes objects of the rows, each time: at a
 * small answer that is a good part of the work on both sides.
 *
 * The methods are those that `pg` calls on what it is given to send, in the order of PostgreSQL's messages. To `pg` it is
 * as many queries as it has parts: when one is over it is given the next, of which nothing is to be sent any more.
 */
export class Batch implements pg.Submittable {
  readonly #client: pg.ClientBase;
  readonly #parts: readonly Part[];
  readonly #over: Over;
  #place = 0;
  #row: Texts = [];
  #isSent = false;

  /** Of several parts the database must have been given all before. */
  constructor(client: pg.ClientBase, parts: readonly Part[], over: Over) {
    this.#client = client;
    this.#parts = parts;
    this.#over = over;
  }

  /** By which `pg` remembers what was parsed. */
  get name(): string {
    return this.#parts[this.#place]?.name ?? "";
  }

  get text(): string {
    return this.#parts[this.#place]?.text ?? "";
  }

  submit(connection: pg.Connection): void {
    if (this.#isSent) return;
    this.#isSent = true;
    const wire = connection as Wire;
    wire.stream.cork();
    for (const part of this.#parts) {
      if (!isKnown(wire, part)) parse(wire, part);
      wire.bind({ statement: part.name, values: part.values.map(asText) }, true);
      wire.execute({}, true);
      wire.sync();
    }
    wire.stream.uncork();
  }

  handleDataRow({ fields }: { readonly fields: Texts }): void {
    this.#row = fields;
  }

  handleCommandComplete(): void {
    // That the connection is free is still to come.
  }

  handleReadyForQuery(): void {
    this.#end(null);
  }

  /** The database answers the next part nevertheless; when the connection is gone, `pg` refuses each of them. */
  handleError(error: Error): void {
    this.#end(error);
  }

  #end(error: Error | null): void {
    if (this.#place === this.#parts.length) return;
    const row = this.#row;
    const place = this.#place++;
    this.#row = [];
    if (this.#place < this.#parts.length) this.#client.query(this);
    this.#over(place, error, row);
  }
}

function isKnown({ parsedStatements, submittedNamedStatements }: Wire, { name }: Part): boolean {
  if (name === "") return false;
  return parsedStatements[name] !== undefined || submittedNamedStatements[name] !== undefined;
}

function parse(wire: Wire, { name, text }: Part): void {
  wire.parse({ name, text, types: [] }, true);
  if (name !== "") wire.submittedNamedStatements[name] = text;
}

/** As PostgreSQL reads a value of any type; a list as the text of an array. */
function asText(value: BindValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  return `{${value.map((element) => `"${element.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
