import type { BindValue, Statement } from "../query/sql.js";
import type { Part, Texts } from "./batch.js";
import type { Connection, Waiter } from "./connections.js";
import type { QueryLimits } from "./query-watchdog.js";
import type { NamedStatement } from "./named-statements.js";

/** There is a row unless there is an error. */
type Told = (error: Error | null, row: Texts) => void;

/** A statement that gives one row, on its way. Calls back once. */
export class OneRow implements Waiter, Part {
  readonly text: string;
  readonly values: readonly BindValue[];
  readonly name: string;
  readonly named: NamedStatement | null;
  readonly terms: QueryLimits;
  readonly since = performance.now();
  readonly #told: Told;
  /** Whether it was asked with others in vain. */
  isAlone = false;

  constructor({ text, values }: Statement, named: NamedStatement | null, terms: QueryLimits, told: Told) {
    this.text = text;
    this.values = values;
    this.name = named?.name ?? "";
    this.named = named;
    this.terms = terms;
    this.#told = told;
  }

  /** What it is likely to take on a connection, in milliseconds; Infinity where that cannot be told. */
  expectedMs({ prepared }: Connection): number {
    return this.named === null || this.isAlone || !prepared.has(this.name) ? Infinity : this.named.expectedMs;
  }

  /** It was answered on a connection. */
  took(ms: number, isAlone: boolean, { prepared }: Connection): void {
    if (this.named === null) return;
    this.named.took(ms, isAlone);
    prepared.add(this.name);
  }

  answered(row: Texts): void {
    this.#told(null, row);
  }

  failed(error: Error): void {
    this.#told(error, []);
  }
}
