import type { Selection } from "../core/model/query.js";
import { constant, EMPTY, join, sql } from "../core/warehouse/sql.js";
import type { AggregateDialect, GroupedStatement, Part } from "../core/warehouse/aggregate-dialect.js";
import {
  type AggregateRows,
  type CombineGroups,
  type ComputeColumns,
  type FilterRows,
  type JoinRows,
  type LimitRows,
  type PlanStep,
  type ReadColumns,
  type ReadRelation,
  type RepeatRows,
  type SharedRows,
  type UnionRows,
  type WindowColumns,
} from "./plan.js";

interface SelectedColumn {
  readonly value: Part;
  /** Its name, where it is a column of `s` as it is. */
  readonly column: string | null;
  /** It costs time wherever it is written. */
  readonly isComputed: boolean;
}

type Columns = ReadonlyMap<string, SelectedColumn>;

/** A `SELECT` that further steps may still change. */
interface OpenSelect {
  readonly columns: Columns;
  readonly from: Part;
  readonly conditions: readonly Part[];
  /** Null: its rows are not aggregated. */
  readonly groups: readonly Part[] | null;
  readonly hasWindow: boolean;
  readonly isLimited: boolean;
  readonly end: Part;
  /** What further steps read has the names of columns of `s`: nothing else is written by such a name. */
  readonly names: ReadonlySet<string>;
}

/** A statement of `WITH`. */
interface NamedStatement {
  readonly name: Part;
  readonly columns: Columns;
  readonly statement: Part;
}

type SelectChange = (select: OpenSelect, read: ReadColumns) => OpenSelect;

/** The statement of a plan. Steps share a `SELECT` where one can do the work of several: each further one costs the database time. */
export function renderPlan(step: PlanStep, dialect: AggregateDialect): GroupedStatement {
  return new PlanRenderer(dialect).answer(step);
}

/** The table of a select; of a join its first. */
const OWN: Part = sql`s`;
const ROW: Part = sql`f`;

class PlanRenderer {
  readonly #dialect: AggregateDialect;
  /** Statements of `WITH` in their order, by the steps that several others read. Bounded by the steps of the plan. */
  readonly #named = new Map<SharedRows, NamedStatement>();

  constructor(dialect: AggregateDialect) {
    this.#dialect = dialect;
  }

  answer(step: PlanStep): GroupedStatement {
    const open = this.#open(step);
    const columns = [...open.columns].map(([name, { value }]) => [name, value] as const);
    const takesOrder = !open.isLimited && !open.hasWindow;
    const select = sql<Selection>`${this.#withNamed()}${this.#written(open)}`;
    return { select, columns: takesOrder ? new Map(columns) : null };
  }

