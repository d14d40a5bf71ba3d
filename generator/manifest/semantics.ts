import { type JsonObject, objectOr, objectsOf, textOr, textsOf } from "./json.js";
import { type Model, modelOf } from "./model.js";
import { isPrivate, routewrightOf } from "./node-meta.js";
import { relationOf } from "./relation-name.js";
import type {
  ConversionMetric,
  CumulativeMetric,
  MetricInput,
  SemanticDimension,
  SemanticEntity,
  SemanticMeasure,
  SemanticMetric,
  SemanticModel,
  SemanticQuery,
  SemanticSpine,
  Semantics,
  SimpleMetric,
  WrittenPeriod,
} from "./semantic-layer.js";
import { withoutComments } from "./sql-text.js";
import { byText } from "./strings.js";

/** Reads semantic models, metrics and saved queries as dbt 1.6 to 1.12 and 2 write them, in both spellings. */
export function semanticsOf(manifest: JsonObject, adapter: string): Semantics {
  const nodes = objectOr(manifest["nodes"]);
  return {
    models: entriesOf(manifest["semantic_models"]).map(([, json]) => modelOfJson(json, nodes, adapter)),
    metrics: entriesOf(manifest["metrics"]).map(([id, json]) => metricOf(id, json)),
    queries: entriesOf(manifest["saved_queries"]).map(([id, json]) => queryOf(id, json)),
    spines: spinesOf(nodes, adapter),
  };
}

/** Enabled nodes by `unique_id`. */
function entriesOf(value: unknown): readonly (readonly [string, JsonObject])[] {
  return Object.entries(objectOr(value))
    .map(([id, json]) => [id, objectOr(json)] as const)
    .filter(([, json]) => objectOr(json["config"])["enabled"] !== false)
    .sort(([a], [b]) => byText(a, b));
}

function modelOfJson(json: JsonObject, nodes: JsonObject, adapter: string): SemanticModel {
  const name = textOr(json["name"], "");
  const model = textsOf(objectOr(json["depends_on"])["nodes"])[0] ?? "";
  const { schema_name: schema, alias, relation_name } = objectOr(json["node_relation"]);
  const node = objectOr(nodes[model]);
  const entities = objectsOf(json["entities"]).map(entityOf);
  const primary = entities.find(({ type }) => type === "primary")?.name;
  const dimensions = objectsOf(json["dimensions"]);
  return {
    name,
    model,
    relation: relationOf(node["alias"] === undefined ? { schema, alias, relation_name } : node, adapter),
    entities,
    dimensions: dimensions.map(dimensionOf),
    measures: new Map(
      objectsOf(json["measures"]).map((measure) => [textOr(measure["name"], ""), measureOf(measure, name)]),
    ),
    primaryEntity: textOr(json["primary_entity"], primary ?? ""),
    defaultTime: textOr(objectOr(json["defaults"])["agg_time_dimension"], ""),
    valid: validityOf(dimensions),
    isPrivate: isPrivate(json),
    routewright: routewrightOf(json),
    json,
  };
}

function validityOf(dimensions: readonly JsonObject[]): SemanticModel["valid"] {
  const exprWith = (key: "is_start" | "is_end"): string | undefined =>
    dimensions
      .filter((each) => objectOr(objectOr(each["type_params"])["validity_params"])[key] === true)
      .map((each) => dimensionOf(each).expr)[0];
  const [from, until] = [exprWith("is_start"), exprWith("is_end")];
  return from === undefined || until === undefined ? null : { from, until };
}

function entityOf(json: JsonObject): SemanticEntity {
  const name = textOr(json["name"], "");
  return { name, type: textOr(json["type"], ""), expr: exprOf(json, name), isPrivate: isPrivate(json) };
}

function exprOf(json: JsonObject, name: string): string {
  const { expr } = json;
  return typeof expr === "number" ? String(expr) : withoutComments(textOr(expr, "")).trim() || name;
}

