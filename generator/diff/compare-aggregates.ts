import { type Aggregate, type AggregateMeasure, groupNames, timedLeaves } from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedColumn } from "../catalogue/catalogue.js";
import { FormulaTexts } from "../catalogue/metrics/formula-text.js";
import { privateGroups, privateMetrics } from "../catalogue/metrics/private-groups.js";
import { byText } from "../manifest/strings.js";
import type { Difference } from "./change.js";
import { compareColumns } from "./compare-columns.js";
import { compareMeanings, type MeasurePair } from "./compare-meanings.js";
import { compareFilters } from "./compare-parameters.js";

/** The differences of what callers may ask of an aggregate, and of what its answers mean. */
export function compareAggregates(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  if (base.aggregate === undefined && head.aggregate === undefined) return [];
  const [before, after] = [base.aggregate ?? NONE, head.aggregate ?? NONE];
  const kept = pairsOf(before, after);
  return [
    ...compareRowAccess(base, head),
    ...compareChoices(before, after),
    ...measuresOnlyIn("measure-removed", before, after),
    ...measuresOnlyIn("measure-added", after, before, privateMetrics(head)),
    ...compareGroups(kept, newlyPrivate(base, head)),
    ...compareUnnamed(after, kept),
    ...compareMeanings(before, after, kept),
    ...compareSavedSort(before, after),
    ...compareGroupFilters(before, after),
    ...compareColumns(
      { ...base, columns: columnsAsked(before, after) },
      { ...head, columns: columnsAsked(after, before) },
    ),
  ];
}

/** Consumers are not told: answers are the same. One that has changed is another. */
export function compareRollUps(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const [before, after] = [base, head].map(({ aggregate }) => aggregate?.rollUps ?? []) as [Rolled, Rolled];
  return [
    ...rollUpsOnlyIn("roll-up-removed", before, after),
    ...rollUpsOnlyIn("roll-up-added", after, before),
  ];
}

type Rolled = NonNullable<Aggregate["rollUps"]>;

function rollUpsOnlyIn(
  kind: "roll-up-added" | "roll-up-removed",
  rollUps: Rolled,
  others: Rolled,
): readonly Difference[] {
  const known = new Set(others.map((each) => JSON.stringify(each)));
  return rollUps
    .filter((each) => !known.has(JSON.stringify(each)))
    .map(({ node, of }) => ({ kind, subject: node, details: [`Of the semantic model ${of}.`] }));
}

/** Of an endpoint without an aggregate. */
const NONE: Aggregate = {
  of: "measures",
  relations: [],
  facts: [],
  dimensions: [],
  measures: [],
  spines: [],
  columns: [],
  filters: [],
};

function pairsOf({ measures: base }: Aggregate, { measures: head }: Aggregate): readonly MeasurePair[] {
  return base.flatMap((measure): MeasurePair[] => {
    const other = head.find(({ name }) => name === measure.name);
    return other === undefined ? [] : [[measure, other]];
  });
}

/** Whether the rows themselves are served. */
export function servesRows({ aggregate }: CatalogueEntry): boolean {
  return aggregate === undefined || (aggregate.of === "measures" && aggregate.rows !== false);
}

function compareRowAccess(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const [before, after] = [servesRows(base), servesRows(head)];
  return before === after ? [] : [{ kind: after ? "row-access-added" : "row-access-removed" }];
}

/** The parameters that choose groups and measures. */
function compareChoices(base: Aggregate, head: Aggregate): readonly Difference[] {
  const [before, after] = [base, head].map(choicesOf) as [readonly string[], readonly string[]];
  return [...named("parameter-removed", before, after), ...named("parameter-added", after, before)];
}

function choicesOf({ of, measures, saved }: Aggregate): readonly string[] {
  return measures.length === 0 || saved !== undefined ? [] : ["group_by", of];
}

function named(
  kind: "parameter-removed" | "parameter-added",
  names: readonly string[],
  others: readonly string[],
): readonly Difference[] {
  return names.filter((name) => !others.includes(name)).map((subject) => ({ kind, subject }));
}

function measuresOnlyIn(
  kind: "measure-removed" | "measure-added",
  aggregate: Aggregate,
  other: Aggregate,
  privateNames: ReadonlySet<string> = new Set(),
): readonly Difference[] {
  const texts = new FormulaTexts(aggregate);
  const known = new Set(other.measures.map(({ name }) => name));
  return aggregate.measures
    .filter(({ name }) => !known.has(name))
    .map((measure) => ({
      kind: privateNames.has(measure.name) ? "measure-exposed" : kind,
      subject: measure.name,
      details: [`Formula: ${texts.measure(measure)}.`],
    }));
}

/** Groups over private data that the rows of the base do not show. */
function newlyPrivate(base: CatalogueEntry, head: CatalogueEntry): ReadonlySet<string> {
  const shown = new Set(servesRows(base) ? base.columns.map(({ name }) => name) : []);
  return new Set([...privateGroups(head)].filter((name) => !shown.has(name.replace(/__[a-z]+$/, ""))));
}

/** A name that `group_by` may have: the measures that have it, each with the grain that they give it. */
interface NamedGroup {
  readonly group: string;
  readonly measures: ReadonlyMap<string, string>;
}

/** The groups of the measures that both have, by every name that `group_by` may have. */
function compareGroups(
  kept: readonly MeasurePair[],
  privateNames: ReadonlySet<string>,
): readonly Difference[] {
  const inBase = byName(kept.map(([measure]) => measure));
  const inHead = byName(kept.map(([, measure]) => measure));
  return [...new Set([...inBase.keys(), ...inHead.keys()])].flatMap((name) => {
    const { group = name } = inBase.get(name) ?? inHead.get(name) ?? {};
    // Grains come and go with their group.
    if (group !== name && inBase.has(group) !== inHead.has(group)) return [];
    const none = { group, measures: NOBODY };
    const [before, after] = [inBase.get(name) ?? none, inHead.get(name) ?? none];
    return [
      ...compareAvailability(name, before, after, privateNames.has(name)),
      ...compareDefaultGrains(name, before, after),
    ];
  });
}

