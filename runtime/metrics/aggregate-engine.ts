import { leavesOf, METRIC_TIME } from "../core/model/aggregate/metric.js";
import type { AggregateRelation, AskedGrouping } from "../core/model/aggregate/aggregate.js";
import { columnNamed } from "../core/model/column-names.js";
import type { Relation } from "../core/model/endpoint.js";
import { loadedOnce } from "../core/model/loaded-once.js";
import { columnsOf, type Selection, withDigest } from "../core/model/query.js";
import { groupingKey } from "../core/model/query-key.js";
import type { SchemaCache } from "../core/warehouse/schema-cache.js";
import { derivedRows, KeptGroupings, type LookUpColumns } from "../core/warehouse/kept-groupings.js";
import { join, sql, type Sql } from "../core/warehouse/sql.js";
import type {
  DescribedRelation,
  DescribedSelect,
  ResultColumn,
  ResultColumns,
  RollUpVersion,
} from "../core/warehouse/warehouse.js";
import type { AggregateDialect, PreparedGrouping } from "../core/warehouse/aggregate-dialect.js";
import { answeredNames, groupedRows, requireNulls, resultColumns } from "./answer-rows.js";
import { type GroupsBuild, named } from "./groups-build.js";
import { groupRows } from "./grouped-rows.js";
import { valueOf } from "./read-relation.js";
import { rowConditions } from "./row-filters.js";
import type { KeepRollUp, PreparedRelations, VersionOf } from "./prepared-roll-up.js";
import { comparedName, rowSet } from "./row-set.js";
import { hasProjectSql, usedValues } from "./used-values.js";

/** What groupings need of an engine. */
export interface AggregateOptions {
  readonly dialect: AggregateDialect;
  readonly relations: SchemaCache;
  /** The columns of a statement. Rejects with `RelationMissing` where a relation of it does not exist. */
  readonly describe: (select: DescribedSelect) => Promise<DescribedRelation>;
  readonly rollUpVersion: RollUpVersion;
}

const loadRollUps = loadedOnce(() => import("./prepared-roll-up.js"));

/** Makes statements of groups: it asks the database for the types of what they read. */
export class AggregateEngine {
  readonly #options: AggregateOptions;
  readonly #kept = new KeptGroupings<PreparedRelations>();

  constructor(options: AggregateOptions) {
    this.#options = options;
  }

  /** From a roll-up that has all that is asked, else from the relations themselves. */
  async prepare(
    selection: Selection,
    version: string | null,
    readsRollUps: boolean,
  ): Promise<PreparedGrouping> {
    const kept = await this.#kept.get(
      selection,
      this.#columnsIn(() => version),
      (look) => this.#prepared(selection, look),
    );
    const { prepared } = kept;
    if (!readsRollUps || selection.grouping?.aggregate.rollUps === undefined) return prepared;
    const { preparedRollUp } = await loadRollUps();
    const { relations, rollUpVersion } = this.#options;
    const keep: KeepRollUp = (rows, versionOf, make) =>
      kept.inPlace(rows, this.#columnsIn(versionOf, rows.relation), (look) =>
        make((own) => this.#prepared(own, look)),
      );
    return preparedRollUp(selection, prepared, { version, relations, rollUpVersion, keep });
  }

