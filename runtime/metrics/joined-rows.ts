import { type AggregateJoin, joinsTo } from "../core/model/aggregate/aggregate.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import { join, sql } from "../core/warehouse/sql.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import { dimensionOf, type GroupsBuild, named, timeGrainOf } from "./groups-build.js";
import type { JoinedRows, Named, PlanStep, ReadColumns } from "./plan.js";
import { readRelation } from "./read-relation.js";

/** What is wanted of a fact. */
export interface Wanted {
  readonly fact: string;
  readonly time?: string | undefined;
  /** Names of dimensions. */
  readonly dimensions: readonly string[];
  readonly values: readonly string[];
}

/** Where the rows of a fact have a dimension: `join` is the position of a join. */
export interface PlacedDimension {
  readonly column: ResultColumn;
  readonly value: string;
  readonly join?: number | undefined;
}

export function joinsOf({ grouping }: GroupsBuild, fact: string): readonly AggregateJoin[] {
  const found = grouping.aggregate.facts.find(({ relation }) => relation === fact);
  if (found === undefined) throw new Error(`An aggregate has no fact ${fact}.`);
  return found.joins;
}

/** The column of a value of the fact, or of a join. `prefix`: no dimension begins with it; none of metrics has a space. */
export const keyName = (prefix: string, position: number | undefined, name: string): string =>
  position === undefined ? prefix + name : `joined ${String(position)} ${name}`;

/** The rows of a fact beside those of the joins that its dimensions need, each after the one that it goes on from. */
export function joinedRows(
  build: GroupsBuild,
  wanted: Wanted,
  placed: readonly PlacedDimension[],
  prefix: string,
): PlanStep {
  const { fact, values } = wanted;
  const joins = joinsOf(build, fact);
  const needed = placed.flatMap((place) => (place.join === undefined ? [] : joinsTo(joins, place.join)));
  const positions = [...new Set(needed)].toSorted((a, b) => a - b);
  const read = (position: number | undefined, keys: readonly string[]): PlanStep =>
    readRelation(build, relationAt(build, fact, position), [
      ...placed.flatMap((place): Named<string> =>
        place.join === position ? [[place.column.name, place.value]] : [],
      ),
      ...[...new Set(keys)].map((key) => [keyName(prefix, position, key), key] as const),
    ]);
  const keysFrom = (from: number | undefined): readonly string[] =>
    positions.flatMap((position) => {
      const pairs = keyPairs(joins[position]).filter((pair) => pair.from === from);
      return pairs.map(({ key }) => key);
    });
  const isTimed = positions.some((position) => joins[position]?.valid !== undefined);
  const times = isTimed ? [timeOf(build, wanted).value] : [];
  const rows = read(undefined, [...values, ...keysFrom(undefined), ...times]);
  const others = positions.map((position): JoinedRows => {
    const { valid } = joins[position] ?? {};
    const bounds = valid === undefined ? [] : [valid.from, valid.until];
    const keys = [...keyPairs(joins[position]).map(({ toKey }) => toKey), ...keysFrom(position), ...bounds];
    return {
      rows: read(position, keys),
      unmatched: "null",
      on: joinCondition(build, wanted, position, prefix),
    };
  });
  return others.length === 0 ? rows : { kind: "join", rows, others };
}

interface KeyPair {
  /** The position of the join whose rows have the key; those of the fact. */
  readonly from: number | undefined;
  readonly key: string;
  readonly toKey: string;
}

/** What is equal of the rows before a join and of its own. */
function keyPairs(joined: AggregateJoin | undefined): readonly KeyPair[] {
  const { from, on = [], onFact = [] } = joined ?? {};
  return [
    ...on.map(([key, toKey]) => ({ from, key, toKey })),
    ...onFact.map(([key, toKey]) => ({ from: undefined, key, toKey })),
  ];
}

function relationAt(build: GroupsBuild, fact: string, position: number | undefined): string {
  return position === undefined ? fact : (joinsOf(build, fact)[position]?.to ?? "");
}

/** Keys that are equal; of rows that hold for a time, at the time of the measure. */
function joinCondition(
  build: GroupsBuild,
  wanted: Wanted,
  position: number,
  prefix: string,
): JoinedRows["on"] {
  const { dialect, types } = build;
  const joined = joinsOf(build, wanted.fact)[position];
  const { valid, grain } = joined ?? {};
  const typeOf = (at: number | undefined, name: string): ResultColumn =>
    named(types.get(relationAt(build, wanted.fact, at)) ?? [], name);
  return (row, other) => {
    const equal = keyPairs(joined).map(({ from, key, toKey }) => {
      const values = [
        row.value(keyName(prefix, from, key)),
        other.value(keyName(prefix, position, toKey)),
      ] as const;
      const columns = [typeOf(from, key), typeOf(position, toKey)] as const;
      if (grain === undefined) return dialect.equals(...values, columns);
      const [period, toPeriod] = values.map((value, i) =>
        dialect.truncated(value, grain, columns[i] ?? columns[0]),
      );
      return dialect.infix(period ?? values[0], "=", toPeriod ?? values[1]);
    });
    if (valid === undefined) return join(equal, " AND ");
    const [start, end] = [valid.from, valid.until].map((name) =>
      instantOf(build, other.value(keyName(prefix, position, name)), typeOf(position, name)),
    );
    const time = timeOfRow(build, wanted, row, prefix);
    const isOpen = sql`${other.value(keyName(prefix, position, valid.until))} IS NULL`;
    const holds = [
      dialect.infix(time, ">=", start ?? time),
      sql`(${dialect.infix(end ?? time, ">", time)} OR ${isOpen})`,
    ];
    return join([...equal, ...holds], " AND ");
  };
}

/** Where a fact has the time of the measure. */
function timeOf(build: GroupsBuild, { fact, time = "" }: Wanted): { readonly value: string } {
  const place = dimensionOf(build, time, time).places.find((each) => each.fact === fact);
  if (place === undefined) throw new Error(`${fact} has no time at which what it is joined to holds.`);
  return place;
}

/** The first instant of the period of a row's time. */
function timeOfRow(build: GroupsBuild, wanted: Wanted, row: ReadColumns, prefix: string): Part {
  const { dialect, types } = build;
  const { value } = timeOf(build, wanted);
  const column = named(types.get(wanted.fact) ?? [], value);
  const grain = timeGrainOf(build, wanted);
  const period = dialect.truncated(row.value(keyName(prefix, undefined, value)), grain, column);
  return dialect.asTimeOf(period, dialect.periodColumn("microsecond"));
}

function instantOf({ dialect }: GroupsBuild, value: Part, column: ResultColumn): Part {
  return dialect.truncated(value, "microsecond", column);
}
