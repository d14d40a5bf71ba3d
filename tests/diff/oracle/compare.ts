import type { CatalogueEntry } from "../../../generator/catalogue/catalogue.js";
import type { ShapeOutcome } from "../../../generator/diff/hits.js";
import type { ChangeSeverity } from "../../../generator/diff/change-kinds.js";
import { isGrouped, type OracleRequest } from "./requests.js";

/** A response as callers see it. */
export interface Served {
  readonly status: number;
  /** Those that may differ between revisions. */
  readonly headers: string;
  readonly body: string;
}

/** One thing that a caller notices, and the least severity that it calls for. */
export interface Difference {
  readonly needs: Exclude<ChangeSeverity, "compatible">;
  readonly what: string;
}

/** A request, and what both revisions answer. */
export interface Pair {
  readonly request: OracleRequest;
  readonly base: Served;
  readonly head: Served;
}

/** The endpoints of both revisions. */
export interface Revisions {
  readonly base: readonly CatalogueEntry[];
  readonly head: readonly CatalogueEntry[];
}

/** What callers of the base notice. */
export function differenceBetween(pairs: readonly Pair[], revisions: Revisions): readonly Difference[] {
  const found = pairs.flatMap((pair) => compare(pair, revisions.base));
  return distinct([...newlyVisible(pairs, revisions.head), ...found, ...kindChanges(pairs, revisions.base)]);
}

/** Links lead to other answers: they are no part of one. */
function withoutLink(pair: Pair): Pair {
  const of = (served: Served): Served => ({ ...served, headers: served.headers.replace(/^link: .*$/m, "") });
  return { ...pair, base: of(pair.base), head: of(pair.head) };
}

/** What becomes of one request: `broken`: its caller cannot go on with the answer of the head; `changed`: it differs. */
export function outcomeSeen(
  pair: Pair,
  known: readonly Pair[],
  entries: readonly CatalogueEntry[],
): { readonly outcome: ShapeOutcome; readonly what: string } {
  const found = [...compare(withoutLink(pair), entries), ...kindChanges([pair], entries, known)];
  const failure = found.find(({ needs }) => needs === "breaking")?.what ?? missingField(pair);
  if (failure !== null) return { outcome: "broken", what: failure };
  const [difference] = found;
  return difference === undefined
    ? { outcome: "unaffected", what: "" }
    : { outcome: "changed", what: difference.what };
}

/** Groups have the fields that were asked for, with a value or null. */
function missingField({ request, base, head }: Pair): string | null {
  if (!isGrouped(request) || base.status !== 200 || request.path.endsWith(".csv")) return null;
  const [before, after] = [rowsOf(base.body).rows[0], rowsOf(head.body).rows[0]];
  if (before === undefined || after === undefined) return null;
  return [...before.keys()].find((name) => !after.has(name)) ?? null;
}

function distinct(all: readonly Difference[]): readonly Difference[] {
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

function compare({ request, base, head }: Pair, entries: readonly CatalogueEntry[]): readonly Difference[] {
  if (base.status !== 200) return [];
  if (head.status !== 200) return [{ needs: "breaking", what: `200 → ${String(head.status)}` }];
  const { path } = request;
  const names = isGrouped(request) ? [] : namesOf(path, entries);
  return [
    ...(base.headers === head.headers ? [] : [{ needs: "warning", what: "headers" } as const]),
    ...(path.endsWith(".csv")
      ? compareCsv(base.body, head.body)
      : compareRows(rowsOf(base.body), rowsOf(head.body), names)),
  ];
}

function namesOf(path: string, entries: readonly CatalogueEntry[]): readonly string[] {
  const entry = entries.find((each) => path === each.path);
  return entry?.columns.map(({ name }) => name) ?? [];
}

/** JSON clients read fields by name: fields that came are no difference. Readers of CSV may go by position. */
function compareCsv(base: string, head: string): readonly Difference[] {
  const [[before = ""], [after = ""]] = [base, head].map((text) => text.split("\n")) as [string[], string[]];
  return after.trim().startsWith(before.trim()) ? [] : [{ needs: "warning", what: "columns of CSV" }];
}

/** A row by field, each value as its exact text. */
type Row = ReadonlyMap<string, string>;

interface Rows {
  readonly shape: "list" | "envelope";
  readonly rows: readonly Row[];
}

/** Keeps the text of numbers, which `JSON.parse` rounds. */
export function rowsOf(body: string): Rows {
  const exact = body.replaceAll(
    /("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)/g,
    (_, text: string | undefined, number: string) => text ?? `{"number":"${number}"}`,
  );
  const parsed = JSON.parse(exact) as object[] | { items: object[] };
  const rows = Array.isArray(parsed) ? parsed : parsed.items;
  return {
    shape: Array.isArray(parsed) ? "list" : "envelope",
    rows: rows.map(
      (row) => new Map(Object.entries(row).map(([name, value]) => [name, JSON.stringify(value)])),
    ),
  };
}

function compareRows(base: Rows, head: Rows, names: readonly string[]): readonly Difference[] {
  if (base.shape !== head.shape) return [{ needs: "breaking", what: "another JSON document" }];
  const known = names.length === 0 ? [...(base.rows[0]?.keys() ?? [])] : names;
  const [before, after] = [base, head].map(({ rows }) =>
    rows.map((row) => known.map((name) => row.get(name))),
  );
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ needs: "warning", what: "rows" }];
}

