import {
  compareGrains,
  type FixedFilter,
  type FormulaInput,
  type Grain,
  isGrain,
  type Leaf,
  METRIC_TIME,
  type MetricTree,
  projectSqlProblem,
  timedLeaves,
  withoutMetricTime,
} from "@routewright/runtime/model";
import { readTemplate } from "../../manifest/filter-template.js";
import type {
  ConversionMetric,
  MetricInput,
  SemanticMeasure,
  SemanticMetric,
  SemanticModel,
  SimpleMetric,
} from "../../manifest/semantic-layer.js";
import { type AggregateParts, NotCompiled } from "./aggregate-parts.js";
import { aggregationOf, formulaParts, periodOf, standardGrain, textsOf } from "./leaf-parts.js";
import { isHeld, type SemanticIndex } from "./semantic-index.js";

/** Longest chain of metrics that are made from metrics. */
const MAX_DEPTH = 20;

/** Makes the trees of metrics. Throws `NotCompiled` with the reason where one cannot be compiled. */
export class MetricTrees {
  readonly #index: SemanticIndex;
  readonly #parts: AggregateParts;

  constructor(index: SemanticIndex, parts: AggregateParts) {
    this.#index = index;
    this.#parts = parts;
  }

  of(metric: SemanticMetric): MetricTree {
    const tree = this.#tree(metric, 0);
    this.#checkFilters(tree, [], shiftedLeaves(tree));
    return tree;
  }

  /** Filters of a saved query, which hold for all of its metrics. */
  fixed(templates: readonly string[], trees: readonly MetricTree[]): readonly FixedFilter[] {
    const filters = templates.map((template) => this.#filter(template));
    for (const tree of trees) this.#checkFilters(tree, filters, shiftedLeaves(tree));
    return filters;
  }

  #tree(metric: SemanticMetric, depth: number): MetricTree {
    if (depth > MAX_DEPTH) throw new NotCompiled(`The metric ${metric.name} is made from itself.`);
    const filters = metric.filters.map((template) => this.#filter(template));
    switch (metric.type) {
      case "simple":
        return withFilters(this.#leaf(metric.simple, metric), filters);
      case "cumulative":
        return withFilters(this.#cumulative(metric), filters);
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
        throw new NotCompiled(`A metric of type ${metric.type || "none"} is not compiled.`);
    }
  }

  #leaf(simple: SimpleMetric | null, of: SemanticMetric): Leaf {
    const measure =
      typeof simple?.measure === "string" ? this.#index.measure(simple.measure) : simple?.measure;
    if (simple === null || measure === undefined)
      throw new NotCompiled(
        `No semantic model has the measure ${typeof simple?.measure === "string" ? simple.measure : ""}.`,
      );
    const model = this.#index.model(measure.model);
    if (model === undefined) throw new NotCompiled(`The manifest has no semantic model ${measure.model}.`);
    if (measure.isPrivate) requireMark(of, `a measure of ${model.name}`);
    const { onSpine, fill } = simple;
    if (onSpine) this.#requireSpine(measure, "join_to_timespine");
    return {
      kind: "leaf",
      fact: this.#parts.fact(model),
      value: this.#valueOf(model, measure),
      ...aggregationOf(measure),
      ...this.#timeOf(model, measure),
      filters: simple.filters.map((template) => this.#filter(template)),
      ...this.#nonAdditiveOf(model, measure),
      ...(onSpine && { onSpine }),
      ...(fill !== null && { fill }),
    };
  }

  /** Counts say nothing of a value; every other aggregation of a private column may show it. */
  #valueOf(model: SemanticModel, { expr, aggregation }: SemanticMeasure): string {
    if (!aggregation.startsWith("count") && this.#index.isPrivate(model, expr))
      throw new NotCompiled(`A measure of ${model.name} shows values of a private column (${expr}).`);
    return this.#parts.value(model, expr);
  }

  #timeOf(model: SemanticModel, measure: SemanticMeasure): { readonly time?: string } {
    const time = this.#index.timeOf(measure);
    if (time === null) return {};
    this.#parts.dimension(model, time);
    return { time };
  }

  #nonAdditiveOf(model: SemanticModel, { nonAdditive }: SemanticMeasure): Pick<Leaf, "nonAdditive"> {
    if (nonAdditive === null) return {};
    const { choice, groupings } = nonAdditive;
    if (choice !== "min" && choice !== "max")
      throw new NotCompiled(`The window_choice ${choice} is not compiled.`);
    const dimension = `${model.primaryEntity}__${nonAdditive.dimension}`;
    this.#parts.dimension(model, dimension);
    for (const name of groupings) this.#parts.dimension(model, name);
    return { nonAdditive: { dimension, choice, groupings } };
  }

  #cumulative(metric: SemanticMetric): Leaf {
    const { cumulative, name } = metric;
    const input = cumulative?.metric ?? null;
    const source = input === null ? undefined : this.#index.metrics.get(input.metric);
    const simple = input === null ? (cumulative?.of ?? null) : source?.simple;
    if (simple === undefined) throw new NotCompiled(`The metric ${name} accumulates one that is not simple.`);
    if (source?.node.isPrivate === true) requireMark(metric, `the metric ${source.name}`);
    const leaf = this.#leaf(simple, metric);
    const more = [...(input?.filters ?? []), ...(source?.filters ?? [])].map((template) =>
      this.#filter(template),
    );
    const { window = null, grainToDate = "", periodAggregation = "first" } = cumulative ?? {};
    if (periodAggregation !== "first" && periodAggregation !== "last" && periodAggregation !== "average")
      throw new NotCompiled(`The period_agg ${periodAggregation} is not compiled.`);
    if (leaf.nonAdditive !== undefined)
      throw new NotCompiled("A cumulative metric of a non-additive measure is not compiled.");
    if (window !== null || grainToDate !== "") this.#requireTime(leaf);
    const { fact, value, aggregation, percentile, isDiscrete, time, onSpine, fill } = leaf;
    return {
      kind: "leaf",
      fact,
      aggregation,
      ...(value !== undefined && { value }),
      ...(percentile !== undefined && { percentile }),
      ...(isDiscrete && { isDiscrete }),
      ...(time !== undefined && { time }),
      ...(onSpine && { onSpine }),
      ...(fill !== undefined && { fill }),
      filters: [...leaf.filters, ...more],
      cumulative: {
        ...(window !== null && { window: periodOf(window) }),
        ...(grainToDate !== "" && { toGrain: standardGrain(grainToDate) }),
        periodAggregation,
      },
    };
  }

