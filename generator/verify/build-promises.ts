import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { list, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt } from "./checks.js";

/** A relation that is read, as `<schema>.<name>`. */
export interface Read {
  readonly relation: string;
  /** Rows that ClickHouse merges while it reads them. */
  readonly isFinal?: boolean;
}

/** What the rows of a relation depend on besides its own stored ones, without what it reads in turn. */
export interface LiveSource {
  readonly reads: readonly Read[];
  /** Functions whose result changes without a build. */
  readonly functions: readonly string[];
  /** Why its rows change without a build by themselves, as the end of a sentence about it. */
  readonly reasons: readonly string[];
}

export type ReadSource = (read: Read) => Promise<LiveSource>;

/** What breaks the promise `changes: on_build`, and which endpoints without it could make it. */
export interface PromiseReview {
  readonly mismatches: readonly Mismatch[];
  /** Paths. */
  readonly couldPromise: readonly string[];
}

/**
 * Follows what each endpoint reads in the database: all of it must be a node above the endpoint's model in dbt. An endpoint whose
 * nodes the lineage does not list is served as without the promise.
 */
export async function verifyPromises(
  { entries, lineage }: Catalogue,
  readSource: ReadSource,
  isToCheck: (entry: CatalogueEntry) => boolean,
): Promise<PromiseReview> {
  const read = remembered(readSource);
  const mismatches: Mismatch[] = [];
  const couldPromise: string[] = [];
  for (const entry of entries) {
    const upstream = lineage.upstreamNodes.get(entry.path);
    if (upstream === undefined || !isToCheck(entry)) continue;
    const relations = upstream.flatMap((id) => lineage.nodes.get(id)?.relation?.join(".") ?? []);
    const found = await breaksOf(entry, new Set(relations), read);
    if (entry.changes !== undefined) mismatches.push(...found);
    else if (found.length === 0) couldPromise.push(entry.path);
  }
  return { mismatches, couldPromise };
}

async function breaksOf(
  entry: CatalogueEntry,
  upstream: ReadonlySet<string>,
  readSource: ReadSource,
): Promise<readonly Mismatch[]> {
  const broken = (message: ReturnType<typeof sentence>): readonly Mismatch[] =>
    mismatchAt(entry, "broken-promise", message, HINT);
  const start: Read = { relation: entry.relation.join(".") };
  const reached = new Map([[keyOf(start), start]]);
  const breaks: Mismatch[] = [];
  // Iterating a map visits the members added meanwhile.
  for (const read of reached.values()) {
    const { relation } = read;
    const { reads, functions, reasons } = await readSource(read);
    const others = reads.filter((each) => !upstream.has(each.relation)).map((each) => each.relation);
    for (const each of reads) if (upstream.has(each.relation)) reached.set(keyOf(each), each);
    if (others.length > 0)
      breaks.push(...broken(sentence`${relation} reads ${unique(others)}, no node above the model in dbt.`));
    if (functions.length > 0)
      breaks.push(
        ...broken(sentence`${relation} calls ${unique(functions)}: the result changes between builds.`),
      );
    for (const reason of reasons) breaks.push(...broken({ words: ["", ` ${reason}.`], names: [relation] }));
  }
  return breaks;
}

const HINT =
  "Remove `changes: on_build` from the model, or let dbt build what it reads: `ref` instead of a name, a stored column instead of the call.";

function unique(names: readonly string[]): ReturnType<typeof list> {
  return list([...new Set(names)].sort());
}

function keyOf({ relation, isFinal = false }: Read): string {
  return `${isFinal ? "final " : ""}${relation}`;
}

/** Endpoints share what they read. */
function remembered(readSource: ReadSource): ReadSource {
  const known = new Map<string, Promise<LiveSource>>();
  return (read) => {
    const source = known.get(keyOf(read)) ?? readSource(read);
    known.set(keyOf(read), source);
    return source;
  };
}
