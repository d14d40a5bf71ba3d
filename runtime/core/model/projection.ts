import { hash } from "node:crypto";
import type { Column } from "./endpoint.js";

let made = 0;

/**
 * The declared columns that a row has, in their order. What is made of it is kept with it. Without columns, those of the relation.
 */
export class Projection {
  /** Of this object in its process. */
  readonly id = String(made++);
  readonly columns: readonly Column[];
  #digest: string | null = null;
  #relation: object | null = null;
  #served: object | null = null;

  constructor(columns: readonly Column[]) {
    this.columns = columns;
  }

  /** Digest of the columns: a refresh may change them while the rows stay the same. */
  get digest(): string {
    return (this.#digest ??= hash("sha1", JSON.stringify(this.columns), "base64"));
  }

  /** What is made of it for the columns of its relation: again where these are others than the last time. */
  for<R extends object, T extends object>(
    relation: R,
    make: (relation: R, columns: readonly Column[]) => T,
  ): T {
    if (this.#relation !== relation) {
      this.#served = make(relation, this.columns);
      this.#relation = relation;
    }
    return this.#served as T;
  }
}
