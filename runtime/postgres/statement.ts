import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { IsStillNeeded } from "../query/warehouse.js";

/** How long a query may run, and whether its result is still needed. */
export interface QueryLimits {
  /** 0: only the session's limit. */
  readonly timeoutMs: number;
  readonly isStillNeeded: IsStillNeeded;
}

/** The columns of a row, as text. */
export type Texts = readonly (string | null)[];

/** Receives the rows of a statement, or its error. */
export type Done = (error: Error | null, rows: readonly Texts[]) => void;

/** Bounded (LRU), since callers choose filters and order. */
const MAX_TEXTS = 1000;

/** Growth of the remembered time per run: a statement that became slow counts as slow after some runs. */
const GROWTH = 1.1;

/** A statement that connections prepare: its name, and how long it takes. */
export class PreparedStatement {
  /** A hash of the text, so that a name means the same text on every connection. */
  readonly name: string;
  /** The shortest time of the last runs: the others also waited for the event loop or for a processor. */
  #expectedMs = Infinity;

  constructor(text: string) {
    this.name = `rw_${hash("sha1", text).slice(0, 24)}`;
  }

  /** How long it will take, in milliseconds; infinite until it has run. */
  get expectedMs(): number {
    return this.#expectedMs;
  }

  noteDuration(milliseconds: number): void {
    this.#expectedMs = Math.min(milliseconds, this.#expectedMs * GROWTH);
  }

  /** It counts as slow until its next run. */
  noteSlow(): void {
    this.#expectedMs = Infinity;
  }
}

const STATEMENTS = new LRUCache<string, PreparedStatement>({ max: MAX_TEXTS });

/** Null at the first use of a text: unique texts would only fill the database's memory. */
export function preparedStatement(text: string): PreparedStatement | null {
  const known = STATEMENTS.get(text);
  if (known === undefined) STATEMENTS.set(text, new PreparedStatement(text));
  return known ?? null;
}
