import {
  type Aggregate,
  type AggregateDimension,
  type AggregateJoin,
  type AggregateMeasure,
  type AggregateRelation,
  dimensionOfPart,
  type DerivedTime,
  type FixedFilter,
  type Formula,
  type FormulaInput,
  joinsTo,
  type Leaf,
  leavesOf,
  METRIC_TIME,
  type MetricTree,
  needsSpine,
  type Period,
  type ResultOfEntity,
  type SavedQuery,
  withoutMetricTime,
} from "@routewright/runtime/model";

/** Names of relations in texts, by their names in an aggregate. */
export type Labels = ReadonlyMap<string, string>;

/** A relation is called as in the database; where an aggregate has two of a name, as its semantic model. */
export function labelsOf({ relations }: Pick<Aggregate, "relations">): Labels {
  const aliases = relations.map(({ relation: [, alias] }) => alias);
  const isUnique = ({ relation: [, alias] }: AggregateRelation): boolean =>
    aliases.indexOf(alias) === aliases.lastIndexOf(alias);
  return new Map(relations.map((each) => [each.name, isUnique(each) ? each.relation[1] : each.name]));
}

/**
 * What measures and groups are, in words. Two texts are the same exactly where the answers are: `diff` compares them, so
 * whatever decides on a value has to be in its text.
 */
export class FormulaTexts {
  readonly #aggregate: Aggregate;
  readonly #labels: Labels;
  readonly #sqlOf: (sql: string) => string;

  /** `sqlOf`: how SQL of the project stands in a text; as written by default. */
  constructor(
    aggregate: Aggregate,
    labels: Labels = labelsOf(aggregate),
    sqlOf: (sql: string) => string = (sql) => sql,
  ) {
    this.#aggregate = aggregate;
    this.#labels = labels;
    this.#sqlOf = sqlOf;
  }

