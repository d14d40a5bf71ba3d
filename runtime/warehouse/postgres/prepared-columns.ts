import type { SortKey } from "../../model/endpoint.js";
import type { Selection, TextFormat } from "../../model/query.js";
import type { ServedColumns } from "../served-columns.js";
import type { Plan } from "../sql.js";
import type { ResultColumn, ResultColumns } from "../warehouse.js";
import { fieldFormats, type SortKeyField, sortKeyOf } from "./columns.js";
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
  /** Null where pages have no cursor. */
  readonly keys: readonly KeyPosition[] | null;
}

/** Plans and sorts that are kept. Bounded, since callers choose the filters and the sort. */
const MAX_KEPT = 200;

/** What PostgreSQL's engine makes of served columns: each part once, as it takes longer than the rest of a small request. */
export class PreparedColumns {
  readonly columns: ResultColumns;
  readonly #plans = new Map<string, Plan<Selection>>();
  readonly #layouts = new Map<TextFormat, TextLayout>();
  readonly #keyed = new Map<string, RowFields>();
  #fields: RowFields | null = null;

  constructor(columns: ResultColumns) {
    this.columns = columns;
  }

  /** The plan of a statement of this form. */
  plan(form: string, make: () => Plan<Selection>): Plan<Selection> {
    return kept(this.#plans, form, make);
  }

  layout(format: TextFormat): TextLayout {
    return kept(this.#layouts, format, () => layoutOf(this.columns, format));
  }

  /** The fields of a row of a page without cursor. */
  get fields(): RowFields {
    const { columns } = this;
    return (this.#fields ??= { keys: null, count: columns.length, formats: fieldFormats(columns) });
  }

  /** The fields of a row of a page with cursor; `existing`: all columns of the relation. */
  keyedFields(existing: ResultColumns, sort: readonly SortKey[]): RowFields {
    const form = sort.map(([name]) => name).join("\0");
    return kept(this.#keyed, form, () => this.#keyedFields(existing, sort));
  }

  #keyedFields(existing: ResultColumns, sort: readonly SortKey[]): RowFields {
    const { columns } = this;
    const hidden = hiddenKeys(existing, columns, sort);
    let next = columns.length;
    const keys = sort.map(([name]) => {
      const position = hidden.some((key) => key.name === name)
        ? -1
        : columns.findIndex((column) => column.name === name);
      const { text } = sortKeyOf(columnOf(existing, name));
      return { position: position === -1 ? next++ : position, text };
    });
    return { keys, count: next, formats: fieldFormats(columns, hidden.map(sortKeyOf)) };
  }
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
