import { isDeepStrictEqual } from "node:util";
import { type Grain, isDayGrain } from "../core/model/aggregate/grains.js";
import type { RollUp } from "../core/model/aggregate/aggregate.js";
import type { Relation } from "../core/model/endpoint.js";
import { type Selection, withDigest } from "../core/model/query.js";
import type { PreparedGrouping } from "../core/warehouse/aggregate-dialect.js";
import type { SchemaCache } from "../core/warehouse/schema-cache.js";
import type { ResultColumn, ResultColumns, RollUpVersion } from "../core/warehouse/warehouse.js";
import { named } from "./groups-build.js";
import { rolledUp, rolledUpName, totalName } from "./roll-up.js";

/** The version of the rows of a relation; null if unknown. */
export type VersionOf = (relation: Relation) => string | null;

/** `types`: of the values that it reads, by the names of their relations. */
export interface PreparedRelations extends PreparedGrouping {
  readonly types: ReadonlyMap<string, ResultColumns>;
}

/** What was made of a roll-up in a version, kept with the form of what is asked. `make` looks columns up in these versions. */
export type KeepRollUp = (
  rows: { readonly name: string; readonly version: string; readonly relation: Relation },
  versionOf: VersionOf,
  make: (prepare: (selection: Selection) => Promise<PreparedRelations>) => Promise<PreparedRelations | null>,
) => Promise<PreparedRelations | null>;

interface RollUpOptions {
  /** Of the rows of the relations themselves. */
  readonly version: string | null;
  readonly relations: SchemaCache;
  readonly rollUpVersion: RollUpVersion;
  readonly keep: KeepRollUp;
}

/** What the first roll-up answers that has all that is asked, in the types of the relations themselves; where none does, what these answer. */
export async function preparedRollUp(
  selection: Selection,
  prepared: PreparedRelations,
  options: RollUpOptions,
): Promise<PreparedGrouping> {
  for (const rollUp of selection.grouping?.aggregate.rollUps ?? []) {
    const version = options.rollUpVersion(rollUp.node);
    if (version === null) continue;
    try {
      const found = await readRollUp(selection, prepared, options, { rollUp, version });
      if (found !== null) return found;
    } catch {
      // It does not exist, or lacks a column: the relations themselves answer, or say what is wrong.
    }
  }
  return prepared;
}

async function readRollUp(
  selection: Selection,
  prepared: PreparedRelations,
  { version: sourceVersion, relations, keep }: RollUpOptions,
  { rollUp, version }: VersionedRollUp,
): Promise<PreparedRelations | null> {
  const [schema, table] = rollUp.relation;
  const found = await keep(
    { name: rollUp.node, version, relation: rollUp.relation },
    (relation) => (relation[0] === schema && relation[1] === table ? version : sourceVersion),
    (prepare) => makeRollUp(selection, prepared.types.get(rollUp.of) ?? [], { rollUp, version }, prepare),
  );
  if (found === null) return null;
  const wanted = await relations.columns(prepared.source, sourceVersion);
  const given = await relations.columns(found.source, sourceVersion);
  return isDeepStrictEqual(given.map(shown), wanted.map(shown)) ? found : null;
}

interface VersionedRollUp {
  readonly rollUp: RollUp;
  readonly version: string;
}

/** `types`: of the values of the fact. */
async function makeRollUp(
  { grouping, ...selection }: Selection,
  types: ResultColumns,
  { rollUp, version }: VersionedRollUp,
  prepare: (selection: Selection) => Promise<PreparedRelations>,
): Promise<PreparedRelations | null> {
  if (grouping === undefined) return null;
  const asked = { grouping, conditions: selection.conditions, rollUp };
  const made = rolledUp(asked, (value) => named(types, value).type);
  if (made === null) return null;
  const identity = JSON.stringify([grouping.aggregate.digest, rollUp, version]);
  const own = { ...made, aggregate: withDigest(made.aggregate, identity) };
  const found = await prepare({ ...selection, grouping: own });
  if (!hasTypes(rollUp, types, found.types.get(rolledUpName(rollUp)) ?? [])) return null;
  const { node, relation } = rollUp;
  return { ...found, rollUp: { relation: relation.join("."), node, version } };
}

