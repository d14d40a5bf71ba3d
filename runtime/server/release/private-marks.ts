import type { CompressedText } from "../../core/http/compressed-text.js";

interface MarkedEndpoint {
  readonly path: string;
  readonly private?: boolean;
  readonly columns: readonly { readonly name: string; readonly private?: boolean }[];
}

/**
 * Whether a text of `catalogue.json` marks a column as private data, or its model; what it does not describe counts as private. The file is
 * read at the first question: few servers are asked.
 */
export function privateMarks(catalogue: CompressedText): (path: string, column: string) => boolean {
  let publicColumns: ReadonlyMap<string, ReadonlySet<string>> | null = null;
  return (path, column) => {
    publicColumns ??= publicColumnsIn(catalogue.text());
    return publicColumns.get(path)?.has(column) !== true;
  };
}

/** A damaged file describes nothing. */
function publicColumnsIn(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const endpoints = markedIn(text).filter((endpoint) => endpoint.private !== true);
  return new Map(
    endpoints.map(({ path, columns }) => [
      path,
      new Set(columns.filter((column) => column.private !== true).map(({ name }) => name)),
    ]),
  );
}

function markedIn(text: string): readonly MarkedEndpoint[] {
  try {
    const { endpoints = [] } = JSON.parse(text) as { readonly endpoints?: readonly MarkedEndpoint[] };
    return endpoints;
  } catch {
    return [];
  }
}