  #statement(step: PlanStep): Part {
    return this.#written(this.#open(step));
  }

  #open(step: PlanStep): OpenSelect {
    switch (step.kind) {
      case "read":
        return readRelation(step);
      case "join":
        return this.#joined(step);
      case "filter":
        return this.#filtered(step);
      case "compute":
        return this.#withOthers(step);
      case "window":
        return this.#withWindows(step);
      case "aggregate":
        return this.#aggregated(step);
      case "union":
        return this.#united(step);
      case "repeat":
        return this.#repeated(step);
      case "shared":
        return this.#shared(step);
      case "combine":
        return this.#combined(step);
      case "limit":
        return this.#limited(step);
    }
  }

  /** Reads a table as `s`. */
  #reading(table: Part, names: Iterable<string>): OpenSelect {
    const columns = this.#columnsOf(OWN, names);
    return { ...selectOf(columns, sql`${table} AS s`), names: new Set(columns.keys()) };
  }

  #columnsOf(table: Part, names: Iterable<string>): Columns {
    const column = (name: string): SelectedColumn => ({
      value: sql`${table}.${this.#dialect.identifier(name)}`,
      column: table === OWN ? name : null,
      isComputed: false,
    });
    return new Map([...names].map((name) => [name, column(name)]));
  }

  #nested(select: OpenSelect): OpenSelect {
    return this.#reading(sql`(${this.#written(select)})`, select.columns.keys());
  }

  /** Changes a select, where that writes each computed column at most so often; else one around it. */
  #changed(select: OpenSelect, mostWritten: number, change: SelectChange): OpenSelect {
    const written = new Map<string, number>();
    const changed = change(
      select,
      readColumns(select.columns, (name, { isComputed }) => {
        if (isComputed) written.set(name, (written.get(name) ?? 0) + 1);
      }),
    );
    if (isClear(changed) && [...written.values()].every((times) => times <= mostWritten)) return changed;
    const nested = this.#nested(select);
    return change(nested, readColumns(nested.columns));
  }

  #joined({ rows, others }: JoinRows): OpenSelect {
    const row = this.#open(rows);
    const columns = new Map(this.#columnsOf(ROW, row.columns.keys()));
    const tables = others.map(({ rows: other, on, unmatched }, i) => {
      const open = this.#open(other);
      const select = unmatched === "null" ? this.#changed(open, Infinity, this.#withNulls(columns)) : open;
      const table = this.#dialect.identifier(`j${String(i)}`);
      const found = this.#columnsOf(table, select.columns.keys());
      const condition = on(readColumns(new Map(columns)), readColumns(found));
      for (const [name, column] of found) if (!columns.has(name)) columns.set(name, column);
      const kind = unmatched === "removed" ? EMPTY : sql`LEFT `;
      return sql<Selection>`${kind}JOIN (${this.#written(select)}) AS ${table} ON ${condition}`;
    });
    return selectOf(columns, sql`(${this.#written(row)}) AS ${ROW} ${join(tables, " ")}`);
  }

  /** What a join makes null where no row matches: not a column that is read of the rows before it, which may be a key without null. */
  #withNulls(before: Columns): SelectChange {
    const shown = (name: string, column: SelectedColumn): SelectedColumn => {
      const value = this.#dialect.joinedValue(column.value);
      return value === column.value || before.has(name) ? column : computed(value);
    };
    return (select) => ({
      ...select,
      columns: new Map([...select.columns].map(([name, column]) => [name, shown(name, column)])),
    });
  }

  #filtered({ rows, conditions, compared }: FilterRows): OpenSelect {
    const open = this.#open(rows);
    if (conditions.length === 0) return open;
    const isNamed = compared.every((name) => open.columns.get(name)?.column != null);
    const select = isOfRows(open) && isNamed && isClear(open) ? open : this.#nested(open);
    return this.#changed(select, 0, (of, read) => ({
      ...of,
      conditions: [...of.conditions, ...conditions.map((each) => each(read))],
    }));
  }

  #withOthers({ rows, columns }: ComputeColumns): OpenSelect {
    const open = this.#open(rows);
    return this.#changed(open, isOfRows(open) ? 0 : 1, (select, read) => ({
      ...select,
      columns: new Map(
        columns.map(([name, value]) => [
          name,
          typeof value === "string" ? columnAt(select.columns, value, read) : computed(value(read)),
        ]),
      ),
    }));
  }

  #withWindows({ rows, columns }: WindowColumns): OpenSelect {
    const open = this.#open(rows);
    return this.#changed(open.groups === null ? open : this.#nested(open), 0, (select, read) => ({
      ...select,
      columns: new Map([
        ...select.columns,
        ...columns.map(([name, value]) => [name, computed(value(read))] as const),
      ]),
      hasWindow: true,
    }));
  }

  #aggregated({ rows, groups, totals }: AggregateRows): OpenSelect {
    const open = this.#open(rows);
    return this.#changed(isOfRows(open) ? open : this.#nested(open), Infinity, (select, read) => {
      const keys = groups.map((name) => [name, columnAt(select.columns, name, read)] as const);
      return {
        ...select,
        columns: new Map([...keys, ...totals.map(([name, total]) => [name, computed(total(read))] as const)]),
        groups: keys.map(([, { value }]) => value),
      };
    });
  }

  #united({ parts }: UnionRows): OpenSelect {
    const selects = parts.map((part) => this.#open(part));
    const all = join(
      selects.map((select) => this.#written(select)),
      " UNION ALL ",
    );
    return this.#reading(sql`(${all})`, selects[0]?.columns.keys() ?? []);
  }

  #repeated({ rows, number, from, below }: RepeatRows): OpenSelect {
    const select = this.#nested(this.#open(rows));
    const read = readColumns(select.columns);
    const { identifier, eachNumber } = this.#dialect;
    const value = identifier(number);
    return {
      ...select,
      columns: new Map([...select.columns, [number, { value, column: null, isComputed: false }]]),
      from: eachNumber(select.from, from(read), below(read), value),
    };
  }

  #shared(step: SharedRows): OpenSelect {
    let named = this.#named.get(step);
    if (named === undefined) {
      const open = this.#open(step.rows);
      const name = this.#dialect.identifier(`shared rows ${String(this.#named.size)}`);
      named = { name, columns: open.columns, statement: this.#written(open) };
      this.#named.set(step, named);
    }
    return this.#reading(named.name, named.columns.keys());
  }

  #withNamed(): Part {
    if (this.#named.size === 0) return EMPTY;
    const named = [...this.#named.values()].map(
      ({ name, statement }) => sql<Selection>`${name} AS (${statement})`,
    );
    return sql`WITH ${join(named, ", ")} `;
  }

  #combined({ sources, groups }: CombineGroups): OpenSelect {
    const [only, ...others] = sources;
    if (only !== undefined && others.length === 0) return this.#open(only.rows);
    const selects = sources.map(({ rows, columns }) => ({ select: this.#statement(rows), columns }));
    const names = [...groups.map(({ name }) => name), ...sources.flatMap(({ columns }) => columns)];
    return this.#reading(this.#dialect.combined(selects, groups), names);
  }

  #limited({ rows, order, limit }: LimitRows): OpenSelect {
    const select = this.#nested(this.#open(rows));
    const read = readColumns(select.columns);
    const keys = order.map(
      ([name, direction]) =>
        sql<Selection>`${read.value(name)}${direction === "DESC" ? sql` DESC NULLS FIRST` : sql` ASC NULLS LAST`}`,
    );
    const by = keys.length === 0 ? EMPTY : sql` ORDER BY ${join(keys, ", ")}`;
    return { ...select, isLimited: true, end: sql`${by} LIMIT ${constant(limit)}` };
  }

  #written({ columns, from, conditions, groups, end }: OpenSelect): Part {
    const { identifier } = this.#dialect;
    const list = [...columns].map(([name, { value }]) => sql<Selection>`${value} AS ${identifier(name)}`);
    const where = conditions.length === 0 ? EMPTY : sql` WHERE ${join(conditions, " AND ")}`;
    const by = groups === null || groups.length === 0 ? EMPTY : sql` GROUP BY ${join(groups, ", ")}`;
    return sql`SELECT ${list.length === 0 ? sql`1` : join(list, ", ")} FROM ${from}${where}${by}${end}`;
  }
}

