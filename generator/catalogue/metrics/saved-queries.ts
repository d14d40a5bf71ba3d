import {
  type AskedGroup,
  compareGrains,
  groupKey,
  isGrain,
  leavesOf,
  METRIC_TIME,
  type SavedQuery,
  withoutMetricTime,
} from "@routewright/runtime/model";
import { textsOf } from "../../manifest/json.js";
import { readCall } from "../../manifest/filter-template.js";
import type { SemanticQuery } from "../../manifest/semantic-layer.js";
import type { Context } from "../endpoint.js";
import { AggregateParts, NotCompiled } from "./aggregate-parts.js";
import type { DescribedMeasure } from "./metric-columns.js";
import { entryOf, type Made, measureOf, notCompiled, type Tagged, titleOf } from "./metric-entry.js";
import { MetricGroups } from "./metric-groups.js";
import { MetricTrees } from "./metric-tree.js";
import type { SemanticIndex } from "./semantic-index.js";

/** The endpoint of a saved query: its groups, its filters and its order are fixed. */
export function savedEndpoint(
  index: SemanticIndex,
  context: Context,
  { of, node, tags }: Tagged<SemanticQuery>,
): Made {
  try {
    const parts = new AggregateParts(index);
    const trees = new MetricTrees(index, parts);
    const groups = new MetricGroups(index);
    const listed = of.groupBy.map((text) => nameAndGrain(text)[0]);
    const measures = of.metrics.map((name) => {
      const metric = index.metrics.get(name);
      if (metric === undefined) throw new NotCompiled(`The manifest has no metric ${name}.`);
      const tree = trees.of(metric);
      return measureOf(metric, tree, groups.all(metric, tree, listed));
    });
    if (measures.length === 0) throw new NotCompiled("The saved query names no metrics.");
    const asked = of.groupBy.map((text) => askedGroup(text, measures, parts, index));
    const filters = trees.fixed(
      of,
      measures.map(({ metric }) => metric),
    );
    const saved: SavedQuery = {
      groups: asked,
      filters,
      sort: of.orderBy.map((text) => sortOf(text, asked, measures)),
      ...(of.limit !== null && { limit: of.limit }),
    };
    const tier = tags.tier ?? context.defaultTier;
    const { description } = node;
    const synonyms = textsOf(node.routewright["synonyms"]);
    return {
      entries: [
        entryOf(
          index,
          context,
          { node, tags, tier, description, synonyms, ...titleOf(node, of.label) },
          { parts, measures, saved },
        ),
      ],
      skipped: [],
    };
  } catch (error) {
    if (!(error instanceof NotCompiled)) throw error;
    return { entries: [], skipped: [notCompiled(node, error)] };
  }
}

/** A group of a saved query: `Dimension('a__b')`, or the name itself. Groups of all facts; private ones are its author's choice. */
function askedGroup(
  text: string,
  measures: readonly DescribedMeasure[],
  parts: AggregateParts,
  index: SemanticIndex,
): AskedGroup {
  const [name, grain] = nameAndGrain(text);
  const found = measures.map(({ groups }) => groups.find((group) => group.name === name));
  const missing = found.indexOf(undefined);
  if (missing >= 0)
    throw new NotCompiled(`group_by names ${name}, which ${measures[missing]?.name ?? ""} does not have.`);
  const own = found.map((group) => group?.grain).filter((each) => each !== undefined);
  const asked = grain ?? own.toSorted(compareGrains).at(-1);
  if (asked !== undefined && found.some((group) => group?.grains?.includes(asked) !== true))
    throw new NotCompiled(`group_by asks ${name} by ${asked}, which it does not have.`);
  for (const { fact, time } of measures.flatMap(({ metric }) => leavesOf(metric))) {
    const model = index.model(fact);
    if (name !== METRIC_TIME && model !== undefined) parts.dimension(model, withoutMetricTime(name, time));
  }
  return {
    key: asked === undefined ? name : groupKey(name, asked),
    name,
    ...(asked !== undefined && { grain: asked }),
  };
}

function nameAndGrain(text: string): readonly [name: string, grain: AskedGroup["grain"]] {
  const written = text.includes("(") ? readCall(text) : { dimension: text };
  if ("problem" in written) throw new NotCompiled(`group_by ${text}: ${written.problem}.`);
  const { dimension, grain = "" } = written as { dimension: string; grain?: string };
  if (grain !== "") return isGrain(grain) ? [dimension, grain] : [`${dimension}__${grain}`, undefined];
  const [, name = "", suffix = ""] = /^(.*)__(\w+)$/.exec(dimension) ?? [];
  return isGrain(suffix) ? [name, suffix] : [dimension, undefined];
}

/** `Metric('revenue').descending(True)`, `-revenue`, or a name. */
function sortOf(
  text: string,
  groups: readonly AskedGroup[],
  measures: readonly DescribedMeasure[],
): SavedQuery["sort"][number] {
  const isDescending = text.startsWith("-") || /\.\s*descending\s*\(\s*(True|true)?\s*\)/.test(text);
  const plain = text.replace(/^-/, "").replace(/\.\s*descending\s*\(.*?\)/, "");
  const metric = /^Metric\s*\(\s*['"](\w+)['"]\s*\)$/.exec(plain.trim())?.[1] ?? plain.trim();
  if (measures.some(({ name }) => name === metric)) return [metric, isDescending ? "DESC" : "ASC"];
  const [name, grain] = nameAndGrain(plain.trim());
  const group = groups.find((each) => each.name === name && (grain === undefined || each.grain === grain));
  if (group === undefined)
    throw new NotCompiled(`order_by names ${text}, which the saved query does not select.`);
  return [group.key, isDescending ? "DESC" : "ASC"];
}
