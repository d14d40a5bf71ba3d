import { BoundedCache } from "../core/http/bounded-cache.js";
import type { SortKey } from "../core/model/endpoint.js";
import type { Selection, TextFormat } from "../core/model/query.js";
import type { ServedColumns } from "../core/warehouse/served-columns.js";
import type { Plan } from "../core/warehouse/sql.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { type ExpectedField, expectedField, fieldFormats, sortKeyOf, type SortKeyField } from "./columns.js";
import { layoutOf, type TextLayout } from "./row-layout.js";
import { type PreparedStatement, preparedStatement } from "./statements.js";

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

/** Of a bind value, of a field, and of the objects around them; 200 and 235 were measured. */
const VALUE_BYTES = 205;
const FIELD_BYTES = 240;
const PLAN_BYTES = 500;

/**
 * Callers choose the filters, the columns and the sort. Bounded by their number, 200 for each choice of columns, plans of 15 kB
 * of parameters took 100 MB for an endpoint.
 */
const PLANS = new BoundedCache<PlannedRows>("plans", {
  sizeOf: ({ plan, fields, formBytes }) =>
    PLAN_BYTES + formBytes + plan.text.length + VALUE_BYTES * plan.values.length + FIELD_BYTES * fields.count,
});

let made = 0;

/** What PostgreSQL's engine makes of served columns: each part once, as it takes longer than the rest of a small request. */
export class PreparedColumns {
  readonly columns: ResultColumns;
  readonly #id = String(made++);
  #isUsed = false;
  /** Bounded by the formats. */
  readonly #layouts = new Map<TextFormat, TextLayout>();

  constructor(columns: ResultColumns) {
    this.columns = columns;
  }

  /** The plan of a statement of this form. The first is not kept: columns that a request makes for itself have no second. */
  plan(form: string, make: () => PlannedRows): PlannedRows {
    if (!this.#isUsed) {
      this.#isUsed = true;
      return make();
    }
    // Whole texts: a digest takes twice as long as the look-up.
    const key = `${this.#id}\0${form}`;
    const known = PLANS.get(key, key);
    if (known !== undefined) return known;
    const plan = make();
    plan.formBytes = 2 * key.length;
    PLANS.set(key, plan, undefined, key);
    return plan;
  }

  layout(format: TextFormat): TextLayout {
    const known = this.#layouts.get(format);
    if (known !== undefined) return known;
    const made = layoutOf(this.columns, format);
    this.#layouts.set(format, made);
    return made;
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
export class PlannedRows {
  readonly plan: Plan<Selection>;
  readonly fields: RowFields;
  /** Of the text by which it is kept. */
  formBytes = 0;
  #prepared: PreparedStatement | null = null;

  constructor(plan: Plan<Selection>, fields: RowFields) {
    this.plan = plan;
    this.fields = fields;
  }

  /** Kept here, since the digest of its text took 1 µs of a request. */
  get prepared(): PreparedStatement | null {
    return (this.#prepared ??= preparedStatement(this.plan.text));
  }
}

export function preparedOf(served: ServedColumns): PreparedColumns {
  return served.prepared((columns) => new PreparedColumns(columns));
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
