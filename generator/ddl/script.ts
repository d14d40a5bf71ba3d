/** A part of a script. A script runs as it is printed. */
export type LoadStep =
  | SqlStep
  /** Rows that a statement of DuckDB gives, one line of COPY's text format each, into a relation of PostgreSQL. */
  | { readonly kind: "copy"; readonly into: string; readonly select: string }
  /** The number that a statement of DuckDB gives, kept for the next statements of the session as `routewright.rows`. */
  | { readonly kind: "count"; readonly select: string };

export interface SqlStep {
  readonly kind: "sql";
  readonly text: string;
  /** Takes back what it did, where a later step fails. */
  readonly undo?: string;
  /** Runs on every node of a cluster, one after another; else on the first. */
  readonly onEachNode?: true;
  /** `commit`: what was made before it may be served from now on. `cleanup`: the load is done, also where it fails. */
  readonly phase?: "commit" | "cleanup";
}

/** The steps that load one relation. */
export interface RelationScript {
  /** `schema.name` */
  readonly name: string;
  /** What the user should know of the export: sentences. */
  readonly notes: readonly string[];
  readonly steps: readonly LoadStep[];
}

export const statement = (text: string, more: Omit<SqlStep, "kind" | "text"> = {}): SqlStep => ({
  kind: "sql",
  text,
  ...more,
});

/** A statement that runs on every node of a cluster. */
export const onEachNode = (text: string, more: Omit<SqlStep, "kind" | "text"> = {}): SqlStep =>
  statement(text, { ...more, onEachNode: true });