function dimensionOf(json: JsonObject): SemanticDimension {
  const name = textOr(json["name"], "");
  return {
    name,
    isTime: textOr(json["type"], "").toLowerCase() === "time",
    grain: textOr(objectOr(json["type_params"])["time_granularity"], "day").toLowerCase(),
    expr: exprOf(json, name),
    description: textOr(json["description"], ""),
    isPartition: json["is_partition"] === true,
    isPrivate: isPrivate(json),
  };
}

/** `expr` of a metric of the newer spec stands beside its aggregation, or inside. */
function measureOf(
  json: JsonObject,
  model: string,
  expr = exprOf(json, textOr(json["name"], "")),
): SemanticMeasure {
  const parameters = objectOr(json["agg_params"]);
  const nonAdditive = objectOr(json["non_additive_dimension"]);
  const percentile = parameters["percentile"];
  const dimension = textOr(nonAdditive["name"], "");
  return {
    model,
    aggregation: textOr(json["agg"], "").toLowerCase(),
    expr,
    percentile: typeof percentile === "number" ? percentile : null,
    isDiscrete: parameters["use_discrete_percentile"] === true,
    time: textOr(json["agg_time_dimension"], ""),
    nonAdditive:
      dimension === ""
        ? null
        : {
            dimension,
            choice: textOr(nonAdditive["window_choice"], "min").toLowerCase(),
            groupings: [...textsOf(nonAdditive["window_groupings"]), ...textsOf(nonAdditive["group_by"])],
          },
    isPrivate: isPrivate(json),
  };
}

/** A node's own text of a filter: `{where_filters: [{where_sql_template}]}`; of dbt 1.6 `{where_sql_template}`. */
function filtersOf(value: unknown): readonly string[] {
  const written = objectOr(value);
  const filters = "where_sql_template" in written ? [written] : objectsOf(written["where_filters"]);
  return filters.map((filter) => withoutComments(textOr(filter["where_sql_template"], "")));
}

function metricOf(id: string, json: JsonObject): SemanticMetric {
  const parameters = objectOr(json["type_params"]);
  const type = textOr(json["type"], "").toLowerCase();
  const ratio = [parameters["numerator"], parameters["denominator"]].map(objectOr);
  const inputs = type === "ratio" ? ratio : objectsOf(parameters["metrics"]);
  return {
    node: taggedNode(id, json),
    json,
    name: textOr(json["name"], ""),
    label: textOr(json["label"], ""),
    type,
    filters: filtersOf(json["filter"]),
    grain: textOr(json["time_granularity"], "").toLowerCase(),
    simple: type === "simple" ? simpleOf(parameters, textOr(json["name"], "")) : null,
    cumulative: type === "cumulative" ? cumulativeOf(parameters, textOr(json["name"], "")) : null,
    conversion: type === "conversion" ? conversionOf(parameters) : null,
    inputs: inputs.map(inputOf),
    expr: withoutComments(textOr(parameters["expr"], "")),
  };
}

/** Tags in the order written, in which the first ones count; `tags` of a saved query are sorted. Those of a metric may be there only. */
function taggedNode(id: string, json: JsonObject): Model {
  const own = json["tags"];
  const node = modelOf(id, typeof own === "string" ? { ...json, tags: [own] } : json, {
    adapter: "",
    tests: [],
  });
  const tags = [...new Set([...node.configTags, ...textsOf(typeof own === "string" ? [own] : own)])];
  return node.configTags.length > 0 ? { ...node, tags, configTags: tags } : node;
}

function simpleOf(parameters: JsonObject, name: string): SimpleMetric {
  const written = objectOr(parameters["measure"]);
  const own = objectOr(parameters["metric_aggregation_params"]);
  const hasOwn = Object.keys(own).length > 0;
  const expr = withoutComments(textOr(parameters["expr"], "")) || exprOf(own, name);
  const from = hasOwn ? parameters : written;
  return {
    measure: hasOwn ? measureOf(own, textOr(own["semantic_model"], ""), expr) : textOr(written["name"], ""),
    filters: filtersOf(written["filter"]),
    fill: numberOf(from["fill_nulls_with"]),
    onSpine: from["join_to_timespine"] === true,
  };
}

const numberOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