  /** `sum of amount in payments by paid_on (day), where payment__status = 'paid'; payment__status is status`. */
  measure({ metric, condition }: AggregateMeasure): string {
    const [leaf] = factsIn(metric);
    const isOnly =
      condition === undefined
        ? []
        : [
            `only where ${condition.column} ${condition.operator} ${JSON.stringify(condition.value)}`,
            ...(leaf === undefined ? [] : this.#definition(leaf, condition.column)),
          ];
    const spine = needsSpine(metric) ? [`periods of ${this.#spines()}`] : [];
    return [this.#tree(metric), ...isOnly, ...spine].join("; ");
  }

  /** What a saved query fixes besides its order. */
  saved({ groups, filters, limit }: SavedQuery): string {
    const { measures } = this.#aggregate;
    const keys = groups.map(({ key, name, grain }) => [key, name, grain ?? "no grain"]);
    const facts = [...new Set(measures.flatMap(({ metric }) => factsIn(metric)))];
    return [
      `grouped by ${keys.map(([key = "", name, grain]) => (key === name ? key : `${key} (${String(name)}, ${String(grain)})`)).join(", ") || "nothing"}`,
      ...this.#where(filters, facts),
      ...(limit === undefined ? [] : [`the first ${String(limit)} rows`]),
    ].join("; ");
  }

  /** A dimension as a fact has it; null where it has none: `region of customers, joined by customer_id = id`. */
  dimension(name: string, fact: string): string | null {
    const { dimensions, measures } = this.#aggregate;
    const leaves = measures.flatMap(({ metric }) => leavesOf(metric)).filter((leaf) => leaf.fact === fact);
    const names = new Set([name, ...leaves.map(({ time }) => withoutMetricTime(name, time))]);
    const found = dimensions
      .filter((each) => names.has(each.name))
      .flatMap((each) => this.#place(each, fact));
    return found.length === 0 || name === METRIC_TIME ? null : [...new Set(found)].join(", or ");
  }

  #place({ grain, derived, places }: AggregateDimension, fact: string): readonly string[] {
    const place = places.find((each) => each.fact === fact);
    if (place === undefined) return [];
    const joins = this.#aggregate.facts.find(({ relation }) => relation === fact)?.joins ?? [];
    const time = grain === undefined ? "" : ` (${grain})`;
    const part = derived === undefined ? "" : this.#derived(derived);
    if (place.join === undefined) return [part + this.#value(fact, place.value) + time];
    const to = joins[place.join]?.to ?? "?";
    const how = joinsTo(joins, place.join).map((position) => this.#join(fact, joins, position));
    return [`${part}${this.#value(to, place.value)} of ${this.#label(to)}, ${how.join(", ")}${time}`];
  }

  /** `month of order__ordered_on: `, or `fiscal_quarter of days (order__ordered_on): `. */
  #derived({ time, ...of }: DerivedTime): string {
    return "part" in of
      ? `${of.part} of ${time}: `
      : `${this.#value(of.spine, of.value)} of ${this.#label(of.spine)} (${time}): `;
  }

  /** `joined by customer_id = id`; behind another join with the name of its relation. */
  #join(fact: string, joins: readonly AggregateJoin[], position: number): string {
    const { to = "?", from, on = [], onFact = [], valid, grain } = joins[position] ?? {};
    const own = joins[from ?? -1]?.to ?? fact;
    const keys = [
      ...on.map(([key, toKey]) => `${this.#value(own, key)} = ${this.#value(to, toKey)}`),
      ...onFact.map(
        ([key, toKey]) => `${this.#value(fact, key)} of ${this.#label(fact)} = ${this.#value(to, toKey)}`,
      ),
    ];
    const before = from === undefined ? "" : `${this.#label(own)} with ${this.#label(to)} `;
    const bounds = valid === undefined ? [] : [this.#value(to, valid.from), this.#value(to, valid.until)];
    const holds = bounds.length === 0 ? "" : ` where it holds, from ${bounds.join(" until ")}`;
    const period = grain === undefined ? "" : ` (${grain})`;
    return `${before}joined by ${keys.join(" and ")}${period}${holds}`;
  }

  #tree(metric: MetricTree): string {
    return metric.kind === "leaf" ? this.#leaf(metric) : this.#formula(metric);
  }

  #leaf(leaf: Leaf): string {
    const { fact, time, filters, fill, onSpine } = leaf;
    const parts = [
      `${this.#aggregation(leaf)} in ${this.#fact(fact)}`,
      ...(time === undefined ? [] : [`time: ${this.dimension(time, fact) ?? "?"}`]),
      ...this.#where(filters, [fact]),
      ...this.#conversion(leaf),
      ...this.#lastTime(leaf),
      ...accumulated(leaf),
      ...(onSpine === true ? ["a row for every period"] : []),
      ...(fill === undefined ? [] : [`${String(fill)} for null`]),
    ];
    return parts.join("; ");
  }

  /** What is counted instead, and which row it stands with. */
  #conversion({ fact: base, converted }: Leaf): readonly string[] {
    if (converted === undefined) return [];
    const { fact, time, on, window, filters } = converted;
    const keys = on.map(([own, other]) => `${this.#value(base, own)} = ${this.#value(fact, other)}`);
    return [
      `of ${this.#fact(fact)}, each with the last row before it of ${keys.join(" and ")}`,
      `its time: ${this.dimension(time, fact) ?? "?"}`,
      ...(window === undefined ? [] : [`less than ${periodText(window)} before it`]),
      ...this.#where(filters, [fact]),
    ];
  }

