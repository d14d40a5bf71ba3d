import type { Selection } from "../core/model/query.js";
import { constant, EMPTY, join, sql } from "../core/warehouse/sql.js";
import type { AggregateDialect, Part } from "../core/warehouse/aggregate-dialect.js";
import {
  type AggregateRows,
  type ComputeColumns,
  type FilterRows,
  type JoinRelations,
  type LimitRows,
  type ReadColumns,
  type PlanStep,
  valueAt,
} from "./plan.js";

interface SelectedColumn {
  readonly value: Part;
  /** Its name, where it is a column of `s` as it is. */
  readonly column: string | null;
}

/** A `SELECT` that further steps may still change. */
interface OpenSelect {
  readonly columns: ReadonlyMap<string, SelectedColumn>;
  readonly from: Part;
  readonly conditions: readonly Part[];
  /** Null: its rows are not aggregated. */
  readonly groups: readonly Part[] | null;
  readonly end: Part;
  /** What further steps read has the names of columns of `s`: nothing else is written by such a name. */
  readonly names: ReadonlySet<string>;
}

/** The statement of a plan. Steps share a `SELECT` where one can do the work of several: each further one costs the database time. */
export function renderPlan(step: PlanStep, dialect: AggregateDialect): Part {
  return new PlanRenderer(dialect).statement(step);
}

class PlanRenderer {
  readonly #dialect: AggregateDialect;

  constructor(dialect: AggregateDialect) {
    this.#dialect = dialect;
  }

  statement(step: PlanStep): Part {
    return step.kind === "statement" ? step.select : this.#written(this.#open(step));
  }

  #open(step: PlanStep): OpenSelect {
    switch (step.kind) {
      case "read": {
        const columns = new Map(step.columns);
        const own = [...columns.values()].flatMap(({ column }) => column ?? []);
        return {
          columns,
          from: sql`${step.relation} AS s`,
          conditions: step.conditions,
          groups: null,
          end: step.proof,
          names: new Set([...own, ...step.names]),
        };
      }
      case "join":
        return this.#joined(step);
      case "filter":
        return this.#filtered(step);
      case "compute":
        return this.#computed(step);
      case "aggregate":
        return this.#aggregated(step);
      case "combine": {
        const [only, ...others] = step.sources;
        if (only !== undefined && others.length === 0) return this.#open(only.rows);
        const sources = step.sources.map(({ rows, columns }) => ({ select: this.statement(rows), columns }));
        const names = [
          ...step.groups.map((_, i) => `g${String(i)}`),
          ...step.sources.flatMap(({ columns }) => columns),
        ];
        return this.#reading(this.#dialect.combined(sources, step.groups), names);
      }
      case "limit":
        return this.#limited(step);
      case "statement":
        return this.#reading(sql`(${step.select})`, step.columns);
    }
  }

  /** Reads a table as `s`. */
  #reading(table: Part, names: Iterable<string>): OpenSelect {
    const columns = new Map(
      [...names].map((name) => [
        name,
        { column: name, value: sql<Selection>`s.${this.#dialect.identifier(name)}` },
      ]),
    );
    return {
      columns,
      from: sql`${table} AS s`,
      conditions: [],
      groups: null,
      end: EMPTY,
      names: new Set(columns.keys()),
    };
  }

  #nested(select: OpenSelect): OpenSelect {
    return this.#reading(sql`(${this.#written(select)})`, select.columns.keys());
  }

  #joined({ fact, tables, columns }: JoinRelations): OpenSelect {
    return {
      columns: new Map(columns.map(([name, value]) => [name, { value, column: null }])),
      from: sql`(${this.statement(fact)}) AS f${join(tables, " ")}`,
      conditions: [],
      groups: null,
      end: EMPTY,
      names: new Set(),
    };
  }

  #filtered({ rows, conditions, compared }: FilterRows): OpenSelect {
    const open = this.#open(rows);
    if (conditions.length === 0) return open;
    const hasNames = compared.every((name) => open.columns.get(name)?.column != null);
    const select =
      isPlain(open) && isClear(open) && open.groups === null && hasNames ? open : this.#nested(open);
    const read = columnsOf(select);
    return { ...select, conditions: [...select.conditions, ...conditions.map((each) => each(read))] };
  }

  #computed({ rows, columns }: ComputeColumns): OpenSelect {
    const open = this.#open(rows);
    const isRenaming = columns.every(([, value]) => typeof value === "string");
    const change = (select: OpenSelect): OpenSelect => {
      const read = columnsOf(select);
      return {
        ...select,
        columns: new Map(
          columns.map(([name, value]) => {
            const known = typeof value === "string" ? select.columns.get(value) : undefined;
            return [name, known ?? { value: valueAt(value, read), column: null }];
          }),
        ),
      };
    };
    if (open.groups === null ? isPlain(open) : isRenaming) {
      const changed = change(open);
      if (isClear(changed)) return changed;
    }
    return change(this.#nested(open));
  }

  #aggregated({ rows, groups, totals }: AggregateRows): OpenSelect {
    const open = this.#open(rows);
    const change = (select: OpenSelect): OpenSelect => {
      const read = columnsOf(select);
      const keys = groups.map(
        (name) => [name, select.columns.get(name) ?? { value: read.value(name), column: null }] as const,
      );
      return {
        ...select,
        columns: new Map([
          ...keys,
          ...totals.map(([name, total]) => [name, { value: total(read), column: null }] as const),
        ]),
        groups: keys.map(([, { value }]) => value),
      };
    };
    if (open.groups === null) {
      const changed = change(open);
      if (isClear(changed)) return changed;
    }
    return change(this.#nested(open));
  }

  #limited({ rows, order, limit }: LimitRows): OpenSelect {
    const select = this.#nested(this.#open(rows));
    const read = columnsOf(select);
    const keys = order.map(
      ([name, direction]) =>
        sql<Selection>`${read.value(name)}${direction === "DESC" ? sql` DESC NULLS FIRST` : sql` ASC NULLS LAST`}`,
    );
    const by = keys.length === 0 ? EMPTY : sql` ORDER BY ${join(keys, ", ")}`;
    return { ...select, end: sql`${by} LIMIT ${constant(limit)}` };
  }

  #written({ columns, from, conditions, groups, end }: OpenSelect): Part {
    const { identifier } = this.#dialect;
    const list = [...columns].map(([name, { value }]) => sql<Selection>`${value} AS ${identifier(name)}`);
    const where = conditions.length === 0 ? EMPTY : sql` WHERE ${join(conditions, " AND ")}`;
    const by = groups === null || groups.length === 0 ? EMPTY : sql` GROUP BY ${join(groups, ", ")}`;
    return sql`SELECT ${list.length === 0 ? sql`1` : join(list, ", ")} FROM ${from}${where}${by}${end}`;
  }
}

/** Whether all columns are those of `s`: an expression of the project is evaluated once for a row. */
function isPlain({ columns }: OpenSelect): boolean {
  return [...columns.values()].every(({ column }) => column !== null);
}

/** ClickHouse may take the name of a column for that of a computed one, whatever its table is: no other column is named so. */
function isClear({ columns, names }: OpenSelect): boolean {
  return [...columns].every(([name, { column }]) => column === name || !names.has(name));
}

function columnsOf({ columns }: OpenSelect): ReadColumns {
  const column = (name: string): SelectedColumn => {
    const found = columns.get(name);
    if (found === undefined) throw new Error(`A step reads ${name}, which the step before does not have.`);
    return found;
  };
  return { value: (name) => column(name).value, nameOf: (name) => column(name).column ?? name };
}
