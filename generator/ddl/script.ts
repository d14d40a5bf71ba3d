/** A part of a script. A script runs as it is printed. */
export type LoadStep =
  /** `undo`: removes what it made, where a later step fails. */
  | { readonly kind: "sql"; readonly text: string; readonly undo?: string }
  /** Rows that a statement of DuckDB gives, one line of COPY's text format each, into a relation of PostgreSQL. */
  | { readonly kind: "copy"; readonly into: string; readonly select: string }
  /** The number that a statement of DuckDB gives, kept for the next statements of the session as `routewright.rows`. */
  | { readonly kind: "count"; readonly select: string };

/** The steps that load one relation. */
export interface RelationScript {
  /** `schema.name` */
  readonly name: string;
  readonly steps: readonly LoadStep[];
}

export const statement = (text: string, undo?: string): LoadStep => ({
  kind: "sql",
  text,
  ...(undo && { undo }),
});
