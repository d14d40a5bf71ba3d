import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import type { Difference } from "./change.js";
import { KINDS } from "./change-kinds.js";
import { compareAnswers } from "./compare-endpoints.js";

/** Changes that documents list of one endpoint. */
const MAX_CHANGES = 50;

/** The catalogue with what changes for callers who move from an endpoint to its successor. */
export function withSuccessorChanges(catalogue: Catalogue): Catalogue {
  const byPath = new Map(catalogue.entries.map((entry) => [entry.path, entry]));
  const entries = catalogue.entries.map((entry) => {
    const successor = byPath.get(entry.successor ?? "");
    const changes = successor === undefined ? [] : changesTo(entry, successor);
    return changes.length === 0 ? entry : { ...entry, successorChanges: changes };
  });
  return { ...catalogue, entries };
}

function changesTo(entry: CatalogueEntry, successor: CatalogueEntry): readonly string[] {
  const texts = compareAnswers(entry, successor).map(textOf);
  const more = texts.length - MAX_CHANGES;
  return more > 0 ? [...texts.slice(0, MAX_CHANGES), `${String(more)} more`] : texts;
}

/** `Column retyped: amount (integer → text)`. */
function textOf({ kind, subject, before = null, after = null }: Difference): string {
  const name = subject === undefined ? "" : `: ${subject}`;
  const values = before === null || after === null ? "" : ` (${before} → ${after})`;
  return `${KINDS[kind].title}${name}${values}`;
}
