import {
  dimensionOfPart,
  type FixedFilter,
  isGrain,
  type Leaf,
  METRIC_TIME,
  projectSqlProblem,
  type ResultOfEntity,
  withoutMetricTime,
} from "@routewright/runtime/model";
import { type NamedMetric, readTemplate } from "../../manifest/filter-template.js";
import type {
  ConversionMetric,
  MetricInput,
  SemanticMeasure,
  SemanticMetric,
  SemanticModel,
  SimpleMetric,
} from "../../manifest/semantic-layer.js";
import { type AggregateParts, NotCompiled } from "./aggregate-parts.js";
import { aggregationOf, periodOf, standardGrain, textsOf } from "./leaf-parts.js";
import type { SemanticIndex } from "./semantic-index.js";

/** Makes the leaves of metrics' trees: what is read of one semantic model. Throws `NotCompiled` with the reason. */
export class MetricLeaves {
  readonly #index: SemanticIndex;
  readonly #parts: AggregateParts;
  readonly #resultOf: (named: NamedMetric, of: Marked) => ResultOfEntity;

  /** `resultOf`: what a filter compares of another metric. */
  constructor(
    index: SemanticIndex,
    parts: AggregateParts,
    resultOf: (named: NamedMetric, of: Marked) => ResultOfEntity,
  ) {
    this.#index = index;
    this.#parts = parts;
    this.#resultOf = resultOf;
  }

  of(simple: SimpleMetric | null, of: SemanticMetric): Leaf {
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
      filters: simple.filters.map((template) => this.filter(template, of)),
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

  cumulative(metric: SemanticMetric): Leaf {
    const { cumulative, name } = metric;
    const input = cumulative?.metric ?? null;
    const source = input === null ? undefined : this.#index.metrics.get(input.metric);
    const simple = input === null ? (cumulative?.of ?? null) : source?.simple;
    if (simple === undefined) throw new NotCompiled(`The metric ${name} accumulates one that is not simple.`);
    if (source?.node.isPrivate === true) requireMark(metric, `the metric ${source.name}`);
    const leaf = this.of(simple, metric);
    const more = [...(input?.filters ?? []), ...(source?.filters ?? [])].map((template) =>
      this.filter(template, metric),
    );
    const { window = null, grainToDate = "", periodAggregation = "first" } = cumulative ?? {};
    if (periodAggregation !== "first" && periodAggregation !== "last" && periodAggregation !== "average")
      throw new NotCompiled(`The period_agg ${periodAggregation} is not compiled.`);
    if (leaf.nonAdditive !== undefined)
      throw new NotCompiled("A cumulative metric of a non-additive measure is not compiled.");
    if (window !== null || grainToDate !== "") this.requireTime(leaf);
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

  side(metric: SemanticMetric, side: SimpleMetric | MetricInput): Leaf {
    if ("measure" in side) return this.of(side, metric);
    const source = this.#index.metrics.get(side.metric);
    if (source?.simple === null || source === undefined)
      throw new NotCompiled(
        `The metric ${metric.name} converts ${side.metric}, which is not a simple metric.`,
      );
    if (source.node.isPrivate) requireMark(metric, `the metric ${source.name}`);
    const more = [...source.filters, ...side.filters].map((template) => this.filter(template, metric));
    return withFilters(this.of(source.simple, metric), more);
  }

  converted(metric: SemanticMetric, conversion: ConversionMetric, base: Leaf): Leaf {
    const { fact, value, time, filters, onSpine, fill, nonAdditive, ...how } = this.side(
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
      for (const name of filters
        .flat()
        .flatMap((part) => (typeof part === "string" ? [] : dimensionOfPart(part))))
        if (name !== METRIC_TIME) this.#parts.dimension(model, withoutMetricTime(name, time));
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

  #requireSpine(measure: SemanticMeasure, what: string): void {
    const time = this.#index.timeOf(measure);
    const model = this.#index.model(measure.model);
    const grain =
      time === null || model === undefined ? undefined : this.#index.reachable(model).get(time)?.grain;
    if (grain === undefined || !this.#index.hasSpine(grain))
      throw new NotCompiled(`${what} needs a time spine of the grain ${grain ?? "day"} or finer.`);
  }

  requireTime({ fact, time }: Leaf): void {
    const model = this.#index.model(fact);
    const grain =
      time === undefined || model === undefined ? undefined : this.#index.reachable(model).get(time)?.grain;
    if (grain === undefined || !this.#index.hasSpine(grain))
      throw new NotCompiled(
        `A window or an offset needs a time spine of the grain ${grain ?? "day"} or finer.`,
      );
  }

  /** `of`: the metric or the saved query that has it. */
  filter(template: string, of: Marked): FixedFilter {
    const read = readTemplate(template);
    if ("problem" in read) throw new NotCompiled(`The filter ${template} is not compiled: ${read.problem}.`);
    const filter = read.parts.map((part): FixedFilter[number] => {
      if (typeof part === "string") return part;
      if ("metric" in part) return this.#resultOf(part, of);
      const { dimension, grain } = part;
      if (grain === undefined) return { dimension };
      return isGrain(grain) ? { dimension, grain } : { dimension: `${dimension}__${grain}` };
    });
    const problem = projectSqlProblem(textsOf(filter));
    if (problem !== null) throw new NotCompiled(`The filter ${template} is not compiled: ${problem}.`);
    return filter;
  }
}

/** What may be marked as private. */
export type Marked = Pick<SemanticMetric, "node">;

/** What is private reaches callers only through metrics that are marked themselves: lint then knows their tier. */
export function requireMark({ node }: Marked, what: string): void {
  if (!node.isPrivate)
    throw new NotCompiled(`It shows ${what}, which is marked private, and is not marked itself.`);
}

export function withFilters(leaf: Leaf, filters: readonly FixedFilter[]): Leaf {
  return { ...leaf, filters: [...leaf.filters, ...filters] };
}
