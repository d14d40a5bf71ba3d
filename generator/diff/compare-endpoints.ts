import {
  atOtherPaths,
  type Endpoint,
  type FormerPath,
  freshnessText,
  TIERS,
} from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedColumn, DescribedParameter } from "../catalogue/catalogue.js";
import type { DescribedMeasure } from "../catalogue/metrics/metric-columns.js";
import type { Difference } from "./change.js";
import { compareAggregates, compareRollUps, servesRows } from "./compare-aggregates.js";
import { compareColumns } from "./compare-columns.js";
import { compareOwnRows } from "./compare-meanings.js";
import { compareMaximum, compareParameters } from "./compare-parameters.js";
import {
  compareEnds,
  DAY_MS,
  daysUntil,
  isOtherVersion,
  noticeText,
  type SunsetPolicy,
} from "./compare-versions.js";

/** The differences between two revisions of an endpoint. */
export function compareEndpoints(
  base: ServedEntry,
  head: ServedEntry,
  sunsetPolicy: SunsetPolicy,
): readonly Difference[] {
  // The changes of the model are those of its own path.
  if (base.isFormer && head.isFormer && base.uniqueId === head.uniqueId)
    return compareNotices(base, head, sunsetPolicy);
  if (isVersionPathOfBoth(base, head)) return [];
  return [
    ...compareOwnPath(base, head, sunsetPolicy),
    ...compareSource(base, head),
    ...compareAnswers(base, head),
    ...compareNotices(base, head, sunsetPolicy),
    ...compareEnds(base, head, sunsetPolicy),
    ...compareStability(base, head),
    ...compareFreshness(base, head),
    ...compareRequireFresh(base, head),
    ...compareFailedTests(base, head),
    ...compareEnforced(base, head),
    ...compareRollUps(base, head),
    ...compareDocumentation(base, head),
  ];
}

/** What callers ask and get. */
export function compareAnswers(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  return [
    ...compareTiers(base, head),
    ...compareNames("method", base.methods, head.methods),
    ...compareParameters(base, head),
    ...comparePagination(base, head),
    ...(servesRows(base) && servesRows(head) ? compareRows(base, head) : []),
    ...withOwnRows(base, head, compareAggregates(base, head)),
  ];
}

/** Of one endpoint: its changes are those of its own path. */
export function isVersionPathOfBoth(base: ServedEntry, head: ServedEntry): boolean {
  return base.isVersionPath === true && head.isVersionPath === true && base.uniqueId === head.uniqueId;
}

/** What the rows themselves are. */
function compareRows(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  return [
    ...compareFieldsSetting(base, head),
    ...compareExpressions(base, head),
    ...compareCursors(base.cursor?.join(", "), head.cursor?.join(", ")),
    ...compareColumns(base, head),
    ...compareFixedSort(base, head),
    ...compareNames("sortable-field", base.sortableFields, head.sortableFields),
  ];
}

/** Whose rows an endpoint reads; a change that one of its relations explains is reported there. */
function withOwnRows(
  base: Endpoint,
  head: Endpoint,
  ofAggregate: readonly Difference[],
): readonly Difference[] {
  const own = compareOwnRows(base.rows?.column, head.rows?.column);
  return [...own.filter(({ kind }) => !ofAggregate.some((each) => each.kind === kind)), ...ofAggregate];
}

function compareStability(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const [before, after] = [base.stability ?? "stable", head.stability ?? "stable"];
  if (before === after) return [];
  return [{ kind: after === "preview" ? "stability-lowered" : "stability-raised", before, after }];
}

/** A promise is looser where a bound is gone, longer or at another time of day that is not earlier in the same zone. */
function compareFreshness(
  { freshness: base }: Endpoint,
  { freshness: head }: Endpoint,
): readonly Difference[] {
  const [before, after] = [base, head].map((each) => each && freshnessText(each));
  if (before === after) return [];
  const isLonger = (bound: "within" | "warnAfter" | "errorAfter"): boolean =>
    (base?.[bound] ?? Infinity) < (head?.[bound] ?? Infinity);
  const isLooser =
    isLonger("within") || isLonger("warnAfter") || isLonger("errorAfter") || isLater(base?.by, head?.by);
  return [{ kind: isLooser ? "freshness-loosened" : "freshness-tightened", before, after }];
}

function compareRequireFresh(
  { requireFresh: base }: Endpoint,
  { requireFresh: head }: Endpoint,
): readonly Difference[] {
  return base === head ? [] : [{ kind: head ? "require-fresh-added" : "require-fresh-removed" }];
}

function compareFailedTests(
  { onFailedTest: base }: Endpoint,
  { onFailedTest: head }: Endpoint,
): readonly Difference[] {
  return base === head ? [] : [{ kind: head ? "failed-tests-refused" : "failed-tests-served" }];
}