  /** The conversions over the rows that may lead to them. Both are read for a count too: it has their groups. */
  #conversion(metric: SemanticMetric, filters: readonly FixedFilter[]): MetricTree {
    const { conversion } = metric;
    if (conversion === null) throw new NotCompiled(`The metric ${metric.name} has no conversion.`);
    const base = this.#conversionSide(metric, conversion.base);
    const converted = this.#converted(metric, conversion, base);
    const inputs = [
      { alias: "conversions", metric: converted, filters: [] },
      { alias: "base", metric: base, filters: [] },
    ];
    return conversion.calculation === "conversions"
      ? { kind: "formula", parts: [{ alias: "conversions" }], inputs, filters }
      : { kind: "ratio", parts: [], inputs, filters };
  }

  #conversionSide(metric: SemanticMetric, side: SimpleMetric | MetricInput): Leaf {
    if ("measure" in side) return this.#leaf(side, metric);
    const source = this.#index.metrics.get(side.metric);
    if (source?.simple === null || source === undefined)
      throw new NotCompiled(
        `The metric ${metric.name} converts ${side.metric}, which is not a simple metric.`,
      );
    if (source.node.isPrivate) requireMark(metric, `the metric ${source.name}`);
    const more = [...source.filters, ...side.filters].map((template) => this.#filter(template));
    return withFilters(this.#leaf(source.simple, metric), more);
  }

  #converted(metric: SemanticMetric, conversion: ConversionMetric, base: Leaf): Leaf {
    const { fact, value, time, filters, onSpine, fill, nonAdditive, ...how } = this.#conversionSide(
      metric,
      conversion.conversion,
    );
    const isPlain = nonAdditive === undefined && base.nonAdditive === undefined;
    if (value === undefined || time === undefined || base.time === undefined || !isPlain)
      throw new NotCompiled(
        "A conversion of measures without a time, or of non-additive ones, is not compiled.",
      );
    const model = this.#index.model(fact);
    if (model !== undefined)
      for (const part of filters.flat())
        if (typeof part !== "string" && part.dimension !== METRIC_TIME)
          this.#parts.dimension(model, withoutMetricTime(part.dimension, time));
    const pairs = [[conversion.entity, conversion.entity] as const, ...conversion.constants];
    return {
      ...how,
      kind: "leaf",
      fact: base.fact,
      time: base.time,
      filters: base.filters,
      ...(onSpine && { onSpine }),
      ...(fill !== undefined && { fill }),
      converted: {
        fact,
        value,
        time,
        on: pairs.map(([own, other]) => [this.#element(base.fact, own), this.#element(fact, other)] as const),
        ...(conversion.window !== null && { window: periodOf(conversion.window) }),
        filters,
      },
    };
  }

  /** The value of an entity or a dimension of a semantic model's own. */
  #element(fact: string, name: string): string {
    const model = this.#index.model(fact);
    const found = [...(model?.entities ?? []), ...(model?.dimensions ?? [])].find(
      (each) => each.name === name,
    );
    if (model === undefined || found === undefined)
      throw new NotCompiled(`${fact} has no entity or dimension ${name}.`);
    return this.#parts.value(model, found.expr);
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
    if (offset !== null || offsetToGrain !== "") for (const leaf of leavesIn(tree)) this.#requireTime(leaf);
    return {
      alias,
      metric: tree,
      filters: filters.map((template) => this.#filter(template)),
      ...(offset !== null && { offset: periodOf(offset) }),
      ...(offsetToGrain !== "" && { offsetToGrain: standardGrain(offsetToGrain) }),
    };
  }

  #requireSpine(measure: SemanticMeasure, what: string): void {
    const time = this.#index.timeOf(measure);
    const model = this.#index.model(measure.model);
    const grain =
      time === null || model === undefined ? undefined : this.#index.reachable(model).get(time)?.grain;
    if (grain === undefined || !this.hasSpine(grain))
      throw new NotCompiled(`${what} needs a time spine of the grain ${grain ?? "day"} or finer.`);
  }

  #requireTime({ fact, time }: Leaf): void {
    const model = this.#index.model(fact);
    const grain =
      time === undefined || model === undefined ? undefined : this.#index.reachable(model).get(time)?.grain;
    if (grain === undefined || !this.hasSpine(grain))
      throw new NotCompiled(
        `A window or an offset needs a time spine of the grain ${grain ?? "day"} or finer.`,
      );
  }

  /** Whether a time spine has a row per period of this grain. */
  hasSpine(grain: Grain): boolean {
    const { spines } = this.#index.manifest.semantics;
    return spines.some((spine) => isGrain(spine.grain) && compareGrains(spine.grain, grain) <= 0);
  }

  #filter(template: string): FixedFilter {
    const read = readTemplate(template);
    if ("problem" in read) throw new NotCompiled(`The filter ${template} is not compiled: ${read.problem}.`);
    const filter = read.parts.map((part): FixedFilter[number] => {
      if (typeof part === "string") return part;
      const { dimension, grain } = part;
      if (grain === undefined) return { dimension };
      return isGrain(grain) ? { dimension, grain } : { dimension: `${dimension}__${grain}` };
    });
    const problem = projectSqlProblem(textsOf(filter));
    if (problem !== null) throw new NotCompiled(`The filter ${template} is not compiled: ${problem}.`);
    return filter;
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
      if (part.dimension !== METRIC_TIME) {
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

/** What is private reaches callers only through metrics that are marked themselves: lint then knows their tier. */
function requireMark({ node }: SemanticMetric, what: string): void {
  if (!node.isPrivate)
    throw new NotCompiled(`It shows ${what}, which is marked private, and is not marked itself.`);
}

/** Leaves whose rows count at other times than their own, at which what is joined to them may not hold. */
export function shiftedLeaves(tree: MetricTree): ReadonlySet<Leaf> {
  const accumulated = leavesIn(tree).filter(({ cumulative }) => cumulative !== undefined);
  return new Set([...timedLeaves(tree), ...accumulated]);
}

function leavesIn(tree: MetricTree): readonly Leaf[] {
  return tree.kind === "leaf" ? [tree] : tree.inputs.flatMap(({ metric }) => leavesIn(metric));
}

function withFilters(leaf: Leaf, filters: readonly FixedFilter[]): Leaf {
  return { ...leaf, filters: [...leaf.filters, ...filters] };
}
