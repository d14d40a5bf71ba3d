import { severityOf } from "../report/finding.js";
import { TIERS } from "@routewright/runtime/model";
import { type Catalogue, type CatalogueEntry, problemText, type Skipped } from "../catalogue/catalogue.js";
import { privateGroups, privateMetrics } from "../catalogue/metrics/private-groups.js";
import { type Change, type Difference, inOrder } from "./change.js";
import { type ChangeKind, type ChangeSeverities, type ChangeSeverity, KINDS } from "./change-kinds.js";
import { type LostMarks, MarkComparison, withMarks } from "./lost-marks.js";
import { compareEndpoints, tierDetails } from "./compare-endpoints.js";
import { formerPathsLine, type SunsetPolicy } from "./compare-sunsets.js";
import { atAllPaths, isOtherVersion, isVersionPathOfBoth, type ServedEntry } from "./served-entries.js";

/** All changes from one catalogue to another, in order. Pure. */
export function compareCatalogues(
  base: Catalogue,
  head: Catalogue,
  sunsetPolicy: SunsetPolicy,
  severities: ChangeSeverities = {},
): readonly Change[] {
  const { pairs, removed, added } = matchEndpoints(atAllPaths(base.entries), atAllPaths(head.entries));
  const marks = new MarkComparison(base, head);
  const changes = [
    ...pairs.flatMap(([before, after]) =>
      before === after && !marks.hasAny ? [] : changesOf(before, after, base.entries, marks, sunsetPolicy),
    ),
    ...removed.map((entry) => removal(entry, head, sunsetPolicy)),
    ...added.flatMap((entry) =>
      additionsOf(entry, base.entries, marks).map((difference) => withLocation(entry, difference)),
    ),
  ];
  return changes
    .flatMap((change) => {
      const severity = severityOf<ChangeKind, ChangeSeverity>(KINDS, change.kind, severities);
      return severity === null ? [] : [rated(change, severity)];
    })
    .sort(inOrder);
}

/** Consumers of a preview were told that it may break; nobody was told that it may open data. */
function rated(change: Unrated, severity: ChangeSeverity): Change {
  return change.isPreview && severity === "breaking"
    ? { severity: "warning", ...change, details: [...change.details, PREVIEW] }
    : { severity, ...change };
}

const PREVIEW = "The endpoint was a preview: its consumers were told that it may change.";

type Unrated = Omit<Change, "severity">;
type EntryPair = readonly [base: ServedEntry, head: ServedEntry];

function changesOf(
  base: ServedEntry,
  head: ServedEntry,
  all: readonly CatalogueEntry[],
  marks: MarkComparison,
  sunsetPolicy: SunsetPolicy,
): readonly Unrated[] {
  const { path, tier, model } = base;
  const file = head.file || (model === head.model ? base.file : "") || null;
  const lost = marks.lostOf(head, base);
  const judged = { ...withMarks(head, lost), lostColumns: lost.columns };
  const differences = [
    ...((base.isFormer && head.isFormer) || isVersionPathOfBoth(base, head)
      ? []
      : lostMarks(lost, shownNames(base))),
    ...compareRows(base, judged, all),
    ...compareEndpoints(base, judged, sunsetPolicy),
  ];
  const isPreview = base.stability === "preview";
  return differences.map((difference) => {
    return {
      ...withLocation({ ...head, owner: head.owner ?? base.owner }, difference),
      endpoint: path,
      tier,
      file,
      ...(isPreview && { isPreview }),
    };
  });
}

/** Names of what callers of an endpoint see or ask: the rest is new to them, and its own kind of change. */
function shownNames({ columns, parameters, filters = [], aggregate }: CatalogueEntry): ReadonlySet<string> {
  const asked = [...parameters, ...filters].map(({ column }) => column);
  const grouped = aggregate?.measures.flatMap(({ name, groups }) => [
    name,
    ...groups.map((group) => group.name),
  ]);
  return new Set([...columns.map(({ name }) => name), ...asked, ...(grouped ?? [])]);
}

function lostMarks({ parts, whole }: LostMarks, shown: ReadonlySet<string> | null): readonly Difference[] {
  if (whole !== undefined) return [{ kind: "private-mark-removed", before: whole }];
  return [...parts]
    .filter(([name]) => shown?.has(name) ?? true)
    .map(([subject, before]) => ({ kind: "private-mark-removed", subject, before }));
}

/** A new endpoint: its tier tells reviewers who can read it, and endpoints of one tier are grouped. */
function additionsOf(
  entry: CatalogueEntry,
  all: readonly CatalogueEntry[],
  marks: MarkComparison,
): readonly Difference[] {
  const { tier } = entry;
  const origins = originsOf(entry, all);
  const lost = marks.lostOf(entry, origins[0] ?? null);
  const marked = tier === "tier0" ? privateParts(withMarks(entry, lost)) : [];
  const hidden = origins.find((origin) => isHigher(origin, entry));
  return [
    ...lostMarks(lost, null),
    { kind: "endpoint-added", after: tier, details: tierDetails(entry) },
    ...(marked.length === 0 ? [] : [{ kind: "private-endpoint-added", after: marked.join(", ") } as const]),
    ...(hidden === undefined ? [] : [rowsExposed(hidden, entry)]),
  ];
}

/** Rows of another endpoint or of a private relation, which a path serves from now on. */
function compareRows(
  base: CatalogueEntry,
  head: CatalogueEntry,
  all: readonly CatalogueEntry[],
): readonly Difference[] {
  if (base.uniqueId === head.uniqueId && isOneRelation(base, head)) return [];
  const origins = originsOf(head, all).filter((origin) => origin !== base);
  const hidden = origins.find((origin) => isHigher(origin, head));
  if (hidden !== undefined) return [rowsExposed(hidden, head)];
  const marked = privateParts(head).filter((part) => !privateParts(base).includes(part));
  if (marked.length > 0) return [{ kind: "rows-exposed", after: `private: ${marked.join(", ")}` }];
  const [origin] = isOneRelation(base, head) || isOtherVersion(base, head) ? [] : origins;
  return origin === undefined
    ? []
    : [{ kind: "rows-exchanged", before: base.model, after: originText(origin) }];
}