function selectOf(columns: Columns, from: Part): OpenSelect {
  return {
    ...{ columns, from, conditions: [], end: EMPTY, names: new Set<string>() },
    ...{ groups: null, hasWindow: false, isLimited: false },
  };
}

function readRelation({ relation, columns, conditions, proof, names }: ReadRelation): OpenSelect {
  const read = columns.map(
    ([name, { column, value }]) => [name, { column, value, isComputed: column === null }] as const,
  );
  const own = columns.flatMap(([, { column }]) => column ?? []);
  return {
    ...selectOf(new Map(read), sql`${relation} AS s`),
    conditions,
    end: proof,
    names: new Set([...own, ...names]),
  };
}

const computed = (value: Part): SelectedColumn => ({ value, column: null, isComputed: true });

/** Whether its rows are those of its table, neither grouped nor beside others. */
const isOfRows = ({ groups, hasWindow }: OpenSelect): boolean => groups === null && !hasWindow;

/** ClickHouse may take the name of a column for that of a computed one, whatever its table is: no other column is named so. */
function isClear({ columns, names }: OpenSelect): boolean {
  return [...columns].every(([name, { column }]) => column === name || !names.has(name));
}

function columnAt(columns: Columns, name: string, read: ReadColumns): SelectedColumn {
  const value = read.value(name);
  return { ...(columns.get(name) ?? computed(value)), value };
}

function readColumns(columns: Columns, onRead?: (name: string, column: SelectedColumn) => void): ReadColumns {
  const column = (name: string): SelectedColumn => {
    const found = columns.get(name);
    if (found === undefined) throw new Error(`A step reads ${name}, which the step before does not have.`);
    onRead?.(name, found);
    return found;
  };
  return { value: (name) => column(name).value, nameOf: (name) => column(name).column ?? name };
}
