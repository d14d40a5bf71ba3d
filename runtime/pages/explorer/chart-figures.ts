import { type ChartTable, measuresOf, namesOf, type ColumnRole } from "./chart-columns.js";
import { textOf } from "./values.js";

/** A number with what it changed by. */
export interface Figure {
  readonly column: string;
  readonly value: unknown;
  /** A change in percent as the row has it, or the value before. */
  readonly compared: {
    readonly column: string;
    readonly value: number;
    readonly is: "change" | "before";
  } | null;
}

/** One row: its numbers, and the words that say of what. */
export interface FiguresPlan {
  readonly kind: "figures";
  readonly figures: readonly Figure[];
  readonly captions: readonly { readonly column: string; readonly text: string }[];
}

/** Numbers that one row shows. */
const MAX_FIGURES = 6;
const CHANGE = /(^|_)(change|delta|diff|growth)(_|$)/i;
const BEFORE = /(^|_)(prev|previous|before)(_|$)/i;

export function figuresOf(table: ChartTable, roles: ReadonlyMap<string, ColumnRole>): FiguresPlan | null {
  const [row = {}] = table.rows;
  const isKnown = (name: string): boolean => row[name] !== null && row[name] !== undefined;
  const measures = measuresOf(table, roles).filter(isKnown);
  const compared = measures.filter((name) => CHANGE.test(name) || BEFORE.test(name));
  const own = measures.filter((name) => !compared.includes(name));
  const shown = (own.length === 0 ? compared : own).slice(0, MAX_FIGURES);
  if (shown.length === 0) return null;
  const figures = shown.map((column, i) => {
    // Changes come before values before: they need no arithmetic.
    const mine = compared.filter((name) => name !== column && belongsTo(name, column, i === 0));
    const found = mine.find((name) => CHANGE.test(name)) ?? mine[0];
    const is = found !== undefined && CHANGE.test(found) ? "change" : "before";
    return {
      ...{ column, value: row[column] },
      compared: found === undefined ? null : ({ column: found, value: Number(row[found]), is } as const),
    };
  });
  const captions = [...namesOf(roles, "category"), ...namesOf(roles, "time")]
    .filter((name) => isKnown(name) && !/^(is|has|was|can)_/i.test(name))
    .map((column) => ({ column, text: textOf(row[column]) }));
  return { kind: "figures", figures, captions };
}

/** `change_v4_pct` belongs to `v4_count`, and a plain `change_pct` to the first. */
function belongsTo(name: string, figure: string, isFirst: boolean): boolean {
  const rest = name
    .split("_")
    .filter((word) => !/^(change|delta|diff|growth|prev|previous|before|pct|percent|value|abs)$/i.test(word));
  if (rest.length === 0) return isFirst;
  const words = figure.split("_");
  return (
    rest.every((word) => words.includes(word) || /^\d+[dhwmy]$/i.test(word)) &&
    rest.some((word) => words.includes(word))
  );
}