const NOBODY: ReadonlyMap<string, string> = new Map();

function byName(measures: readonly AggregateMeasure[]): ReadonlyMap<string, NamedGroup> {
  const found = new Map<string, { group: string; measures: Map<string, string> }>();
  for (const measure of measures)
    for (const group of measure.groups)
      for (const name of groupNames([group])) {
        const known = found.get(name) ?? { group: group.name, measures: new Map<string, string>() };
        found.set(name, known);
        known.measures.set(measure.name, name === group.name ? (group.grain ?? "") : "");
      }
  return found;
}

function compareAvailability(
  subject: string,
  { group, measures: before }: NamedGroup,
  { measures: after }: NamedGroup,
  isPrivate: boolean,
): readonly Difference[] {
  const lost = [...before.keys()].filter((name) => !after.has(name));
  const won = [...after.keys()].filter((name) => !before.has(name));
  // Where all of them have changed, their names say no more.
  const [was, is] = [
    after.size === 0 ? null : `of ${lost.join(", ")}`,
    before.size === 0 ? null : `of ${won.join(", ")}`,
  ];
  const isGrain = subject !== group;
  const added = isPrivate ? "group-exposed" : isGrain ? "grain-added" : "group-added";
  return [
    ...(lost.length === 0
      ? []
      : [{ kind: isGrain ? "grain-removed" : "group-removed", subject, before: was } as const]),
    ...(won.length === 0 ? [] : [{ kind: added, subject, after: is } as const]),
  ];
}

/** The grain of a time group that is asked without one. */
function compareDefaultGrains(
  subject: string,
  { measures: before }: NamedGroup,
  { measures: after }: NamedGroup,
): readonly Difference[] {
  const changed = new Map<string, string[]>();
  for (const [measure, grain] of before) {
    const other = after.get(measure);
    if (other === undefined || other === grain) continue;
    const key = JSON.stringify([grain || "no grain", other || "no grain"]);
    changed.set(key, [...(changed.get(key) ?? []), measure]);
  }
  return [...changed].map(([key, measures]) => {
    const [was, is] = (JSON.parse(key) as string[]).map((grain) => `${grain} of ${measures.join(", ")}`);
    return { kind: "default-grain-changed", subject, before: was, after: is };
  });
}

/** Calls that name no measures ask for all: what not all of them have is 400. */
function compareUnnamed(head: Aggregate, kept: readonly MeasurePair[]): readonly Difference[] {
  if (head.saved !== undefined || kept.length === 0) return [];
  const still = possibleFor(head.measures);
  const lost = [...possibleFor(kept.map(([, measure]) => measure))].filter((name) => !still.has(name));
  return lost.length === 0 ? [] : [{ kind: "default-measures-narrowed", before: lost.join(", ") }];
}

/** What calls for all of these measures may group by. */
function possibleFor(measures: readonly AggregateMeasure[]): ReadonlySet<string> {
  const names = measures.map(({ groups }) => new Set(groupNames(groups)));
  const shared = [...(names[0] ?? [])].filter((name) => names.every((each) => each.has(name)));
  const needTime = measures.some(({ metric }) => timedLeaves(metric).length > 0);
  return new Set([...(needTime ? [] : ["no group"]), ...shared]);
}

function compareSavedSort({ saved: base }: Aggregate, { saved: head }: Aggregate): readonly Difference[] {
  if (base === undefined || head === undefined) return [];
  const [before, after] = [base, head].map(({ sort }) => sort.map((key) => key.join(" ")).join(", "));
  return before === after
    ? []
    : [{ kind: "sort-changed", before: before || "no order", after: after || "no order" }];
}

/** Filters on groups that both have: one that comes or goes with its group is no change of its own. */
function compareGroupFilters(base: Aggregate, head: Aggregate): readonly Difference[] {
  const [before, after] = [base, head].map(
    ({ measures }) => new Set(measures.flatMap(({ groups }) => groups.map(({ name }) => name))),
  );
  const isShared = ({ column }: { readonly column: string }): boolean =>
    before?.has(column) === after?.has(column);
  return compareFilters(
    { filters: base.filters.filter(isShared) },
    { filters: head.filters.filter(isShared) },
  );
}

/** Columns that both can be asked for: one that comes or goes with its group or its measure is no change of its own. */
function columnsAsked(aggregate: Aggregate, other: Aggregate): readonly DescribedColumn[] {
  const [own, asked] = [namesAsked(aggregate), namesAsked(other)];
  const columns = aggregate.columns.filter(({ name }) => own.has(name) && asked.has(name));
  if (aggregate.saved !== undefined) return columns;
  // Groups come in the order in which they are asked, measures in their own.
  const isMeasure = ({ name }: DescribedColumn): boolean =>
    aggregate.measures.some((measure) => measure.name === name);
  const groups = columns.filter((column) => !isMeasure(column));
  return [...groups.toSorted((a, b) => byText(a.name, b.name)), ...columns.filter(isMeasure)];
}

function namesAsked({ measures, saved }: Aggregate): ReadonlySet<string> {
  const groups = saved?.groups.map(({ key }) => key) ?? measures.flatMap((each) => groupNames(each.groups));
  return new Set([...groups, ...measures.map(({ name }) => name)]);
}