function cumulativeOf(parameters: JsonObject, name: string): CumulativeMetric {
  const own = objectOr(parameters["cumulative_type_params"]);
  const input = objectOr(own["metric"]);
  const hasMetric = textOr(input["name"], "") !== "";
  return {
    of: hasMetric ? null : simpleOf(parameters, name),
    metric: hasMetric ? inputOf(input) : null,
    window: periodOf(own["window"]) ?? periodOf(parameters["window"]),
    grainToDate: textOr(own["grain_to_date"], textOr(parameters["grain_to_date"], "")).toLowerCase(),
    periodAggregation: textOr(own["period_agg"], "first").toLowerCase(),
  };
}

/** `{count: 7, granularity: day}`, or `7 days`. */
function periodOf(value: unknown): WrittenPeriod | null {
  const { count, granularity } = objectOr(value);
  if (typeof count === "number" && typeof granularity === "string")
    return { count, granularity: granularity.toLowerCase() };
  const [, number, unit = ""] = /^\s*(\d+)\s*([a-z]+?)s?\s*$/i.exec(textOr(value, "")) ?? [];
  return number === undefined ? null : { count: Number(number), granularity: unit.toLowerCase() };
}

function conversionOf(parameters: JsonObject): ConversionMetric {
  const own = objectOr(parameters["conversion_type_params"]);
  const side = (name: "base" | "conversion"): SimpleMetric | MetricInput => {
    const input = objectOr(own[`${name}_metric`]);
    const measure = { measure: own[`${name}_measure`] };
    return textOr(input["name"], "") === "" ? simpleOf(measure, "") : inputOf(input);
  };
  return {
    base: side("base"),
    conversion: side("conversion"),
    entity: textOr(own["entity"], ""),
    calculation: textOr(own["calculation"], "conversion_rate").toLowerCase(),
    window: periodOf(own["window"]),
    constants: objectsOf(own["constant_properties"]).map((each) => [
      textOr(each["base_property"], ""),
      textOr(each["conversion_property"], ""),
    ]),
  };
}

function inputOf(json: JsonObject): MetricInput {
  const metric = textOr(json["name"], "");
  return {
    metric,
    alias: textOr(json["alias"], "") || metric,
    filters: filtersOf(json["filter"]),
    offset: periodOf(json["offset_window"]),
    offsetToGrain: textOr(json["offset_to_grain"], "").toLowerCase(),
  };
}

function queryOf(id: string, json: JsonObject): SemanticQuery {
  const parameters = objectOr(json["query_params"]);
  const { limit } = parameters;
  return {
    node: taggedNode(id, json),
    json,
    name: textOr(json["name"], ""),
    label: textOr(json["label"], ""),
    metrics: textsOf(parameters["metrics"]),
    groupBy: textsOf(parameters["group_by"]),
    filters: filtersOf(parameters["where"]),
    orderBy: textsOf(parameters["order_by"]),
    limit: typeof limit === "number" ? limit : null,
  };
}

/** Models with a `time_spine`; or, of older projects, the model with the name that MetricFlow expected. */
function spinesOf(nodes: JsonObject, adapter: string): readonly SemanticSpine[] {
  const models = entriesOf(nodes).filter(([, node]) => node["resource_type"] === "model");
  const spines = models.flatMap(([model, node]): readonly SemanticSpine[] => {
    const column = textOr(objectOr(node["time_spine"])["standard_granularity_column"], "");
    if (column === "") return [];
    const grain = textOr(objectOr(objectOr(node["columns"])[column])["granularity"], "day").toLowerCase();
    const customs = objectsOf(objectOr(node["time_spine"])["custom_granularities"]).map((custom) => {
      const name = textOr(custom["name"], "");
      return { name: name.toLowerCase(), column: textOr(custom["column_name"], name) };
    });
    return [{ model, relation: relationOf(node, adapter), column, grain, customs }];
  });
  if (spines.some(({ grain }) => grain === "day")) return spines;
  const [model, legacy] = models.find(([, node]) => node["name"] === "metricflow_time_spine") ?? [];
  return model === undefined || legacy === undefined
    ? spines
    : [
        ...spines,
        { model, relation: relationOf(legacy, adapter), column: "date_day", grain: "day", customs: [] },
      ];
}