/** Fields that are gone, or hold another kind of JSON value than any that they held in the known answers. */
function kindChanges(
  pairs: readonly Pair[],
  entries: readonly CatalogueEntry[],
  known: readonly Pair[] = pairs,
): readonly Difference[] {
  return entries.flatMap(({ path }) => {
    const rowsIn = (all: readonly Pair[], side: "base" | "head"): readonly Row[] =>
      all
        .filter(
          ({ request, base, head }) =>
            request.path === path && !isGrouped(request) && base.status === 200 && head.status === 200,
        )
        .flatMap((pair) => rowsOf(pair[side].body).rows);
    const [before, after] = [rowsIn(known, "base"), rowsIn(pairs, "head")];
    const names = namesOf(path, entries);
    const fields = names.length === 0 ? [...(before[0]?.keys() ?? [])] : names;
    return fields.flatMap((name) => kindChange(name, before, after));
  });
}

function kindChange(name: string, base: readonly Row[], head: readonly Row[]): readonly Difference[] {
  const [before, after] = [base, head].map(
    (rows) => new Set(rows.map((row) => (row.has(name) ? kindOf(row.get(name) ?? "") : "missing"))),
  ) as [Set<string>, Set<string>];
  const fresh = [...after].filter((kind) => !before.has(kind));
  if (before.size === 0 || fresh.length === 0) return [];
  return [{ needs: "breaking", what: `${name}: ${[...before].join("/")} → ${fresh.join("/")}` }];
}

export function kindOf(text: string): string {
  if (text.startsWith('{"number":')) return "number";
  return text.startsWith('"')
    ? "string"
    : text.startsWith("{")
      ? "object"
      : text.startsWith("[")
        ? "list"
        : text;
}

/** Rows and fields that a caller reads in the head and could not read in the base, by requests that need no knowledge. */
function newlyVisible(pairs: readonly Pair[], entries: readonly CatalogueEntry[]): readonly Difference[] {
  const secret = entries.flatMap((entry) =>
    entry.columns.filter((column) => entry.private || column.private).map(({ name }) => name),
  );
  return [null, "tier0", "tier1", "tier2", "tier3"].flatMap((tier): Difference[] => {
    const own = pairs.filter(({ request }) => request.tier === tier && !request.path.endsWith(".csv"));
    const seen = (side: "base" | "head"): Set<string> =>
      new Set(
        own
          .filter((pair) => pair[side].status === 200)
          .flatMap((pair) => identities(pair[side].body, isGrouped(pair.request), secret)),
      );
    const before = seen("base");
    const fresh = [...seen("head")].filter((row) => !before.has(row));
    // Whoever needs no key is everybody.
    return fresh.length === 0
      ? []
      : [{ needs: "exposing", what: `${tier ?? "no key"}: ${String(fresh.length)} rows more` }];
  });
}

/** Rows by their day, which each has its own of, and the secret fields that they show. Groups are no rows of the relation. */
function identities(body: string, areGroups: boolean, secret: readonly string[]): readonly string[] {
  return rowsOf(body).rows.flatMap((row) => [
    ...(areGroups ? [] : [row.get("day") ?? row.get("id") ?? JSON.stringify([...row])]),
    ...["hidden", ...secret].filter((name) => row.has(name)),
  ]);
}
