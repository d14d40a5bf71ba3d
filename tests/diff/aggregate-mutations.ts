import { GRAINS } from "../../runtime/core/model/aggregate/grains.js";
import { FILTER_OPERATORS } from "../../runtime/core/model/operators.js";
import type { Raw } from "./feature-model.js";

/** Where a value of an aggregate stands: `measures[].metric.filters[][]`, list positions left out. */
interface Place {
  readonly at: string;
  /** Puts another value in its place. */
  readonly change: (pick: (count: number) => number) => void;
}

/** Values of which no answer depends, with the reason. */
export const WITHOUT_CHANGE: readonly (readonly [at: RegExp, why: string])[] = [
  [
    /\.columns\[\]\.(wide|private)$/,
    "follows from the type, or is a mark of the project that serves nothing new",
  ],
  [/\.measures\[\]\.description$/, "is that of its column"],
  [/\.rows\.equals$/, "has one value"],
  [/^leaf kind$/, "a simple metric has no other kind: a file with one is refused"],
];

const OTHERS: Readonly<Record<string, readonly unknown[]>> = {
  grain: GRAINS,
  toGrain: GRAINS,
  offsetToGrain: GRAINS,
  aggregation: ["sum", "count", "min", "max", "average", "count_distinct", "percentile", "sum_boolean"],
  periodAggregation: ["first", "last", "average"],
  choice: ["min", "max"],
  operator: [...FILTER_OPERATORS.keys()],
  of: ["measures", "metrics"],
  kind: ["formula", "ratio"],
};

/** Every value of an aggregate that can be another one. */
export function placesIn(aggregate: Raw): readonly Place[] {
  const found: Place[] = [];
  // The column of the caller's organization is compared as the relation's `rows`.
  const owners = new Set(
    aggregate.relations.flatMap(({ rows, values }: Raw) =>
      values.filter(({ column }: Raw) => rows !== undefined && column === rows.column),
    ),
  );
  walk(aggregate, "", found, owners);
  return found.filter(({ at }) => !WITHOUT_CHANGE.some(([pattern]) => pattern.test(at)));
}

function walk(value: Raw, at: string, found: Place[], owners: ReadonlySet<unknown>): void {
  for (const key of Object.keys(value)) {
    const inner = Array.isArray(value) ? `${at}[]` : `${at}.${key}`;
    const item = value[key];
    if (owners.has(item)) continue;
    if (typeof item === "object" && item !== null) walk(item, inner, found, owners);
    if (Array.isArray(value) && !isPair(value))
      found.push({ at: `${inner} removed`, change: () => value.splice(Number(key), 1) });
    if (key === "kind" && item === "leaf") found.push({ at: "leaf kind", change: () => undefined });
    else if (typeof item !== "object" || item === null)
      found.push({ at: inner, change: (pick) => (value[key] = another(key, item, pick)) });
  }
}

/** Relations, joins and sort keys have two parts. */
const isPair = (value: readonly unknown[]): boolean =>
  value.length === 2 && value.every((item) => typeof item === "string");

function another(key: string, value: unknown, pick: (count: number) => number): unknown {
  const others = OTHERS[key]?.filter((each) => each !== value);
  if (others !== undefined && OTHERS[key]?.includes(value)) return others[pick(others.length)];
  switch (typeof value) {
    case "number":
      return value + 1;
    case "boolean":
      return undefined;
    case "string":
      return `${value}x`;
    default:
      return "text";
  }
}
