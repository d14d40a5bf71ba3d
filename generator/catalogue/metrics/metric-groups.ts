import {
  type AggregateGroup,
  compareGrains,
  type Grain,
  GRAINS,
  isGrain,
  type Leaf,
  leavesOf,
  METRIC_TIME,
  type MetricTree,
  OPTION_COLUMNS,
  OPTION_FIELDS,
  withoutMetricTime,
} from "@routewright/runtime/model";
import { isObject, textOr, textsOf } from "../../manifest/json.js";
import type { SemanticMetric, SemanticModel } from "../../manifest/semantic-layer.js";
import { shiftedLeaves } from "./metric-tree.js";
import { type AggregateParts, NotCompiled } from "./aggregate-parts.js";
import { coarsest, isHeld, type ReachableDimension, type SemanticIndex } from "./semantic-index.js";

/** What `meta.routewright.group_by` of a metric names: everything, or names with their grains. */
type GroupBy = "all" | readonly { readonly name: string; readonly grains: readonly Grain[] | null }[];

/** No group and no metric has the name of what requests and answers have for all of them. */
const isTaken = (name: string): boolean =>
  [...OPTION_FIELDS, ...OPTION_COLUMNS].some((each) => each === name);

/** The groups that callers may ask of a metric, and those that it could have. */
export class MetricGroups {
  readonly #index: SemanticIndex;

  constructor(index: SemanticIndex) {
    this.#index = index;
  }

  of(metric: SemanticMetric, tree: MetricTree, parts: AggregateParts): readonly AggregateGroup[] {
    const leaves = leavesOf(tree);
    const models = leaves.map((leaf) => this.#modelOf(leaf));
    const asked = this.#askedOf(metric, models);
    this.#checkTimes(leaves, asked === null || asked === "all" ? [] : asked.map(({ name }) => name));
    const groups = asked === null ? this.#default(metric, tree) : this.#declared(metric, tree, asked);
    const taken = [metric.name, ...groups.map(({ name }) => name)].find(isTaken);
    if (taken !== undefined)
      throw new NotCompiled(`${taken} is a parameter of requests for groups, or a column of their answers.`);
    for (const { name } of groups)
      for (const leaf of leaves) {
        const own = withoutMetricTime(name, leaf.time);
        if (name !== METRIC_TIME) parts.dimension(this.#modelOf(leaf), own);
      }
    return groups;
  }

  /** All groups that a metric could have, for a saved query, which fixes its own: those `listed`. */
  all(metric: SemanticMetric, tree: MetricTree, listed: readonly string[]): readonly AggregateGroup[] {
    const leaves = leavesOf(tree);
    this.#checkTimes(leaves, listed);
    return this.#possible(metric, tree, () => true);
  }

  /** A range of dates bounds every metric: one with a private time is served where that is listed by its name. */
  #checkTimes(leaves: readonly Leaf[], listed: readonly string[]): void {
    if (listed.includes(METRIC_TIME)) return;
    for (const leaf of leaves) {
      const { name, isPrivate } = this.#index.reachable(this.#modelOf(leaf)).get(leaf.time ?? "") ?? {};
      if (name !== undefined && isPrivate === true && !listed.includes(name))
        throw new NotCompiled(`metric_time is ${name}, which is private, and group_by does not list it.`);
    }
  }

  #modelOf({ fact }: Leaf): SemanticModel {
    const model = this.#index.model(fact);
    if (model === undefined) throw new NotCompiled(`The manifest has no semantic model ${fact}.`);
    return model;
  }

