import {
  type FixedFilter,
  type FormulaInput,
  type Grain,
  type Leaf,
  METRIC_TIME,
  type MetricTree,
  type ResultOfEntity,
  timedLeaves,
  withoutMetricTime,
} from "@routewright/runtime/model";
import type { NamedMetric } from "../../manifest/filter-template.js";
import type { MetricInput, SemanticMetric, SemanticQuery } from "../../manifest/semantic-layer.js";
import { type AggregateParts, NotCompiled } from "./aggregate-parts.js";
import { formulaParts, periodOf, standardGrain } from "./leaf-parts.js";
import { type Marked, MetricLeaves, requireMark, withFilters } from "./metric-leaves.js";
import { isHeld, type SemanticIndex } from "./semantic-index.js";

/** Longest chain of metrics that are made from metrics. */
const MAX_DEPTH = 20;

/** Makes the trees of metrics. Throws `NotCompiled` with the reason where one cannot be compiled. */
export class MetricTrees {
  readonly #index: SemanticIndex;
  readonly #parts: AggregateParts;
  readonly #leaves: MetricLeaves;
  /** Metrics that a filter compares, while they are made: each has an end. */
  readonly #compared = new Set<string>();

  constructor(index: SemanticIndex, parts: AggregateParts) {
    this.#index = index;
    this.#parts = parts;
    this.#leaves = new MetricLeaves(index, parts, (named, of) => this.#result(named, of));
  }

  of(metric: SemanticMetric): MetricTree {
    const tree = this.#tree(metric, 0);
    this.#checkFilters(tree, [], shiftedLeaves(tree));
    return tree;
  }

  /** Filters of a saved query, which hold for all of its metrics. */
  fixed(
    { filters: templates, ...of }: Pick<SemanticQuery, "filters" | "node">,
    trees: readonly MetricTree[],
  ): readonly FixedFilter[] {
    const filters = templates.map((template) => this.#leaves.filter(template, of));
    for (const tree of trees) this.#checkFilters(tree, filters, shiftedLeaves(tree));
    return filters;
  }

  #tree(metric: SemanticMetric, depth: number): MetricTree {
    if (depth > MAX_DEPTH) throw new NotCompiled(`The metric ${metric.name} is made from itself.`);
    const filters = metric.filters.map((template) => this.#leaves.filter(template, metric));
    switch (metric.type) {
      case "simple":
        return withFilters(this.#leaves.of(metric.simple, metric), filters);
      case "cumulative":
        return withFilters(this.#leaves.cumulative(metric), filters);
      case "ratio":
        return {
          kind: "ratio",
          parts: [],
          inputs: this.#inputs(metric, depth, ["numerator", "denominator"]),
          filters,
        };
      case "derived":
        return this.#derived(metric, depth, filters);
      case "conversion":
        return this.#conversion(metric, filters);
      default:
        throw new NotCompiled(
          metric.json["calculation_method"] === undefined
            ? `A metric of type ${metric.type || "none"} is not compiled.`
            : "It has a calculation_method, as metrics before dbt 1.6. Write it as a metric of a semantic model (dbt 1.6 or later).",
        );
    }
  }

  /** The conversions over the rows that may lead to them. Both are read for a count too: it has their groups. */
  #conversion(metric: SemanticMetric, filters: readonly FixedFilter[]): MetricTree {
    const { conversion } = metric;
    if (conversion === null) throw new NotCompiled(`The metric ${metric.name} has no conversion.`);
    const base = this.#leaves.side(metric, conversion.base);
    const converted = this.#leaves.converted(metric, conversion, base);
    const inputs = [
      { alias: "conversions", metric: converted, filters: [] },
      { alias: "base", metric: base, filters: [] },
    ];
    return conversion.calculation === "conversions"
      ? { kind: "formula", parts: [{ alias: "conversions" }], inputs, filters }
      : { kind: "ratio", parts: [], inputs, filters };
  }

  #derived(metric: SemanticMetric, depth: number, filters: readonly FixedFilter[]): MetricTree {
    const inputs = this.#inputs(metric, depth, null);
    const parts = formulaParts(
      metric.expr,
      inputs.map(({ alias }) => alias),
    );
    return { kind: "formula", parts, inputs, filters };
  }

  #inputs(of: SemanticMetric, depth: number, aliases: readonly string[] | null): readonly FormulaInput[] {
    const { inputs, name } = of;
    if (inputs.length === 0) throw new NotCompiled(`The metric ${name} has no inputs.`);
    return inputs.map((input, i) => this.#input(of, { ...input, alias: aliases?.[i] ?? input.alias }, depth));
  }

  #input(
    of: SemanticMetric,
    { metric: name, alias, filters, offset, offsetToGrain }: MetricInput,
    depth: number,
  ): FormulaInput {
    const metric = this.#index.metrics.get(name);
    if (metric === undefined) throw new NotCompiled(`The manifest has no metric ${name}.`);
    if (metric.node.isPrivate) requireMark(of, `the metric ${name}`);
    const tree = this.#tree(metric, depth + 1);
    if (offset !== null || offsetToGrain !== "")
      for (const leaf of leavesIn(tree)) this.#leaves.requireTime(leaf);
    const units = offset === null ? null : this.#parts.units(offset.count, offset.granularity);
    if (units !== null) this.#requireUnits(name, tree, units.grain);
    if ((offset !== null || offsetToGrain !== "") && hasUnits(tree))
      throw new NotCompiled(`An offset of ${name}, which has one by a custom grain itself, is not compiled.`);
    return {
      alias,
      metric: tree,
      filters: filters.map((template) => this.#leaves.filter(template, of)),
      ...(units !== null && { offsetUnits: units.of }),
      ...(offset !== null && units === null && { offset: periodOf(offset) }),
      ...(offsetToGrain !== "" && { offsetToGrain: standardGrain(offsetToGrain) }),
    };
  }

  /** Days move by such an offset: rows or accumulated values of a metric whose time has the days of the time spine. */
  #requireUnits(name: string, tree: MetricTree, grain: Grain): void {
    const isPlain = tree.kind === "leaf" && tree.converted === undefined && tree.nonAdditive === undefined;
    if (!isPlain)
      throw new NotCompiled(
        `An offset of ${name} by a custom grain is not compiled: it is no simple or cumulative metric.`,
      );
    const model = this.#index.model(tree.fact);
    const own = model === undefined ? undefined : this.#index.reachable(model).get(tree.time ?? "")?.grain;
    if (own !== grain)
      throw new NotCompiled(
        `An offset of ${name} by a custom grain needs a time by ${grain}, as the time spine has.`,
      );
  }

