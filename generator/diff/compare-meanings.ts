import type { Aggregate, AggregateMeasure, AggregateRelation } from "@routewright/runtime/model";
import { factsIn, FormulaTexts, type Labels, labelsOf } from "../catalogue/metrics/formula-text.js";
import { canonicalSql } from "../manifest/sql-text.js";
import type { Difference } from "./change.js";

/** A measure that both revisions have. */
export type MeasurePair = readonly [base: AggregateMeasure, head: AggregateMeasure];

/** What measures, groups and fixed queries mean: their formulas, and the relations that they read. */
export function compareMeanings(
  base: Aggregate,
  head: Aggregate,
  kept: readonly MeasurePair[],
): readonly Difference[] {
  if (kept.length === 0) return [];
  const labels = labelsOf(base);
  const sides = [comparedOf(base, labels), comparedOf(head, pairedLabels(head, labels))] as const;
  const [before, after] = sides.map(({ texts }) => texts) as [FormulaTexts, FormulaTexts];
  return [
    ...kept.flatMap(([was, is]) => changed(is.name, before.measure(was), after.measure(is))),
    ...changed(undefined, savedText(before, base), savedText(after, head)),
    ...compareDimensions(sides, kept),
    ...compareRelations(sides),
  ];
}

/** An aggregate with the names that its relations have in texts. */
interface ComparedAggregate {
  readonly aggregate: Aggregate;
  readonly labels: Labels;
  readonly texts: FormulaTexts;
}
type ComparedAggregates = readonly [base: ComparedAggregate, head: ComparedAggregate];

function comparedOf(aggregate: Aggregate, labels: Labels): ComparedAggregate {
  return { aggregate, labels, texts: new FormulaTexts(aggregate, labels, canonicalSql) };
}

/** A relation of both is called as in the base: that it moved is a change of its own. */
function pairedLabels(head: Aggregate, base: Labels): Labels {
  return new Map([...labelsOf(head)].map(([name, label]) => [name, base.get(name) ?? label]));
}

function changed(
  subject: string | undefined,
  before: string | undefined,
  after: string | undefined,
): readonly Difference[] {
  return before === after ? [] : [{ kind: "meaning-changed", subject, before, after }];
}

function savedText(texts: FormulaTexts, { saved }: Aggregate): string {
  return saved === undefined ? "grouped as asked" : texts.saved(saved);
}

/** The dimensions that callers of both know, of the facts that both have. */
function compareDimensions(
  [base, head]: ComparedAggregates,
  kept: readonly MeasurePair[],
): readonly Difference[] {
  const [facts, others] = [0, 1].map((side) =>
    factsByLabel(
      [base, head][side],
      kept.map((pair) => pair[side as 0 | 1]),
    ),
  ) as [ReadonlyMap<string, string>, ReadonlyMap<string, string>];
  const shared = [...facts.keys()].filter((label) => others.has(label));
  return namesOf(base.aggregate)
    .filter((name) => isAsked(base.aggregate, name) && isAsked(head.aggregate, name))
    .flatMap((name) => {
      const textOf = ({ texts }: ComparedAggregate, of: ReadonlyMap<string, string>): string =>
        [...new Set(shared.map((label) => texts.dimension(name, of.get(label) ?? "") ?? "nothing"))].join(
          "; or ",
        );
      return changed(name, textOf(base, facts), textOf(head, others));
    });
}

/** Also those that only the time of a metric has: `metric_time__extract_month`. */
function namesOf({ dimensions, measures }: Aggregate): readonly string[] {
  const groups = measures.flatMap((measure) => measure.groups);
  return [...new Set([...dimensions, ...groups].map(({ name }) => name))];
}

function factsByLabel(
  side: ComparedAggregate | undefined,
  measures: readonly AggregateMeasure[],
): ReadonlyMap<string, string> {
  const facts = new Set(measures.flatMap(({ metric }) => factsIn(metric)));
  return new Map([...facts].map((fact) => [side?.labels.get(fact) ?? fact, fact]));
}

/** Those of a model are the columns that requests may name; those of metrics may stand in filters of the project only. */
function isAsked({ of, measures, saved, filters }: Aggregate, name: string): boolean {
  if (saved !== undefined) return saved.groups.some((group) => group.name === name);
  return (
    of === "measures" ||
    measures.some(({ groups }) => groups.some((group) => group.name === name)) ||
    filters.some(({ column }) => column === name)
  );
}

/** Where the relations of metrics are, and whose rows are read. The relation of a model is that of its endpoint. */
function compareRelations([base, head]: ComparedAggregates): readonly Difference[] {
  if (base.aggregate.of === "measures" && head.aggregate.of === "measures") return [];
  const others = new Map(
    head.aggregate.relations.map((each) => [head.labels.get(each.name) ?? each.name, each]),
  );
  return base.aggregate.relations.flatMap((relation) => {
    const label = base.labels.get(relation.name) ?? relation.name;
    const other = others.get(label);
    return other === undefined ? [] : compareRelation(label, relation, other);
  });
}

function compareRelation(
  label: string,
  base: AggregateRelation,
  head: AggregateRelation,
): readonly Difference[] {
  const [before, after] = [base, head].map(({ relation }) =>
    relation.map((name) => JSON.stringify(name)).join("."),
  );
  const [own, other] = [base, head].map(({ rows }) => rows && `${label}.${rows.column}`);
  return [
    ...(before === after ? [] : [{ kind: "relation-changed", subject: label, before, after } as const]),
    ...compareOwnRows(own, other),
  ];
}

/** The column of the caller's organization; undefined without one. */
export function compareOwnRows(before: string | undefined, after: string | undefined): readonly Difference[] {
  if (before === after) return [];
  const how = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return [{ kind: `own-rows-${how}`, before, after }];
}