  #aggregation({ aggregation, percentile = 0.5, isDiscrete, converted, ...own }: Leaf): string {
    const { value, fact } = converted ?? own;
    const of = value === undefined ? "all rows" : this.#value(fact, value);
    const how = AGGREGATION_TEXTS[aggregation];
    if (aggregation !== "percentile") return `${how} ${of}`;
    return `${isDiscrete === true ? "discrete " : ""}percentile ${String(percentile)} of ${of}`;
  }

  #lastTime({ nonAdditive, fact }: Leaf): readonly string[] {
    if (nonAdditive === undefined) return [];
    const { dimension, choice, groupings } = nonAdditive;
    const each = groupings.map((name) => ` for each ${name}`).join("");
    return [
      `only the ${choice === "min" ? "first" : "last"} ${dimension}${each}`,
      ...[dimension, ...groupings].flatMap((name) => this.#definition(fact, name)),
    ];
  }

  #formula({ kind, parts, inputs, filters }: Formula): string {
    const text =
      kind === "ratio"
        ? `${inputs.map(({ alias }) => alias).join(" / ")} as a floating-point number`
        : parts.map((part) => (typeof part === "string" ? part : part.alias)).join("");
    const facts = [...new Set(inputs.flatMap(({ metric }) => factsIn(metric)))];
    return [
      this.#sqlOf(text.trim()),
      ...this.#where(filters, facts),
      ...inputs.map((input) => this.#input(input)),
    ].join("; ");
  }

  #input({ alias, metric, filters, offset, offsetToGrain, offsetUnits: units }: FormulaInput): string {
    const how = [
      ...this.#where(filters, factsIn(metric)),
      ...(offset === undefined ? [] : [`${periodText(offset)} earlier`]),
      ...(units === undefined
        ? []
        : [
            `${String(units.count)} of ${this.#value(units.spine, units.value)} of ${this.#label(units.spine)} earlier`,
          ]),
      ...(offsetToGrain === undefined ? [] : [`at the start of the ${offsetToGrain}`]),
    ];
    return `${alias} is [${[this.#tree(metric), ...how].join("; ")}]`;
  }

  /** The conditions, and what the dimensions are that they name. */
  #where(filters: readonly FixedFilter[], facts: readonly string[]): readonly string[] {
    if (filters.length === 0) return [];
    const names = new Set<string>();
    const texts = filters.map((filter) =>
      this.#sqlOf(
        filter
          .map((part) => {
            if (typeof part === "string") return part;
            names.add(dimensionOfPart(part));
            if ("metric" in part) return this.#result(part);
            return part.grain === undefined ? part.dimension : `${part.dimension} by ${part.grain}`;
          })
          .join("")
          .trim(),
      ),
    );
    const definitions = [...names].flatMap((name) => facts.flatMap((fact) => this.#definition(fact, name)));
    return [`where ${texts.map((each) => `(${each})`).join(" and ")}`, ...new Set(definitions)];
  }

  /** `[sum of amount in orders] by customer`, with what that is for each of its facts. */
  #result({ metric, by }: ResultOfEntity): string {
    const definitions = factsIn(metric).flatMap((fact) => this.#definition(fact, by));
    return `[${[this.#tree(metric), ...definitions].join("; ")}] by ${by}`;
  }

  /** What a name in a text is; nothing where it is the column of that name. */
  #definition(fact: string, name: string): readonly string[] {
    const text = this.dimension(name, fact);
    return text === null || text === name ? [] : [`${name} is ${text}`];
  }

  #value(relation: string, name: string): string {
    const { values = [] } = this.#aggregate.relations.find((each) => each.name === relation) ?? {};
    const value = values.find((each) => each.name === name);
    if (value === undefined) return `no ${name}`;
    const text = "column" in value ? value.column : this.#expression(value.sql);
    return value.timezone === undefined ? text : `${text} in ${value.timezone}`;
  }

  /** In parentheses, unless it is a name. */
  #expression(sql: string): string {
    const text = this.#sqlOf(sql);
    return text !== sql && /^[\p{L}_][\p{L}\p{N}_$]*$/u.test(text) ? text : `(${text})`;
  }

  #label(relation: string): string {
    const isKnown = this.#aggregate.relations.some(({ name }) => name === relation);
    return isKnown ? (this.#labels.get(relation) ?? relation) : `no relation ${relation}`;
  }

  #fact(name: string): string {
    const isKnown = this.#aggregate.facts.some(({ relation }) => relation === name);
    return isKnown ? this.#label(name) : `no fact ${name}`;
  }

  #spines(): string {
    const texts = this.#aggregate.spines.map(
      ({ relation, value, grain }) =>
        `${this.#value(relation, value)} of ${this.#label(relation)} (${grain})`,
    );
    return texts.join(", ") || "no time spine";
  }
}

const AGGREGATION_TEXTS = {
  sum: "sum of",
  count: "count of",
  count_distinct: "count of distinct",
  average: "average of",
  min: "minimum of",
  max: "maximum of",
  percentile: "percentile of",
  sum_boolean: "count of true",
} as const satisfies Record<Leaf["aggregation"], string>;

function accumulated({ cumulative }: Leaf): readonly string[] {
  if (cumulative === undefined) return [];
  const { window, toGrain, periodAggregation } = cumulative;
  const over = [
    ...(window === undefined ? [] : [`over ${periodText(window)}`]),
    ...(toGrain === undefined ? [] : [`since the start of the ${toGrain}`]),
  ];
  return [
    `accumulated ${over.join(" and ") || "over all time"}`,
    `${periodAggregation} value of a longer period`,
  ];
}

function periodText({ count, grain }: Period): string {
  return `${String(count)} ${grain}${count === 1 ? "" : "s"}`;
}

/** The facts of a metric, each once. */
export function factsIn(metric: MetricTree): readonly string[] {
  return metric.kind === "leaf"
    ? [metric.fact]
    : [...new Set(metric.inputs.flatMap(({ metric: input }) => factsIn(input)))];
}