  /** The metric's own setting, else that of its semantic models. */
  #askedOf({ node }: SemanticMetric, models: readonly SemanticModel[]): GroupBy | null {
    const settings = [node.routewright, ...models.map(({ routewright }) => routewright)];
    const written = settings
      .map((each) => each["group_by"])
      .find((each) => each !== undefined && each !== null);
    return written === undefined ? null : groupByOf(written);
  }

  #default(metric: SemanticMetric, tree: MetricTree): readonly AggregateGroup[] {
    return this.#possible(
      metric,
      tree,
      (each) => each.join === null && !each.isEntity && !each.isPrivate && each.derived === undefined,
    );
  }

  #declared(metric: SemanticMetric, tree: MetricTree, asked: GroupBy): readonly AggregateGroup[] {
    if (asked === "all") return this.#possible(metric, tree, ({ isPrivate }) => !isPrivate);
    // A private dimension is served where it is listed by its name.
    const possible = this.#possible(metric, tree, () => true);
    return asked.map(({ name, grains }) => {
      const found = possible.find((group) => group.name === name);
      if (found === undefined)
        throw new NotCompiled(
          /__extract_[a-z]+$/.test(name) && hasNoParts(tree)
            ? `group_by names ${name}, a part of a date: values that accumulate, or stand at the start of a period, have none. Give the metric a group_by of its own without it.`
            : `group_by names ${name}, which is no dimension of the metric.`,
        );
      return grains === null ? found : withGrains(found, grains);
    });
  }

  /** The groups that all facts of a metric share. */
  #possible(
    metric: SemanticMetric,
    tree: MetricTree,
    isWanted: (each: ReachableDimension) => boolean,
  ): readonly AggregateGroup[] {
    const leaves = leavesOf(tree);
    const isServed = (each: ReachableDimension): boolean =>
      isWanted(each) && !(isPart(each) && hasNoParts(tree));
    const [first, ...others] = leaves.map((leaf) => this.#ofLeaf(leaf, tree, isServed));
    const shared = [...(first ?? [])].flatMap(([name, grain]): AggregateGroup[] => {
      const grains = others.map((each) => each.get(name));
      if (grains.includes(undefined)) return [];
      const finest = coarsest([grain, ...grains].filter((each) => each !== null && each !== undefined));
      return [finest === undefined ? { name } : timeGroup(name, finest)];
    });
    const time = this.#metricTime(metric, leaves);
    return time === null ? shared : [time, ...this.#ofMetricTime(leaves, isServed), ...shared];
  }

  /** Name and finest grain of the dimensions of a leaf; null for one that is no time. */
  #ofLeaf(
    leaf: Leaf,
    tree: MetricTree,
    isWanted: (each: ReachableDimension) => boolean,
  ): ReadonlyMap<string, Grain | null> {
    const all = [...this.#index.reachable(this.#modelOf(leaf)).values()].filter(
      (each) => isWanted(each) && this.#index.hasNull(each),
    );
    const hasOwnTime = leaf.time !== undefined && !shiftedLeaves(tree).has(leaf);
    const isServed = (each: ReachableDimension): boolean =>
      (hasOwnTime || !isHeld(each)) && this.#hasTimeOf(leaf, each);
    return new Map(all.filter(isServed).map((each) => [each.name, each.grain ?? null]));
  }

  #hasTimeOf(leaf: Leaf, { name, grain, derived }: ReachableDimension): boolean {
    if (derived?.time === leaf.time) return this.#hasTime(leaf, this.#grainOf(leaf) ?? "day");
    return name !== leaf.time || grain === undefined || this.#hasTime(leaf, grain);
  }

  /** What is made of the times of all leaves. */
  #ofMetricTime(
    leaves: readonly Leaf[],
    isWanted: (each: ReachableDimension) => boolean,
  ): readonly AggregateGroup[] {
    const [first, ...others] = leaves.map((leaf) => {
      const all = [...this.#index.reachable(this.#modelOf(leaf)).values()];
      const made = all.filter(
        (each) =>
          each.derived?.time === leaf.time &&
          this.#hasTimeOf(leaf, each) &&
          isWanted({ ...each, isPrivate: false }),
      );
      return made.map(({ name }) => METRIC_TIME + name.slice(leaf.time?.length ?? 0));
    });
    return (first ?? [])
      .filter((name) => others.every((names) => names.includes(name)))
      .map((name) => ({ name }));
  }

  /** Accumulated values by time need a row of the time spine per period. */
  #hasTime({ cumulative }: Leaf, grain: Grain): boolean {
    return cumulative === undefined || this.#index.hasSpine(grain);
  }

  #grainOf(leaf: Leaf): Grain | undefined {
    return this.#index.reachable(this.#modelOf(leaf)).get(leaf.time ?? "")?.grain;
  }

  #metricTime({ grain: own }: SemanticMetric, leaves: readonly Leaf[]): AggregateGroup | null {
    const grains = leaves.map((leaf) => {
      const grain = this.#grainOf(leaf);
      return grain !== undefined && this.#hasTime(leaf, grain) ? grain : undefined;
    });
    const finest = grains.includes(undefined)
      ? undefined
      : coarsest(grains.filter((each) => each !== undefined));
    if (finest === undefined) return null;
    const usual = compareGrains(finest, "day") < 0 ? "day" : finest;
    return { ...timeGroup(METRIC_TIME, finest), grain: isGrain(own) ? own : usual };
  }
}

