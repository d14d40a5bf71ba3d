import { ownValue } from "@routewright/runtime/model";
import type { OtherNode } from "../manifest/manifest.js";
import { knownColumns, type Model } from "../manifest/model.js";
import type { SemanticMeasure, SemanticMetric, SemanticModel } from "../manifest/semantic-layer.js";
import { byText } from "../manifest/strings.js";
import { type PrivateMarks, WHOLE } from "./catalogue.js";
import type { SemanticIndex } from "./metrics/semantic-index.js";

/** What a project marks as private, of nodes that are published or not. */
export function marksIn(index: SemanticIndex): PrivateMarks {
  const { models, others, semantics } = index.manifest;
  const marks = new Map<string, readonly string[]>([
    ...models.map((model) => [model.uniqueId, ofModel(model)] as const),
    ...others.map((node) => [node.uniqueId, ofOther(node)] as const),
    ...semantics.metrics.map(({ node }) => [node.uniqueId, node.isPrivate ? [WHOLE] : []] as const),
  ]);
  const own = [...marks].filter(([, names]) => names.length > 0);
  const ofNodes = new Map(own);
  const semantic = semantics.models.map(
    (model) => [semanticId(model.name), ofSemanticModel(model, index, ofNodes)] as const,
  );
  return new Map(
    [...own, ...semantic.filter(([, names]) => names.length > 0)].sort(([a], [b]) => byText(a, b)),
  );
}

export function semanticId(name: string): string {
  return `semantic_model.${name}`;
}

/** What is aggregated, as text: `sum(amount)`. */
export function aggregatedText(aggregation: string, expr: string): string {
  return `${ownValue(SYNONYMS, aggregation) ?? aggregation}(${expr})`.toLowerCase().replaceAll(/\s+/g, "");
}

/** Names of dbt for what is another aggregation here. */
const SYNONYMS: Readonly<Record<string, string>> = { avg: "average", median: "percentile" };

function ofModel(model: Model): readonly string[] {
  const columns = knownColumns(model).filter((column) => model.isPrivate || column.isPrivate);
  return distinct([...(model.isPrivate ? [WHOLE] : []), ...columns.map(({ name }) => name)]);
}

function ofOther({ isPrivate, privateColumns }: OtherNode): readonly string[] {
  return distinct([...(isPrivate ? [WHOLE] : []), ...privateColumns]);
}

/** Its own marks, and those of the nodes below it: what expressions over its columns show. */
function ofSemanticModel(
  model: SemanticModel,
  index: SemanticIndex,
  ofNodes: PrivateMarks,
): readonly string[] {
  const marked = [...measuresOf(model, index)].filter((measure) => measure.isPrivate);
  return distinct([
    ...(model.isPrivate ? [WHOLE] : []),
    ...index.privateNamesOf(model, ofNodes),
    ...marked.map(({ aggregation, expr }) => aggregatedText(aggregation, expr)),
  ]);
}

/** Its measures, and what marked simple metrics aggregate of it: a metric that takes one in shows the same. */
function measuresOf(model: SemanticModel, index: SemanticIndex): readonly SemanticMeasure[] {
  const marked = [...index.metrics.values()].filter(({ node }) => node.isPrivate);
  const ofMetrics = marked
    .flatMap((metric) => aggregatedBy(metric, index))
    .filter((measure) => measure.model === model.name)
    .map((measure) => ({ ...measure, isPrivate: true }));
  return [...model.measures.values(), ...ofMetrics];
}

function aggregatedBy(
  { simple, cumulative }: SemanticMetric,
  index: SemanticIndex,
): readonly SemanticMeasure[] {
  const written = simple?.measure ?? cumulative?.of?.measure;
  const measure = typeof written === "string" ? index.measure(written) : written;
  return measure === undefined ? [] : [measure];
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort(byText);
}
