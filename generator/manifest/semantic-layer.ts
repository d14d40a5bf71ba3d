import type { JsonObject } from "./json.js";
import type { Model } from "./model.js";

/** A column or an expression of a semantic model. */
export interface SemanticEntity {
  readonly name: string;
  readonly type: string;
  readonly expr: string;
  /** Whether the project marks it as private data, as `isPrivate` of the others. */
  readonly isPrivate: boolean;
}

export interface SemanticDimension {
  readonly name: string;
  readonly isTime: boolean;
  /** Finest grain of a time, as written. */
  readonly grain: string;
  readonly expr: string;
  readonly description: string;
  readonly isPartition: boolean;
  readonly isPrivate: boolean;
}

/** What is aggregated: a measure of dbt 1.9 to 1.12, or what a simple metric of the newer spec aggregates itself. */
export interface SemanticMeasure {
  readonly model: string;
  readonly aggregation: string;
  readonly expr: string;
  readonly percentile: number | null;
  readonly isDiscrete: boolean;
  /** Name of the time dimension; empty for the model's default. */
  readonly time: string;
  readonly nonAdditive: {
    readonly dimension: string;
    readonly choice: string;
    readonly groupings: readonly string[];
  } | null;
  readonly isPrivate: boolean;
}

export interface SemanticModel {
  readonly name: string;
  /** `unique_id` of the dbt model. */
  readonly model: string;
  readonly relation: readonly [schema: string, name: string];
  readonly entities: readonly SemanticEntity[];
  readonly dimensions: readonly SemanticDimension[];
  readonly measures: ReadonlyMap<string, SemanticMeasure>;
  /** Name of the entity that local dimensions are called by; empty without one. */
  readonly primaryEntity: string;
  readonly defaultTime: string;
  /** Expressions of the times from which on and until which a row holds, of a slowly changing dimension. */
  readonly valid: { readonly from: string; readonly until: string } | null;
  readonly isPrivate: boolean;
  readonly routewright: JsonObject;
  /** As the manifest has it. */
  readonly json: JsonObject;
}

/** A number of periods, as written. */
export interface WrittenPeriod {
  readonly count: number;
  readonly granularity: string;
}

/** A metric that another one takes in. */
export interface MetricInput {
  readonly metric: string;
  readonly alias: string;
  readonly filters: readonly string[];
  readonly offset: WrittenPeriod | null;
  readonly offsetToGrain: string;
}

/** What a simple metric aggregates: a measure by name, or its own. */
export interface SimpleMetric {
  readonly measure: string | SemanticMeasure;
  readonly filters: readonly string[];
  readonly fill: number | null;
  readonly onSpine: boolean;
}

export interface CumulativeMetric {
  /** Of the older spec; null where `metric` names a simple metric. */
  readonly of: SimpleMetric | null;
  readonly metric: MetricInput | null;
  readonly window: WrittenPeriod | null;
  readonly grainToDate: string;
  readonly periodAggregation: string;
}

/** What rows of one measure lead to, of another. */
export interface ConversionMetric {
  readonly base: SimpleMetric | MetricInput;
  readonly conversion: SimpleMetric | MetricInput;
  readonly entity: string;
  readonly calculation: string;
  readonly window: WrittenPeriod | null;
  /** Names of dimensions or entities that are equal. */
  readonly constants: readonly (readonly [base: string, conversion: string])[];
}

/** A dbt metric. `node`: its tags, texts and settings, as those of a model. */
export interface SemanticMetric {
  readonly node: Model;
  /** As the manifest has it. */
  readonly json: JsonObject;
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly filters: readonly string[];
  readonly grain: string;
  readonly simple: SimpleMetric | null;
  readonly cumulative: CumulativeMetric | null;
  readonly conversion: ConversionMetric | null;
  /** Of a ratio the numerator and the denominator. */
  readonly inputs: readonly MetricInput[];
  readonly expr: string;
}

export interface SemanticQuery {
  readonly node: Model;
  /** As the manifest has it. */
  readonly json: JsonObject;
  readonly name: string;
  readonly label: string;
  readonly metrics: readonly string[];
  readonly groupBy: readonly string[];
  readonly filters: readonly string[];
  readonly orderBy: readonly string[];
  readonly limit: number | null;
}

export interface SemanticSpine {
  /** `unique_id` of the dbt model. */
  readonly model: string;
  readonly relation: readonly [schema: string, name: string];
  readonly column: string;
  readonly grain: string;
  /** Columns with longer periods of the project's own. */
  readonly customs: readonly { readonly name: string; readonly column: string }[];
}

/** The semantic layer of a manifest. */
export interface Semantics {
  readonly models: readonly SemanticModel[];
  readonly metrics: readonly SemanticMetric[];
  readonly queries: readonly SemanticQuery[];
  readonly spines: readonly SemanticSpine[];
}
