import { setImmediate } from "node:timers/promises";

/** The part of `catalogue.json` that is read; the endpoint itself comes from the active release. */
interface CatalogueFile {
  readonly endpoints?: readonly EndpointRecord[];
  readonly categories?: Readonly<Record<string, string>>;
}

export interface EndpointRecord {
  readonly path: string;
  readonly uniqueId: string;
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  readonly description: string;
  readonly synonyms?: readonly string[];
  readonly columns: readonly {
    readonly name: string;
    readonly description?: string;
    readonly acceptedValues?: readonly string[];
    readonly example?: unknown;
  }[];
  readonly parameters: readonly { readonly name: string; readonly description?: string }[];
}

export interface LineageFile {
  readonly nodes?: LineageNodes;
}

export type LineageNodes = Readonly<
  Record<string, { readonly parents: readonly string[]; readonly tests: readonly string[] }>
>;

/** Size of the pieces of `catalogue.json` between which other requests run. */
const PIECE_CHARS = 1_000_000;

/** Reads `catalogue.json`: of 15,000 endpoints it has 30 MB, so its list is parsed in pieces, cut where the generator ends a line. */
export async function readCatalogue(text: string): Promise<CatalogueFile> {
  const [opening, closing] = ['"endpoints": [\n', "\n  ]"];
  const first = text.indexOf(opening) + opening.length;
  const last = text.indexOf(closing, first);
  if (first < opening.length || last === -1) return parseObject(text);
  const endpoints: EndpointRecord[] = [];
  for (let start = first; start < last;) {
    const cut = text.indexOf("\n    },\n", start + PIECE_CHARS);
    const end = cut === -1 || cut > last ? last : cut + "\n    }".length;
    const piece = parseObject(`[${text.slice(start, end)}]`);
    if (!Array.isArray(piece)) return {};
    endpoints.push(...(piece as EndpointRecord[]));
    start = end + 1;
    await setImmediate();
  }
  return { ...parseObject(`${text.slice(0, first)}${text.slice(last)}`), endpoints };
}

/** A damaged file counts as empty. */
export function parseObject(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    return {};
  }
}
