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
  /** Gets the row, one without columns when there is none. */
  answered(row: Texts): void;
}

/** What `pg` remembers on a connection of the statements with a name. */
interface Wire extends pg.Connection {
  /** Texts by name, of those that the database has. */
  readonly parsedStatements: Record<string, string>;
  /** Texts by name, of those that are on their way. */
  readonly submittedNamedStatements: Record<string, string>;
}

/**
 * Statements that go to the database in one write, and are answered one after the other. A query of `pg` also asks the
 * database for the types of the columns and makes objects of the rows, each time: at a small answer that is a good part
 * of the work on both sides.
 *
 * The methods are those that `pg` calls on what it is given to send, in the order of PostgreSQL's messages.
 */
export class Batch implements pg.Submittable {
  readonly #parts: readonly Part[];
  readonly #ended: (error: Error | null) => void;
  #answered = 0;
  #row: Texts = [];

  /**
   * Of several parts the database must have been given all before. `ended` is called once; after an error the parts that
   * were not answered by then never are.
   */
  constructor(parts: readonly Part[], ended: (error: Error | null) => void) {
    this.#parts = parts;
    this.#ended = ended;
  }

  /** By which `pg` remembers what was parsed. */
  get name(): string {
    return this.#parts[0]?.name ?? "";
  }

  get text(): string {
    return this.#parts[0]?.text ?? "";
  }

  submit(connection: pg.Connection): void {
    const wire = connection as Wire;
    wire.stream.cork();
    for (const part of this.#parts) {
      if (!isKnown(wire, part)) parse(wire, part);
      wire.bind({ statement: part.name, values: part.values.map(asText) }, true);
      wire.execute({}, true);
    }
    wire.sync();
    wire.stream.uncork();
  }

  handleDataRow({ fields }: { readonly fields: Texts }): void {
    this.#row = fields;
  }

  handleCommandComplete(): void {
    const row = this.#row;
    this.#row = [];
    this.#parts[this.#answered++]?.answered(row);
  }

  handleReadyForQuery(): void {
    this.#ended(null);
  }

  handleError(error: Error): void {
    this.#ended(error);
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