/** What of a column decides how its values are compared and written. */
const shown = (column: ResultColumn): object => ({ ...column, isStored: true, scannedRows: 0 });

/** Whether the columns of a roll-up hold the values and totals exactly. `types`: of the fact's values. */
function hasTypes(rollUp: RollUp, types: ResultColumns, columns: ResultColumns): boolean {
  return columns.every((column) => {
    const group = rollUp.groups.find(({ value }) => value === column.name);
    if (group !== undefined) return isSameValue(named(types, group.value), column, group.grain);
    const total = rollUp.totals.find(
      ({ aggregation, value }) => totalName(aggregation, value) === column.name,
    );
    return total !== undefined && isExactTotal(total.aggregation, named(types, total.value), column);
  });
}

function isSameValue(source: ResultColumn, column: ResultColumn, grain: Grain | undefined): boolean {
  const isDay = grain !== undefined && isDayGrain(grain);
  if (isDay && DAY.test(inner(column))) return isNullable(source) === isNullable(column);
  // A `Date` has no years before 1970.
  if (isDay && inner(column) === "Date" && /^Date(?:Time(?:\(.*\))?)?$/.test(inner(source)))
    return isNullable(source) === isNullable(column);
  // Days of another zone than UTC are not known by their times.
  if (grain !== undefined && (isDay || source.timezone !== undefined)) return false;
  return isDeepStrictEqual(shown(source), shown(column));
}

const DAY = /^(?:date|Date32)$/;
const isNullable = ({ type }: ResultColumn): boolean => type.startsWith("Nullable(");
const inner = ({ type }: ResultColumn): string => type.replace(/^Nullable\((.*)\)$/, "$1");

/** Whole numbers and decimals. The sum of floats depends on the order of rows. */
const EXACT = /^(?:int[248]|numeric|U?Int\d+|Decimal\(.*\))$/;
const TIMES = /^(?:date|timestamp|timestamptz|Date|Date32|DateTime(?:64)?(?:\(.*\))?)$/;
const COUNTS = /^(?:int8|UInt64)$/;

function isExactTotal(aggregation: string, source: ResultColumn, column: ResultColumn): boolean {
  if (aggregation === "count") return COUNTS.test(column.type);
  if (aggregation === "sum_boolean") return COUNTS.test(inner(column));
  if (aggregation === "count_distinct") return isStateOf(source, column);
  if (source.typeSchema !== undefined || column.typeSchema !== undefined) return false;
  // Null of a group would have become a number.
  if (isNullable(source) && !isNullable(column)) return false;
  if (aggregation === "sum") return EXACT.test(inner(source)) && isSum(source, column);
  const isOrdered = EXACT.test(inner(source)) || TIMES.test(inner(source));
  return isOrdered && inner(source) === inner(column) && isDeepStrictEqual(source.decimal, column.decimal);
}

/** Whether a column has ClickHouse's states of all distinct values; it writes their type without a dictionary. */
function isStateOf({ type, states: own }: ResultColumn, { states = [] }: ResultColumn): boolean {
  const plain = type.replace(/^LowCardinality\((.*)\)$/s, "$1");
  return own === undefined && isDeepStrictEqual(states, [`AggregateFunction(uniqExact, ${plain})`]);
}

/** Whether a column holds sums of another one with all their digits, and no others. */
function isSum(source: ResultColumn, column: ResultColumn): boolean {
  const [type, sum] = [inner(source), inner(column)];
  if (/^U?Int/.test(type))
    return /^U?Int(?:64|128|256)$/.test(sum) && type.startsWith("U") === sum.startsWith("U");
  if (type.startsWith("Decimal")) return sum.startsWith("Decimal") && scaleOf(type) === scaleOf(sum);
  if (type !== "numeric") return /^(?:int[48]|numeric)$/.test(sum) && (column.decimal?.[1] ?? 0) === 0;
  return sum === type && (column.decimal === undefined || column.decimal[1] === source.decimal?.[1]);
}

const scaleOf = (type: string): string | undefined => /,\s*(\d+)\)$/.exec(type)?.[1];