/** One finding, since a contract takes its constraints with it. */
function compareEnforced(
  { enforced: base = [] }: CatalogueEntry,
  { enforced: head = [] }: CatalogueEntry,
): readonly Difference[] {
  const gone = base.filter((each) => !head.includes(each));
  const added = head.filter((each) => !base.includes(each));
  return [
    ...(gone.length === 0 ? [] : [{ kind: "constraint-removed", before: gone.join(", ") } as const]),
    ...(added.length === 0 ? [] : [{ kind: "constraint-added", after: added.join(", ") } as const]),
  ];
}

function isLater(base: string | undefined, head: string | undefined): boolean {
  if (base === undefined || base === head) return false;
  const [[time = "", zone], [later = "", other]] = [base.split(" "), (head ?? "").split(" ")];
  return zone !== other || later > time;
}

function compareOwnPath(base: Endpoint, head: Endpoint, policy: SunsetPolicy): readonly Difference[] {
  if (base.path === head.path) return [];
  const details = [formerPathsLine(base.path, head, policy)];
  return [{ kind: "path-moved", before: base.path, after: head.path, details }];
}

/** Model and relation. By default a relation has the name of its model: if both change, only the model is reported. */
function compareSource(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  // Metrics share a path, and each reads relations of its own.
  if (isOfMetrics(base) && isOfMetrics(head)) return [];
  if (isOtherVersion(base, head))
    return [{ kind: "version-changed", before: base.version, after: head.version }];
  const [before, after] = [relationText(base), relationText(head)];
  if (base.model !== head.model)
    return [
      { kind: "model-changed", before: `${base.model} (${before})`, after: `${head.model} (${after})` },
    ];
  if (before === after) return [];
  const [[schema, name], [newSchema, newName]] = [base.relation, head.relation];
  if (name === newName)
    return [{ kind: "relation-changed", subject: "schema", before: schema, after: newSchema }];
  if (schema === newSchema)
    return [{ kind: "relation-changed", subject: "name", before: name, after: newName }];
  return [{ kind: "relation-changed", before, after }];
}

function isOfMetrics({ aggregate }: Endpoint): boolean {
  return aggregate?.of === "metrics";
}

function relationText({ relation }: Endpoint): string {
  return relation.map((name) => JSON.stringify(name)).join(".");
}

function compareTiers({ tier: before }: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const { tier: after } = head;
  if (before === after) return [];
  const kind = TIERS.indexOf(after) > TIERS.indexOf(before) ? "tier-raised" : "tier-lowered";
  return [{ kind, before, after, details: tierDetails(head) }];
}

/** A note for an endpoint that has the default tier. */
export function tierDetails({ hasTierTag }: CatalogueEntry): readonly string[] {
  return hasTierTag ? [] : ["No tag of the model names a tier: the default tier applies."];
}

/** The columns that end the sort, as text; undefined without cursors. */
function compareCursors(before?: string, after?: string): readonly Difference[] {
  if (before === after) return [];
  const how = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return [{ kind: `cursor-${how}`, before, after }];
}

function compareFieldsSetting({ fields: base }: Endpoint, { fields: head }: Endpoint): readonly Difference[] {
  return base === head ? [] : [{ kind: head ? "fields-added" : "fields-removed" }];
}

/** Whether callers combine conditions by `filter`. */
function compareExpressions({ filter: base }: Endpoint, { filter: head }: Endpoint): readonly Difference[] {
  return base === head ? [] : [{ kind: head ? "expression-added" : "expression-removed" }];
}

function compareNames(
  what: "method" | "sortable-field",
  base: readonly string[],
  head: readonly string[],
): readonly Difference[] {
  const removed = base.filter((name) => !head.includes(name));
  const added = head.filter((name) => !base.includes(name));
  return [
    ...removed.map((subject) => ({ kind: `${what}-removed`, subject }) as const),
    ...added.map((subject) => ({ kind: `${what}-added`, subject }) as const),
  ];
}

function comparePagination(
  { pagination: base }: Endpoint,
  { pagination: head }: Endpoint,
): readonly Difference[] {
  if (base === null) return head === null ? [] : [{ kind: "pagination-enabled", after: pagesText(head) }];
  if (head === null) return [{ kind: "pagination-disabled", before: pagesText(base) }];
  const [before, after] = [base.response, head.response];
  return [
    ...compareMaximum("default-limit", base.defaultLimit, head.defaultLimit),
    ...compareMaximum("max-limit", base.maxLimit, head.maxLimit),
    ...(before === after ? [] : [{ kind: "response-mode-changed", before, after } as const]),
  ];
}

function pagesText({ defaultLimit, maxLimit, response }: NonNullable<Endpoint["pagination"]>): string {
  return `${String(defaultLimit)} rows, at most ${String(maxLimit)}, as ${response}`;
}

/** Keys added at the end only order ties: otherwise rows keep the order that consumers know. */
function compareFixedSort(base: Endpoint, head: Endpoint): readonly Difference[] {
  const [before, after] = [sortKeys(base), sortKeys(head)];
  const isKept = before.every((key, i) => key === after[i]);
  if (isKept && before.length === after.length) return [];
  const kind = isKept ? "sort-extended" : "sort-changed";
  return [{ kind, before: before.join(", ") || "no order", after: after.join(", ") || "no order" }];
}

