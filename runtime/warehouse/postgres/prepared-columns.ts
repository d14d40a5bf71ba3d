import type { SortKey } from "../../model/endpoint.js";
import type { Selection, TextFormat } from "../../model/query.js";
import type { ServedColumns } from "../served-columns.js";
import type { Plan } from "../sql.js";
import type { ResultColumn, ResultColumns } from "../warehouse.js";
import { type ExpectedField, expectedField, fieldFormats, sortKeyOf, type SortKeyField } from "./columns.js";
import { layoutOf, type TextLayout } from "./row-layout.js";

/** A sort key among the fields of a row. */
interface KeyPosition {
  readonly position: number;
  readonly text: SortKeyField["text"];
}

/** The fields of a row: the served columns, and after them the sort keys that are not among theirs. */
export interface RowFields {
  readonly count: number;
  readonly formats: Buffer;
  readonly expected: readonly ExpectedField[];
  /** Null where pages have no cursor. */
  readonly keys: readonly KeyPosition[] | null;
}

/** Plans and sorts that are kept. Bounded, since callers choose the filters and the sort. */
const MAX_KEPT = 200;

/** What PostgreSQL's engine makes of served columns: each part once, as it takes longer than the rest of a small request. */
export class PreparedColumns {
  readonly columns: ResultColumns;
  /** Bounded by `MAX_KEPT`. */
  readonly #plans = new Map<string, PlannedRows>();
  /** Bounded by the formats. */
  readonly #layouts = new Map<TextFormat, TextLayout>();

  constructor(columns: ResultColumns) {
    this.columns = columns;
  }

  /** The plan of a statement of this form. */
  plan(form: string, make: () => PlannedRows): PlannedRows {
    return kept(this.#plans, form, make);
  }

  layout(format: TextFormat): TextLayout {
    return kept(this.#layouts, format, () => layoutOf(this.columns, format));
  }

  /** The fields of a row; `existing`: all columns of the relation, `sort`: of a page with cursor, `typed`: columns whose types follow. */
  fields(existing: ResultColumns, sort: readonly SortKey[] | null, typed: ResultColumns): RowFields {
    const { columns } = this;
    const hidden = sort === null ? [] : hiddenKeys(existing, columns, sort);
    let next = columns.length;
    const keys = sort?.map(([name]) => {
      const position = hidden.some((key) => key.name === name)
        ? -1
        : columns.findIndex((column) => column.name === name);
      const { text } = sortKeyOf(columnOf(existing, name));
      return { position: position === -1 ? next++ : position, text };
    });
    const expected = [
      ...columns.map((column) => expectedField(column, columnOf(existing, column.name).decimal)),
      ...hidden.map((key) => (sortKeyOf(key).isBinary ? expectedField(key) : ANY_FIELD)),
      ...typed.map(({ oid = 0 }) => ({ oids: [oid] })),
    ];
    const formats = fieldFormats(columns, [...hidden.map(sortKeyOf), ...typed.map(() => AS_TEXT)]);
    return { keys: keys ?? null, count: expected.length, formats, expected };
  }
}

const ANY_FIELD: ExpectedField = { oids: [] };
const AS_TEXT = { isBinary: false };

/** A statement's plan, and its fields. */
export interface PlannedRows {
  readonly plan: Plan<Selection>;
  readonly fields: RowFields;
}

export function preparedOf(served: ServedColumns): PreparedColumns {
  return served.prepared((columns) => new PreparedColumns(columns));
}

function kept<K, V>(known: Map<K, V>, key: K, make: () => V): V {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  if (known.size < MAX_KEPT) known.set(key, made);
  return made;
}

/** The sort keys that no field of a served column has. */
export function hiddenKeys(
  existing: ResultColumns,
  served: ResultColumns,
  sort: readonly SortKey[],
): ResultColumns {
  const keys = sort.map(([name]) => columnOf(existing, name));
  return keys.filter((key) => !sortKeyOf(key).isServed || !served.some(({ name }) => name === key.name));
}

/** PostgreSQL reports that a missing column does not exist. */
function columnOf(columns: ResultColumns, name: string): ResultColumn {
  return columns.find((column) => column.name === name) ?? { name, type: "text" };
}
