import Big from "big.js";
import type { Currency } from "./currency.js";

/** Whole digits that an amount may have: more than any money supply in any unit. */
const MAX_WHOLE_DIGITS = 30;

/** A positive amount of a currency as text with exactly the currency's decimals, such as `100.00`. */
export type Amount = string;

export type AmountReading =
  { readonly ok: true; readonly amount: Amount } | { readonly ok: false; readonly problem: string };

/** Reads a decimal text (ramp-api.md §4.2, pattern checked before) as an amount of the currency. */
export function readAmount(text: string, { code, decimals }: Currency): AmountReading {
  const [whole = "", fraction = ""] = text.split(".");
  if (fraction.length > decimals)
    return { ok: false, problem: `An amount in ${code} has at most ${String(decimals)} decimals.` };
  if (whole.replace(/^0+/, "").length > MAX_WHOLE_DIGITS)
    return { ok: false, problem: "The amount is too large." };
  const amount = new Big(text);
  if (amount.eq(0)) return { ok: false, problem: "The amount must be more than zero." };
  return { ok: true, amount: amount.toFixed(decimals) };
}

/** Whether `amount` lies between two bounds, both included. */
export function isWithin(amount: Amount, min: string, max: string): boolean {
  const value = new Big(amount);
  return value.gte(min) && value.lte(max);
}

/** Puts the larger amount first. */
export function byLargest(left: string, right: string): number {
  return new Big(right).cmp(left);
}