function sortKeys({ sort }: Endpoint): readonly string[] {
  return sort.map(([column, direction]) => `${column} ${direction}`);
}

/** The sunset that responses announce, and the path that replaces this one. */
function compareNotices(base: ServedEntry, head: ServedEntry, policy: SunsetPolicy): readonly Difference[] {
  const sunsets = compareSunsets(base, head, policy);
  if (head.isFormer !== true || sunsets.some(({ kind }) => kind === "sunset-too-soon"))
    return [...sunsets, ...compareSuccessors(base, head)];
  const { successor, deprecationDate } = head;
  if (base.isFormer !== true) {
    const until = deprecationDate === null ? "No sunset is announced." : `Sunset: ${deprecationDate}.`;
    return [{ kind: "path-moved-with-notice", before: base.path, after: successor, details: [until] }];
  }
  const isOpenEnded = deprecationDate === null && base.deprecationDate !== null;
  return [
    ...(isOpenEnded ? [{ kind: "sunset-put-off", before: base.deprecationDate } as const] : sunsets),
    ...compareSuccessors(base, head),
  ];
}

/**
 * `deprecationDate` is dbt's `deprecation_date`: the day from which the endpoint may be removed, which responses announce
 * as `Sunset`.
 */
function compareSunsets(
  { deprecationDate: before }: Endpoint,
  { deprecationDate: after }: Endpoint,
  { today, minimumNoticeDays }: SunsetPolicy,
): readonly Difference[] {
  if (before === after) return [];
  if (after === null) return before === null ? [] : [{ kind: "deprecation-lifted", before }];
  if (before !== null && after > before) return [{ kind: "sunset-put-off", before, after }];
  const dates = { before, after };
  const days = daysUntil(after, today);
  if (days >= minimumNoticeDays)
    return [{ kind: before === null ? "endpoint-deprecated" : "sunset-brought-forward", ...dates }];
  return [{ kind: "sunset-too-soon", ...dates, details: [noticeText(days, minimumNoticeDays)] }];
}

function compareSuccessors(
  { successor: before }: Endpoint,
  { successor: after }: Endpoint,
): readonly Difference[] {
  return before === after ? [] : [{ kind: "successor-changed", before, after }];
}

/** Descriptions of the model, and of the columns and parameters that both revisions have. */
function compareDocumentation(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const texts = textsOf(head);
  const owner =
    base.owner === head.owner
      ? []
      : [{ kind: "owner-changed", before: base.owner, after: head.owner } as const];
  const descriptions = [...textsOf(base)].flatMap(([subject, before]): readonly Difference[] => {
    const after = texts.get(subject) ?? before;
    return before === after
      ? []
      : [{ kind: "description-changed", subject, before: before || null, after: after || null }];
  });
  return [...owner, ...descriptions];
}

/** By subject; the model's own has none. */
function textsOf({
  description,
  columns,
  parameters,
  aggregate,
}: CatalogueEntry): ReadonlyMap<string | undefined, string> {
  const named = (what: string) => (item: DescribedColumn | DescribedParameter) =>
    [`${what} ${item.name}`, item.description?.trim() ?? ""] as const;
  const measures: readonly DescribedMeasure[] = aggregate?.measures ?? [];
  const grouped: readonly DescribedColumn[] = aggregate?.columns ?? [];
  return new Map([
    [undefined, description.trim()],
    ...grouped.map(named("column")),
    ...measures.map(({ name, label = "" }) => [`label of ${name}`, label.trim()] as const),
    ...columns.map(named("column")),
    ...parameters.map(named("parameter")),
  ]);
}

/** An entry at one of the paths that it answers at. */
export interface ServedEntry extends CatalogueEntry {
  /** The path is a former one. */
  readonly isFormer?: true;
  /** The path is that of the version, and another one is the endpoint's own. */
  readonly isVersionPath?: true;
  /** Columns that the base marks as private and the head does not. */
  readonly lostColumns?: ReadonlySet<string>;
}

/** The entries, each at its own path and at its others: callers of those notice changes too. */
export function atAllPaths(entries: readonly CatalogueEntry[]): readonly ServedEntry[] {
  return entries.flatMap((entry): ServedEntry[] => [
    entry,
    ...atOtherPaths(entry).map((other) => ({
      ...other,
      ...(other.path === entry.versionPath ? { isVersionPath: true as const } : { isFormer: true as const }),
    })),
  ]);
}

/** The line of a model's `meta.routewright` that keeps a path alive, until there has been enough notice. */
export function formerPathsLine(
  path: string,
  { formerPaths = [] }: Endpoint,
  { today, minimumNoticeDays }: SunsetPolicy,
): string {
  const sunset = new Date(Date.parse(today) + minimumNoticeDays * DAY_MS).toISOString();
  const items = [...formerPaths, { path, sunset }].map(itemText);
  return `To keep the old path alive, add to the model's \`meta.routewright\`: former_paths: [${items.join(", ")}]`;
}

function itemText({ path, sunset }: FormerPath): string {
  return sunset === null ? `{path: ${path}}` : `{path: ${path}, sunset: "${sunset.slice(0, 10)}"}`;
}