  /** What a filter compares of another metric, which is grouped by an entity of its own, or of what it is joined to. */
  #result({ metric: name, by }: NamedMetric, of: Marked): ResultOfEntity {
    const found = this.#index.metrics.get(name);
    if (found === undefined) throw new NotCompiled(`The manifest has no metric ${name}.`);
    if (found.node.isPrivate) requireMark(of, `the metric ${name}`);
    if (this.#compared.has(name)) throw new NotCompiled(`A filter of the metric ${name} compares itself.`);
    this.#compared.add(name);
    const metric = this.of(found);
    this.#compared.delete(name);
    if (timedLeaves(metric).length > 0)
      throw new NotCompiled(
        `A filter compares ${name}, whose values belong to periods: it has none by entity.`,
      );
    for (const { fact } of leavesIn(metric)) {
      const model = this.#index.model(fact);
      const entity = model === undefined ? undefined : this.#parts.dimension(model, by);
      if (entity?.isEntity !== true || isHeld(entity))
        throw new NotCompiled(`A filter compares ${name} by ${by}, which is no entity of ${fact}.`);
    }
    return { metric, by, on: by.split("__").at(-1) ?? by };
  }

  /** Each filter names dimensions of all facts that it holds for. Times without a grain get their own. */
  #checkFilters(tree: MetricTree, outer: readonly FixedFilter[], shifted: ReadonlySet<Leaf>): void {
    const filters = [...outer, ...tree.filters];
    if (tree.kind !== "leaf") {
      for (const { metric, filters: own } of tree.inputs)
        this.#checkFilters(metric, [...filters, ...own], shifted);
      return;
    }
    const model = this.#index.model(tree.fact);
    if (model === undefined) return;
    for (const part of filters.flat()) {
      if (typeof part === "string") continue;
      if ("metric" in part) {
        const { isEntity, join } = this.#parts.dimension(model, part.on);
        if (!isEntity || join !== null)
          throw new NotCompiled(
            `A filter compares a metric by ${part.on}, which is no entity of ${tree.fact}.`,
          );
      } else if (part.dimension !== METRIC_TIME) {
        const isOfHeld = isHeld(this.#parts.dimension(model, withoutMetricTime(part.dimension, tree.time)));
        if (isOfHeld && (tree.time === undefined || shifted.has(tree)))
          throw new NotCompiled(
            `A filter names ${part.dimension}, whose rows hold for a time, and the metric has none or counts rows at other times.`,
          );
      } else if (tree.time === undefined)
        throw new NotCompiled("A filter names metric_time of a measure without a time.");
    }
  }
}

/** Leaves whose rows count at other times than their own, at which what is joined to them may not hold. */
export function shiftedLeaves(tree: MetricTree): ReadonlySet<Leaf> {
  const accumulated = leavesIn(tree).filter(({ cumulative }) => cumulative !== undefined);
  return new Set([...timedLeaves(tree), ...accumulated]);
}

const hasUnits = (tree: MetricTree): boolean =>
  tree.kind !== "leaf" &&
  tree.inputs.some(({ offsetUnits, metric }) => offsetUnits !== undefined || hasUnits(metric));

function leavesIn(tree: MetricTree): readonly Leaf[] {
  return tree.kind === "leaf" ? [tree] : tree.inputs.flatMap(({ metric }) => leavesIn(metric));
}
