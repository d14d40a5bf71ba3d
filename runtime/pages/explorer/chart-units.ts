import type { ChartColumn } from "./chart-columns.js";
import { ExactNumber, textOf } from "./values.js";

/** What a number is counted in, before or behind it. */
export interface Unit {
  readonly before: string;
  readonly behind: string;
}

const NONE: Unit = { before: "", behind: "" };
const before = (text: string): Unit => ({ before: text, behind: "" });
const behind = (text: string): Unit => ({ before: "", behind: text });

/** Units by a word of a column's name or description. */
const UNITS: readonly (readonly [RegExp, Unit])[] = [
  [/^(usd|dollars?|us\$|\$)$/i, before("$")],
  [/^(eur|euros?|€)$/i, before("€")],
  [/^(gbp|pounds?|£)$/i, before("£")],
  [/^(pct|percent|percentage|apy|apr|%)$/i, behind("%")],
  [/^(ms|milliseconds?|millis)$/i, behind(" ms")],
  [/^(s|secs?|seconds?)$/i, behind(" s")],
  [/^(minutes?|mins?)$/i, behind(" min")],
  [/^(hours?|hrs?)$/i, behind(" h")],
  [/^days?$/i, behind(" days")],
  [/^bytes?$/i, behind(" B")],
  [/^(kb|mb|gb|tb|kwh|mwh|gwh|kg|km|chf|jpy|eth|btc|gwei|wei)$/i, NONE],
  [/^(tonnes?|tons?)$/i, behind(" t")],
];

function unitOfWord(word: string): Unit | null {
  const found = UNITS.find(([words]) => words.test(word))?.[1];
  if (found !== NONE) return found ?? null;
  const upper = word.toUpperCase();
  return behind(
    ` ${{ KB: "kB", KWH: "kWh", MWH: "MWh", GWH: "GWh", KG: "kg", KM: "km", GWEI: "gwei", WEI: "wei" }[upper] ?? upper}`,
  );
}

/** The unit that the last words of a column's name say, else its description: `in USD`, `(kWh)`. `cohort`: of the value of a unit column. */
export function unitOf(
  { name, description }: Pick<ChartColumn, "name" | "description">,
  cohort: string | null = null,
): Unit {
  if (cohort !== null && unitOfWord(cohort) !== null) return unitOfWord(cohort) ?? NONE;
  const words = name.split("_");
  // A count of days is not measured in days, and `days_active` neither.
  const named = words.length > 1 ? [...words].reverse().slice(0, 2) : [];
  for (const word of named) {
    const unit = word.length > 1 ? unitOfWord(word) : null;
    if (unit !== null) return unit;
  }
  const said = /\b(?:in|as a) ([A-Za-z$€£%]{1,12})\b|\(([A-Za-z$€£%]{1,12})\)/.exec(
    description.replace(/US dollars?/gi, "USD"),
  );
  return unitOfWord(said?.[1] ?? said?.[2] ?? "") ?? NONE;
}

/** Digits behind the point that a type declares, as `numeric(10,2)`; null where it leaves them open. */
export function scaleOf(type: string | null): number | null {
  const found = /(?:numeric|decimal)\w*\(\s*\d+\s*,\s*(\d+)\s*\)/i.exec(type ?? "")?.[1];
  return found === undefined ? (/^u?int|bigint|smallint/i.test(type ?? "") ? 0 : null) : Number(found);
}

/** A value in full, with thousands apart: as many digits as its type declares, else at most four behind the point. */
export function written(value: unknown, { before, behind }: Unit, scale: number | null): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof ExactNumber && /^-?\d+$/.test(value.text))
    return before + value.text.replace(/\B(?=(\d{3})+$)/g, ",") + behind;
  const number = Number(textOf(value));
  const size = Math.abs(number);
  const digits =
    scale ?? (size >= 1000 ? 0 : size >= 1 || size === 0 ? 2 : Math.min(8, 2 - Math.floor(Math.log10(size))));
  const text = new Intl.NumberFormat("en", {
    maximumFractionDigits: digits,
    minimumFractionDigits: scale !== null && scale <= 2 ? scale : 0,
  }).format(Math.abs(number));
  return `${number < 0 ? "−" : ""}${before}${text}${behind}`;
}
