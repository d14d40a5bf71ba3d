import type pg from "pg";
import type { BindValue, Statement } from "../query/sql.js";

/** The columns of a row as the database wrote them. */
export type Texts = readonly (string | null)[];

/** What `pg` remembers on a connection of the statements with a name. */
interface Wire extends pg.Connection {
  /** Texts by name, of those that the database has. */
  readonly parsedStatements: Record<string, string>;
  /** Texts by name, of those that are on their way. */
  readonly submittedNamedStatements: Record<string, string>;
}

/**
 * A statement that gives one row, whose columns are wanted as text. A query of `pg` also asks the database for the types
 * of the columns and makes objects of the rows, each time: at a small answer that is a good part of the work on both sides.
 *
 * The methods are those that `pg` calls on what it is given to send, in the order of PostgreSQL's messages.
 */
export class OneRow implements pg.Submittable {
  readonly text: string;
  /** The empty name is that of a statement that is not kept. */
  readonly name: string;
  readonly #values: readonly BindValue[];
  readonly #told: (error: Error | null, row: Texts) => void;
  #row: Texts = [];

  /** `told` gets the row, one without columns when there is none. */
  constructor(
    { text, values }: Statement,
    name: string | null,
    told: (error: Error | null, row: Texts) => void,
  ) {
    this.text = text;
    this.name = name ?? "";
    this.#values = values;
    this.#told = told;
  }

  submit(connection: pg.Connection): void {
    const wire = connection as Wire;
    const { stream } = wire;
    // All messages in one write.
    stream.cork();
    if (!this.#isKnown(wire)) this.#parse(wire);
    wire.bind({ statement: this.name, values: this.#values.map(asText) }, true);
    wire.execute({}, true);
    wire.sync();
    stream.uncork();
  }

  #isKnown({ parsedStatements, submittedNamedStatements }: Wire): boolean {
    if (this.name === "") return false;
    return parsedStatements[this.name] !== undefined || submittedNamedStatements[this.name] !== undefined;
  }

  #parse(wire: Wire): void {
    wire.parse({ name: this.name, text: this.text, types: [] }, true);
    if (this.name !== "") wire.submittedNamedStatements[this.name] = this.text;
  }

  handleDataRow({ fields }: { readonly fields: Texts }): void {
    this.#row = fields;
  }

  handleCommandComplete(): void {
    // The row is there; that the connection is free is still to come.
  }

  handleReadyForQuery(): void {
    this.#told(null, this.#row);
  }

  handleError(error: Error): void {
    this.#told(error, this.#row);
  }
}

/** As PostgreSQL reads a value of any type; a list as the text of an array. */
function asText(value: BindValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  return `{${value.map((element) => `"${element.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