const isPart = ({ derived }: ReachableDimension): boolean => derived !== undefined && "part" in derived;

/** Accumulated values have no parts of dates, nor have those from the start of a period: as in MetricFlow. */
function hasNoParts(tree: MetricTree): boolean {
  if (tree.kind === "leaf") return tree.cumulative !== undefined;
  return tree.inputs.some(({ offsetToGrain, metric }) => offsetToGrain !== undefined || hasNoParts(metric));
}

function timeGroup(name: string, finest: Grain): AggregateGroup {
  return { name, grains: GRAINS.filter((grain) => compareGrains(grain, finest) >= 0), grain: finest };
}

function withGrains(group: AggregateGroup, grains: readonly Grain[]): AggregateGroup {
  const kept = (group.grains ?? []).filter((grain) => grains.includes(grain));
  const [finest] = kept;
  if (finest === undefined) throw new NotCompiled(`group_by gives ${group.name} no grain that it has.`);
  return {
    name: group.name,
    grains: kept,
    grain: group.grain !== undefined && kept.includes(group.grain) ? group.grain : finest,
  };
}

/** `all`, or a list of names, each alone, with a grain, or as `{name, grains}`. */
function groupByOf(written: unknown): GroupBy {
  if (written === "all") return "all";
  if (!Array.isArray(written)) throw new NotCompiled("group_by is neither `all` nor a list of names.");
  const named = new Map<string, readonly Grain[] | null>();
  for (const { name, grains } of (written as readonly unknown[]).flatMap(groupsIn)) {
    const known = named.get(name);
    named.set(name, grains === null || known === null ? grains : [...(known ?? []), ...grains]);
  }
  return [...named].map(([name, grains]) => ({ name, grains }));
}

interface NamedGroup {
  readonly name: string;
  readonly grains: readonly Grain[] | null;
}

/** A name, alone or with its grains; grains of the project's own, and parts of dates, are names of their own. */
function groupsIn(item: unknown): readonly NamedGroup[] {
  if (typeof item === "string") {
    const [, name = item, grain = ""] = /^(.*)__(\w+)$/.exec(item) ?? [];
    return [isGrain(grain) ? { name, grains: [grain] } : { name: item, grains: null }];
  }
  const name = isObject(item) ? textOr(item["name"], textOr(item["column"], "")) : "";
  if (!isObject(item) || name === "")
    throw new NotCompiled("An item of group_by is neither a name nor `{name, grains}`.");
  if (item["grains"] === undefined) return [{ name, grains: null }];
  const written = textsOf(item["grains"]);
  const standard = written.filter(isGrain);
  const others = written.filter((grain) => !isGrain(grain));
  return [
    ...(standard.length > 0 || others.length === 0 ? [{ name, grains: standard }] : []),
    ...others.map((grain) => ({ name: `${name}__${grain}`, grains: null })),
  ];
}