/** The endpoints of the base that have an endpoint's model or relation. */
function originsOf(entry: CatalogueEntry, all: readonly CatalogueEntry[]): readonly CatalogueEntry[] {
  return all.filter((other) => other.uniqueId === entry.uniqueId || isOneRelation(other, entry));
}

function isOneRelation(one: CatalogueEntry, other: CatalogueEntry): boolean {
  return one.relation.every((name, i) => name === other.relation[i]);
}

function isHigher(one: CatalogueEntry, other: CatalogueEntry): boolean {
  return TIERS.indexOf(one.tier) > TIERS.indexOf(other.tier);
}

function rowsExposed(origin: CatalogueEntry, head: CatalogueEntry): Difference {
  return { kind: "rows-exposed", before: originText(origin), after: head.tier };
}

function originText({ path, tier }: CatalogueEntry): string {
  return `${path} (${tier})`;
}

/** The columns, groups and metrics marked private, or all of the model. */
function privateParts(entry: CatalogueEntry): readonly string[] {
  const columns = entry.columns.filter((column) => entry.private || column.private);
  const names = [...columns.map(({ name }) => name), ...privateGroups(entry), ...privateMetrics(entry)];
  return [...(entry.private ? ["the model"] : []), ...new Set(names)];
}

function removal(entry: CatalogueEntry, head: Catalogue, policy: SunsetPolicy): Unrated {
  const { path, deprecationDate } = entry;
  const isDue = deprecationDate !== null && deprecationDate.slice(0, 10) <= policy.today;
  const reason = head.skipped.find(({ model }) => model === entry.uniqueId);
  const moved = head.entries.find(({ uniqueId }) => uniqueId === entry.uniqueId);
  const details = [
    ...(reason === undefined ? [] : detailsOf(reason)),
    ...(moved === undefined || isDue ? [] : [formerPathsLine(path, moved, policy)]),
  ];
  const change = withLocation(entry, { kind: isDue ? "endpoint-retired" : "endpoint-removed", details });
  const isPreview = entry.stability === "preview";
  return { ...change, file: reason?.file || entry.file || null, ...(isPreview && { isPreview }) };
}

function detailsOf({ reason, problems }: Skipped): readonly string[] {
  const lines = problems.map(problemText);
  switch (reason) {
    case "invalid":
      return ["The model is invalid, so it has no endpoint any more:", ...lines];
    case "path-taken":
      return ["Another model has taken its path:", ...lines];
    case "excluded":
      return ["The model is excluded by meta.api.exclude_from_api.", ...lines];
  }
}

function withLocation(
  { path, model, tier, file, owner }: Omit<CatalogueEntry, "owner"> & { readonly owner?: string | undefined },
  difference: Difference,
): Unrated {
  const { kind, subject = null, before = null, after = null, details = [] } = difference;
  const place = { endpoint: path, model, file: file || null, ...(owner !== undefined && { owner }), tier };
  return { kind, ...place, subject, before, after, details };
}

export interface Matching {
  readonly pairs: readonly EntryPair[];
  readonly removed: readonly ServedEntry[];
  readonly added: readonly ServedEntry[];
}

/**
 * Pairs endpoints by path, since that is what consumers call; of the rest, those of one model, which has moved. A path
 * that another model has taken over stays a pair: it is still served.
 */
export function matchEndpoints(base: readonly ServedEntry[], head: readonly ServedEntry[]): Matching {
  const byPath = pairBy(base, head, ({ path }) => path);
  const byId = pairBy(byPath.removed, byPath.added, (entry) => (isOwn(entry) ? entry.uniqueId : null));
  // A renamed dbt project changes every `unique_id`.
  const byName = pairBy(byId.removed, byId.added, (entry) => (isOwn(entry) ? entry.model : null));
  return { ...byName, pairs: [...byPath.pairs, ...byId.pairs, ...byName.pairs] };
}

/** Whether an entry is at its endpoint's own path. */
function isOwn({ isFormer, isVersionPath }: ServedEntry): boolean {
  return isFormer !== true && isVersionPath !== true;
}

/** Pairs endpoints whose key no other endpoint of their revision has, so that no pair is a guess. */
function pairBy(base: readonly ServedEntry[], head: readonly ServedEntry[], keyOf: KeyOf): Matching {
  const [inBase, inHead] = [uniqueByKey(base, keyOf), uniqueByKey(head, keyOf)];
  const pairs = [...inBase].flatMap(([key, entry]): EntryPair[] => {
    const other = inHead.get(key);
    return other === undefined ? [] : [[entry, other]];
  });
  const paired = new Set(pairs.flat());
  const rest = (all: readonly ServedEntry[]) => all.filter((entry) => !paired.has(entry));
  return { pairs, removed: rest(base), added: rest(head) };
}

/** Null for an entry that is not paired by this key. */
type KeyOf = (entry: ServedEntry) => string | null;

function uniqueByKey(all: readonly ServedEntry[], keyOf: KeyOf) {
  const counts = new Map<string | null, number>();
  for (const entry of all) counts.set(keyOf(entry), (counts.get(keyOf(entry)) ?? 0) + 1);
  const unique = all.filter((entry) => keyOf(entry) !== null && counts.get(keyOf(entry)) === 1);
  return new Map(unique.map((entry) => [keyOf(entry), entry]));
}
