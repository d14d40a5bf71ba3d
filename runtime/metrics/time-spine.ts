import { compareGrains, type Grain } from "../core/model/aggregate/grains.js";
import { type Leaf, METRIC_TIME } from "../core/model/aggregate/metric.js";
import type { DerivedTime, TimeSpine } from "../core/model/aggregate/aggregate.js";
import { columnsOf } from "../core/model/query.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import { dimensionOf, type GroupsBuild, isTimeOf, named } from "./groups-build.js";
import {
  type ColumnExpression,
  compute,
  joinRows,
  kept,
  type Named,
  type PlanStep,
  type ReadColumns,
} from "./plan.js";
import { readRelation } from "./read-relation.js";
import { dimensionsIn, type RowFilters } from "./row-filters.js";
import { periodName } from "./row-set.js";

/** The time spine whose periods are not longer than a grain: the coarsest of these. */
function spineFor(spines: readonly TimeSpine[], grain: Grain): TimeSpine {
  const [found] = spines
    .filter((spine) => compareGrains(spine.grain, grain) <= 0)
    .toSorted((a, b) => compareGrains(b.grain, a.grain));
  if (found === undefined) throw new Error("An aggregate needs a time spine that it does not have.");
  return found;
}

/** The rows of a time spine, and what is made of their times. */
export class SpineRows {
  readonly #build: GroupsBuild;
  readonly #leaf: Leaf;
  readonly #spine: TimeSpine;
  /** The type of their times. */
  readonly day: ResultColumn;

  constructor(build: GroupsBuild, leaf: Leaf, grain: Grain) {
    this.#build = build;
    this.#leaf = leaf;
    this.#spine = spineFor(build.grouping.aggregate.spines, grain);
    this.day = named(build.types.get(this.#spine.relation) ?? [], this.#spine.value);
  }

  period(grain: Grain): ColumnExpression {
    return ({ value }) => this.#build.dialect.truncated(value(this.#spine.value), grain, this.day);
  }

  /** What a dimension shows that is made of the time; null of another. */
  shown(name: string, { value }: ReadColumns): Part | null {
    const { derived } = dimensionOf(this.#build, name, this.#leaf.time);
    if (derived === undefined) return null;
    return "part" in derived
      ? this.#build.dialect.datePart(value(this.#spine.value), derived.part, this.day)
      : value(customName(derived));
  }

  /** The rows with their times, also under the names by which conditions compare them. */
  rows(filters: RowFilters): PlanStep {
    const { value: name } = this.#spine;
    const customs = this.#customs(filters);
    const rows = this.#withCustoms(customs);
    if (filters.conditions.length === 0) return rows;
    const names = this.#compared(filters);
    const own = [name, ...customs.map(customName)];
    const times = names.filter((each) => each !== name).flatMap((each) => this.#asCompared(each));
    return compute(rows, ...kept(own), ...times);
  }

  columns(filters: RowFilters): readonly ResultColumn[] {
    if (filters.conditions.length === 0) return [this.day];
    const { dialect } = this.#build;
    const names = this.#compared(filters).filter((each) => each !== this.#spine.value);
    const compared = names.flatMap((name) => {
      const made = this.#madeColumn(name);
      const period = { ...dialect.periodColumn(this.#spine.grain), name: periodName(name) };
      return made === null ? [{ ...this.#timeColumn(), name }, period] : [{ ...made, name }];
    });
    return [this.day, ...compared];
  }

  /** The time in both of its names, and what conditions compare that is made of it. */
  #compared({ conditions }: RowFilters): readonly string[] {
    const { time = METRIC_TIME } = this.#leaf;
    const made = conditions
      .flatMap(({ condition }) => columnsOf(condition))
      .filter((name) => dimensionOf(this.#build, name, time).derived !== undefined);
    return [...new Set([METRIC_TIME, time, ...made])];
  }

  #asCompared(name: string): Named<ColumnExpression> {
    const { dialect } = this.#build;
    if (this.#madeColumn(name) !== null)
      return [[name, (read) => this.shown(name, read) ?? this.period(this.#spine.grain)(read)]];
    const base = this.period(this.#spine.grain);
    return [
      [name, (read) => dialect.asTimeOf(base(read), this.#timeColumn())],
      [periodName(name), base],
    ];
  }

  /** The type of what is made of the time; null of the time itself. */
  #madeColumn(name: string): ResultColumn | null {
    const { derived } = dimensionOf(this.#build, name, this.#leaf.time);
    if (derived === undefined) return null;
    if ("part" in derived) return this.#build.dialect.datePartColumn;
    return named(this.#build.types.get(derived.spine) ?? [], derived.value);
  }

  /** The periods of time spines that groups and filters name. */
  #customs({ filters, conditions }: RowFilters): readonly CustomPeriod[] {
    const { groups } = this.#build.grouping;
    const names = [
      ...groups.map(({ name }) => name),
      ...dimensionsIn(filters),
      ...conditions.flatMap(({ condition }) => columnsOf(condition)),
    ].filter((name) => isTimeOf(this.#leaf, name));
    const found = names.flatMap((name) => {
      const { derived } = dimensionOf(this.#build, name, this.#leaf.time);
      return derived === undefined || "part" in derived ? [] : [derived];
    });
    return [...new Map(found.map((each) => [customName(each), each])).values()];
  }

  /** The rows with these, which another time spine may have. */
  #withCustoms(customs: readonly CustomPeriod[]): PlanStep {
    const { relation, value: name } = this.#spine;
    const columnsIn = (spine: string): Named<string> =>
      customs.filter((each) => each.spine === spine).map((each) => [customName(each), each.value]);
    const own: PlanStep = readRelation(this.#build, relation, [[name, name], ...columnsIn(relation)]);
    const others = this.#build.grouping.aggregate.spines.filter(
      (spine) => spine.relation !== relation && columnsIn(spine.relation).length > 0,
    );
    return others.reduce(
      (rows: PlanStep, spine) => this.#beside(rows, spine, columnsIn(spine.relation)),
      own,
    );
  }

  #beside(rows: PlanStep, { relation, value: name, grain }: TimeSpine, columns: Named<string>): PlanStep {
    const { dialect, types } = this.#build;
    const day = named(types.get(relation) ?? [], name);
    const own = `day of ${relation}`;
    const other = readRelation(this.#build, relation, [[own, name], ...columns]);
    const on = (row: ReadColumns, of: ReadColumns): Part =>
      dialect.infix(this.period(grain)(row), "=", dialect.truncated(of.value(own), grain, day));
    return joinRows(rows, other, on, "null");
  }

  #timeColumn(): ResultColumn {
    const { fact, time } = this.#leaf;
    const place = dimensionOf(this.#build, METRIC_TIME, time).places.find((each) => each.fact === fact);
    return named(this.#build.types.get(fact) ?? [], place?.value ?? "");
  }
}

type CustomPeriod = Extract<DerivedTime, { readonly spine: string }>;

/** The column of a period of a time spine: a name that no other column has. */
const customName = ({ spine, value }: CustomPeriod): string => `${value} of ${spine}`;