  /** `rollUp` is not waited for where it is missing: the relations themselves answer. */
  #columnsIn(versionOf: VersionOf, rollUp?: Relation): LookUpColumns {
    const { relations } = this.#options;
    return (source) => {
      const [relation] = "key" in source ? source.relations : [source];
      const isOfRollUp = rollUp !== undefined && relation?.join(".") === rollUp.join(".");
      return relations.columns(
        source,
        relation === undefined ? null : versionOf(relation),
        () => !isOfRollUp,
      );
    };
  }

  /** What it makes follows from all of the selection except the values of its conditions, and from the columns. */
  async #prepared(
    { grouping: asked, conditions }: Selection,
    look: LookUpColumns,
  ): Promise<PreparedRelations> {
    if (asked === undefined) throw new Error("Not a grouping.");
    const { dialect, describe } = this.#options;
    const used = usedValues(asked, conditions);
    const grouping = await this.#withOwnNames(asked, [...used.keys()], look);
    const types = new Map<string, ResultColumns>();
    for (const [name, values] of used) types.set(name, await this.#typesOf(grouping, name, values, look));
    const build: GroupsBuild = { grouping, types, dialect, conditions, rowsOf: groupRows };
    const bare = { ...build, conditions: [] };
    requireNulls(bare);
    const relations = [...used.keys()].map((name) => named(grouping.aggregate.relations, name).relation);
    const filtered = filteredColumns(build);
    return {
      types,
      source: derivedRows(groupingKey(grouping), relations, () =>
        describe({ select: groupedRows(bare, []).select, names: answeredNames(grouping), relations }),
      ),
      read: [...types]
        .filter(([, columns]) => columns.length > 0)
        .map(([name, columns]) => {
          const of = named(grouping.aggregate.relations, name);
          const values = of.values.filter((value) => used.get(name)?.has(value.name));
          return { select: valuesSelect({ ...of, values }, dialect), columns };
        }),
      select: (results) => groupedRows(build, results),
      compared: (results) => [...filtered, resultColumns(results)],
      isOfStored: !hasProjectSql(grouping, used) && (await areStored(relations, look)),
    };
  }

  /** The grouping with the relations' own names of their columns, which a model may write in another letter case. */
  async #withOwnNames(
    grouping: AskedGrouping,
    names: readonly string[],
    look: LookUpColumns,
  ): Promise<AskedGrouping> {
    const { aggregate } = grouping;
    const relations: AggregateRelation[] = [];
    for (const of of aggregate.relations)
      relations.push(names.includes(of.name) ? withNamesOf(of, await look(of.relation)) : of);
    if (relations.every((of, i) => of === aggregate.relations[i])) return grouping;
    const identity = `${aggregate.digest} ${JSON.stringify(relations)}`;
    return { ...grouping, aggregate: withDigest({ ...aggregate, relations }, identity) };
  }

  /** Values of a relation with their types. */
  async #typesOf(
    { aggregate }: AskedGrouping,
    name: string,
    used: ReadonlySet<string>,
    look: LookUpColumns,
  ): Promise<ResultColumns> {
    const of = named(aggregate.relations, name);
    const values = of.values.filter((value) => used.has(value.name));
    if (values.length === 0) return [];
    const { dialect, describe } = this.#options;
    const source = derivedRows(JSON.stringify([of.relation, values]), [of.relation], async () => {
      const names = values.map((value) => value.name);
      const select = valuesSelect({ ...of, values }, dialect);
      const found = await describe({ select, names, relations: [of.relation] });
      return { ...found, columns: found.columns.map((column) => withZone(column, of)) };
    });
    return look(source);
  }
}

async function areStored(relations: readonly Relation[], look: LookUpColumns): Promise<boolean> {
  for (const relation of relations) {
    const [column] = await look(relation);
    if (column?.isStored !== true) return false;
  }
  return true;
}

function withNamesOf(of: AggregateRelation, columns: ResultColumns): AggregateRelation {
  const values = of.values.map((value) => {
    const found = "column" in value ? columnNamed(columns, value.column)?.name : undefined;
    return "column" in value && found !== undefined && found !== value.column
      ? { ...value, column: found }
      : value;
  });
  if (values.every((value, i) => value === of.values[i])) return of;
  const { rows } = of;
  const column = rows === undefined ? undefined : columnNamed(columns, rows.column)?.name;
  return { ...of, values, ...(rows && { rows: { ...rows, column: column ?? rows.column } }) };
}

function withZone(column: ResultColumn, { values }: AggregateRelation): ResultColumn {
  const { timezone } = named(values, column.name);
  return timezone === undefined ? column : { ...column, timezone };
}

function valuesSelect(of: AggregateRelation, dialect: AggregateDialect): Sql {
  const { identifier } = dialect;
  const values = of.values.map(({ name }): Sql => sql`${valueOf(of, name, dialect)} AS ${identifier(name)}`);
  return sql`SELECT ${join(values, ", ")} FROM ${identifier(...of.relation)} AS s`;
}

/** The column of the first fact that a filter compares with; null for one of a join, and for an expression. */
export function filteredColumn(
  { aggregate, measures }: AskedGrouping,
  name: string,
): { readonly relation: Relation; readonly column: string } | null {
  const [leaf] = measures.flatMap(({ metric }) => leavesOf(metric));
  const dimension = name === METRIC_TIME ? leaf?.time : name;
  const places = aggregate.dimensions.find((each) => each.name === dimension)?.places ?? [];
  const place = places.find(({ fact }) => fact === leaf?.fact);
  if (place === undefined || places.some(({ join: joined }) => joined !== undefined)) return null;
  const { relation, values } = named(aggregate.relations, place.fact);
  const value = named(values, place.value);
  return "column" in value ? { relation, column: value.column } : null;
}

/** The columns of the conditions, as each fact has them. */
function filteredColumns(build: GroupsBuild): readonly ResultColumns[] {
  const leaves = build.grouping.measures.flatMap(({ metric }) => leavesOf(metric));
  const dimensions = rowConditions(build).flatMap(({ condition }) => columnsOf(condition));
  return leaves.map(({ fact, time }) => {
    const { columns } = rowSet(build, { fact, time, dimensions, values: [] });
    return columns.map(({ name }) => ({
      ...named(columns, comparedName(name, columns)),
      name,
    }));
  });
}
