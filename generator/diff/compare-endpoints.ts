import { type Endpoint, TIERS } from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedColumn, DescribedParameter } from "../catalogue/catalogue.js";
import type { DescribedMeasure } from "../catalogue/metrics/metric-columns.js";
import type { Difference } from "./change.js";
import { compareAggregates, compareRollUps, servesRows } from "./compare-aggregates.js";
import { compareColumns } from "./compare-columns.js";
import { compareOwnRows } from "./compare-meanings.js";
import { compareMaximum, compareParameters } from "./compare-parameters.js";
import { comparePromises } from "./compare-promises.js";
import { compareEnds, compareNotices, compareOwnPath, type SunsetPolicy } from "./compare-sunsets.js";
import { isOtherVersion, isVersionPathOfBoth, type ServedEntry } from "./served-entries.js";

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
    ...comparePromises(base, head),
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
