import type { LetterCase } from "@routewright/runtime/model";
import { clickhousePaths } from "./clickhouse.js";
import type { Term } from "./expression.js";
import type { Node } from "./node.js";
import { postgresPaths } from "./postgres.js";
import type { Engine } from "./project.js";

/** What is asked of a column: its value, a range of it, a text in it, or the rows in its order. */
export type Need = "equal" | "range" | "pattern" | "order";

/** A way to rows without reading the whole table. */
export interface AccessPath {
  /** What comes first in it: only that serves a request by itself. */
  readonly term: Term;
  readonly needs: readonly Need[];
  /** Whether a function of a column, such as a date's month, serves the column itself. */
  readonly throughFunctions: boolean;
}

/** The ways that a table declares; null where there may be others, made in a hook. */
export function accessPathsOf(table: Node, engine: Engine): readonly AccessPath[] | null {
  if (mentionsIndex(table.config["post-hook"]) || mentionsIndex(table.config["pre-hook"])) return null;
  switch (engine) {
    case "postgres":
      return postgresPaths(table);
    case "clickhouse":
      return clickhousePaths(table);
  }
}

function mentionsIndex(hook: unknown): boolean {
  return hook !== undefined && /\b(?:index|projection)\b/i.test(JSON.stringify(hook));
}

/** Functions that scatter neighbouring values, and the two that `case` asks for by name. */
const SCATTERING = /hash|^(?:lower|upper|reverse|md5|sha\d*)$/i;

/** Whether a way serves a column, which `case` may wrap in `lower` or `upper`. */
export function serves(
  { term, needs, throughFunctions }: AccessPath,
  column: string,
  need: Need,
  letterCase: LetterCase | null,
): boolean {
  if (!needs.includes(need)) return false;
  switch (term.kind) {
    case "column":
      return letterCase === null && term.column === column;
    case "call":
      if (!term.columns.includes(column)) return false;
      return letterCase === null ? throughFunctions && !SCATTERING.test(term.name) : term.name === letterCase;
    case "other":
      return term.columns.includes(column);
  }
}
