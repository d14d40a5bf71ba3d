import { constant, escapedLiteral, join, sql, type Sql } from "../core/warehouse/sql.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import { splitType } from "./filter-types.js";

/**
 * States of aggregate functions (`AggregateFunction`), which are bytes of ClickHouse's own: a column of them, or of lists, tuples
 * and maps of them, is served as their results.
 */
export function holdsStates(type: string): boolean {
  const { name, arguments: parts } = splitType(type);
  if (name === "AggregateFunction") return true;
  return CONTAINERS.has(name) && parts.some((part) => holdsStates(elementOf(part).type));
}

const CONTAINERS: ReadonlySet<string> = new Set([
  ...["Nullable", "SimpleAggregateFunction"],
  ...["Array", "Map", "Tuple", "Nested"],
]);

interface Element {
  /** As it is written, with its quotes; empty without a name. */
  readonly name: string;
  readonly type: string;
}

/** An element of a tuple: a type, or a name and a type. */
function elementOf(text: string): Element {
  const [, name = "", type = text] = /^(`(?:\\.|``|[^`\\])*`|\w+)\s+(.+)$/s.exec(text) ?? [];
  return { name, type };
}

/** A value with its states finished, null where its type cannot hold one. `result` is the type that `resultType` gives. */
export function finishedValue(value: Sql, type: string, result: string): Sql | null {
  const finished = finish(value, type, 0);
  return finished !== null && hasNames(type) ? sql`CAST(${finished}, ${escapedLiteral(result)})` : finished;
}

/** The value of a column after all its states. */
export function finishedStates(
  { type, states = [] }: Pick<ResultColumn, "type" | "states">,
  column: Sql,
): Sql {
  return states.reduce(
    (value, state, i) => finishedValue(value, state, states[i + 1] ?? type) ?? value,
    column,
  );
}

/** As `finishedValue`, with tuples that have no names. */
export const unnamedValue = (value: Sql, type: string): Sql => finish(value, type, 0) ?? value;

function finish(value: Sql, type: string, depth: number): Sql | null {
  const { name, arguments: parts } = splitType(type);
  const last = parts.at(-1) ?? "";
  switch (name) {
    case "AggregateFunction":
      return sql`finalizeAggregation(${value})`;
    case "SimpleAggregateFunction":
      return finish(value, last, depth);
    case "Nullable": {
      const inner = finish(sql`assumeNotNull(${value})`, last, depth);
      return inner && sql`if(isNull(${value}), NULL, ${inner})`;
    }
    case "Array":
      return mapped(value, depth, (item) => finish(item, last, depth + 1));
    case "Nested":
      return mapped(value, depth, (item) => finishTuple(item, parts, depth + 1));
    case "Tuple":
      return finishTuple(value, parts, depth);
    case "Map":
      return finishMap(value, parts, depth);
    case "Dynamic":
      return unlessState(value, sql`dynamicType(${value})`);
    case "Variant":
      return parts.some(holdsStates) ? unlessState(value, sql`toString(variantType(${value}))`) : null;
    default:
      return null;
  }
}

/** ClickHouse refuses the statement where a value of a type that is known per row only is a state. */
function unlessState(value: Sql, type: Sql): Sql {
  return sql`if(throwIf(match(${type}, '\\\\bAggregateFunction\\\\('), 'a state of an aggregate function cannot be served in this column') = 0, ${value}, NULL)`;
}

/** Names of arguments of lambdas hide columns: each has only its own argument in its body. */
const argument = (letter: Sql, depth: number): Sql => sql`${letter}${constant(depth)}`;

function mapped(value: Sql, depth: number, finishItem: (item: Sql) => Sql | null): Sql | null {
  const item = argument(sql`x`, depth);
  const finished = finishItem(item);
  return finished && sql`arrayMap(${item} -> ${finished}, ${value})`;
}

function finishTuple(value: Sql, parts: readonly string[], depth: number): Sql | null {
  const items = parts.map((part, i) => {
    const item = sql`tupleElement(${value}, ${constant(i + 1)})`;
    return { item, finished: finish(item, elementOf(part).type, depth) };
  });
  if (items.every(({ finished }) => finished === null)) return null;
  const values = items.map(({ item, finished }) => finished ?? item);
  return sql`tuple(${join(values, ", ")})`;
}

function finishMap(value: Sql, [keyType = "", itemType = ""]: readonly string[], depth: number): Sql | null {
  const [key, item] = [argument(sql`k`, depth), argument(sql`x`, depth)];
  const [newKey, newItem] = [finish(key, keyType, depth + 1), finish(item, itemType, depth + 1)];
  if (newKey === null && newItem === null) return null;
  return sql`mapApply((${key}, ${item}) -> (${newKey ?? key}, ${newItem ?? item}), ${value})`;
}

function hasNames(type: string): boolean {
  const { name, arguments: parts } = splitType(type);
  return (
    CONTAINERS.has(name) &&
    parts.map(elementOf).some((element) => element.name !== "" || hasNames(element.type))
  );
}

/** The type of `unnamedValue` with the names that the tuples of `type` have. */
export function resultType(type: string, unnamed: string): string {
  const { name, arguments: parts } = splitType(type);
  const found = splitType(unnamed).arguments;
  switch (name) {
    case "SimpleAggregateFunction":
      return resultType(parts.at(-1) ?? "", unnamed);
    case "Nested":
      return `Array(${resultType(`Tuple(${parts.join(", ")})`, found[0] ?? "")})`;
    case "Nullable":
    case "Array":
    case "Map":
    case "Tuple": {
      const elements = parts.map((part, i) => {
        const element = elementOf(part);
        return `${element.name} ${resultType(element.type, found[i] ?? element.type)}`.trimStart();
      });
      return `${name}(${elements.join(", ")})`;
    }
    default:
      return unnamed;
  }
}
