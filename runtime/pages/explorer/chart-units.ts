import type { Unit } from "../units.js";
import { ExactNumber, textOf } from "./values.js";

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
